import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { z } from "zod";
import { nvimBinary, root, startNvim } from "../support/nvim.ts";

const HELP = join(root, "doc/gemini-bridge.txt");
const lines = readFileSync(HELP, "utf8").split("\n");
const Names = z.array(z.string()).min(1);

t.test("the generated parts of the help are up to date", async (t) => {
  const check = () => execFileSync(nvimBinary(), ["-l", join(root, "scripts/doc.lua"), "--check"]);
  t.doesNotThrow(check, "run `make doc`");
});

t.test("tags of the help are valid", async (t) => {
  const nvim = await startNvim(t, { files: { "doc/keep": "" } });
  const doc = nvim.path("doc");
  copyFileSync(HELP, join(doc, "gemini-bridge.txt"));
  // Raises E154 for a tag that is there twice.
  await nvim.command(`helptags ${doc}`);
  const tags = new Set(
    readFileSync(join(doc, "tags"), "utf8")
      .split("\n")
      .map((line) => line.split("\t", 1)[0] ?? ""),
  );
  const missing = (names: string[]) => names.filter((name) => !tags.has(name));

  await t.test("links refer to existing tags", async (t) => {
    const text = lines.join("\n").replace(/^>[a-z]*\n(?:[ \t].*\n|\n)*|^.* >[a-z]*\n(?:[ \t].*\n|\n)*/gm, "");
    const links = [...text.matchAll(/(?<=^|\s|\()\|([^|\s]+)\|/gm)].map(([, name]) => name ?? "");
    const unknown = Names.parse(
      await nvim.lua(
        `vim.opt.runtimepath:prepend(vim.fn.fnamemodify(..., ":h"))
         local names = select(2, ...)
         return vim.list_extend({ "-" }, vim.iter(names):filter(function(name)
           return not vim.tbl_contains(vim.fn.getcompletion(name, "help"), name)
         end):totable())`,
        doc,
        missing(links),
      ),
    );
    t.same(unknown, ["-"]);
  });
});

t.test("lines fit into 78 columns", async (t) => {
  const wide = lines.filter((line) => [...line].length > 78 && !/https?:\/\//.test(line));
  t.same(wide, []);
});
