import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { z } from "zod";
import { root, startNvim } from "../support/nvim.ts";

const readme = readFileSync(join(root, "README.md"), "utf8");

/** The code blocks of a language. */
const blocks = (language: string) =>
  [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "gm"))].map(
    ([, code = ""]) => code,
  );

t.test("the README is correct", async (t) => {
  const nvim = await startNvim(t);

  await t.test("the README contains valid Lua", async (t) => {
    const lua = blocks("lua");
    t.ok(lua.length >= 4);
    for (const code of lua) {
      // A specification for lazy.nvim is a table, not a statement.
      const problem = await nvim.lua(
        `local code = ...
         local chunk, problem = loadstring(code)
         return not chunk and not loadstring("return " .. code) and problem or nil`,
        code,
      );
      t.equal(problem, null, code);
    }
  });

  await t.test("the README recommends mappings that exist", async (t) => {
    const [maps] = blocks("lua").filter((code) => code.includes("<Plug>"));
    await nvim.lua(maps ?? "error('no maps')");
    for (const [, plug = ""] of (maps ?? "").matchAll(/"(<Plug>[^"]+)"/g)) {
      t.not(await nvim.lua("return vim.fn.maparg(..., 'n')", plug), "", plug);
    }
  });

  await t.test("the README sets options that exist", async (t) => {
    const [setup] = blocks("lua").filter((code) => code.includes("setup("));
    await nvim.lua(setup ?? "error('no setup')");
    t.notMatch(await nvim.messages(), /option/, "nothing is complained of");
    t.equal(await nvim.lua("return require('gemini-bridge.config').get().diff.layout"), "vertical");
  });

  await t.test("the README names all commands", async (t) => {
    const named = [...readme.matchAll(/`:(Gemini\w*)/g)].map(([, name = ""]) => name);
    const commands = z
      .array(z.string())
      .parse(await nvim.lua("return vim.fn.getcompletion('Gemini', 'command')"));
    t.same([...new Set(named)].sort(), commands.sort());
  });

  await t.test("the README names make targets and files that exist", async (t) => {
    for (const [, target = ""] of readme.matchAll(/(?:^|`)make (\w+)/gm)) {
      t.doesNotThrow(() => execFileSync("make", ["--dry-run", target], { cwd: root, stdio: "pipe" }), target);
    }
    const links = [...readme.matchAll(/(?:\]\(|src(?:set)?=")(?!https?:)([^)#"]+)/g)];
    t.ok(
      links.some(([, file]) => file === "doc/review-light.svg"),
      "pictures are found",
    );
    for (const [, file = ""] of links) {
      t.ok(existsSync(join(root, file)), file);
    }
  });

  await t.test("the README contains valid shell code", async (t) => {
    for (const code of blocks("sh")) t.doesNotThrow(() => execFileSync("sh", ["-n", "-c", code ?? ""]));
  });
});
