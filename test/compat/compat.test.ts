import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { z } from "zod";
import { NEWEST, OLDEST } from "../../src/cli/release.ts";
import { type Nvim, root, startNvim } from "../support/nvim.ts";

const Packages = z.object({ dependencies: z.record(z.string(), z.string()) });
const { dependencies } = Packages.parse(
  JSON.parse(readFileSync(join(import.meta.dirname, "package.json"), "utf8")),
);
const newest = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(join(root, "node_modules/@google/gemini-cli-core/package.json"), "utf8")));

/** Each release with the folder of its package. */
const releases = [
  ...Object.keys(dependencies).map((name) => ({
    version: name.replace("core-", ""),
    folder: join(root, ".compat/node_modules", name),
  })),
  { version: newest.version, folder: join(root, "node_modules/@google/gemini-cli-core") },
];

/** These look for VS Code in their environment and for nothing else, and those before 0.6 send no token. */
const VSCODE_ONLY = ["0.5.5", "0.6.1"];

const Step = z.object({ step: z.string(), result: z.unknown() });
const Diffs = z.array(z.object({ filePath: z.string() }));

/** The steps that a client has taken. */
function steps(log: string): Record<string, unknown> {
  if (!existsSync(log)) return {};
  const lines = readFileSync(log, "utf8").trim().split("\n");
  return Object.fromEntries(
    lines.map((line) => {
      const { step, result } = Step.parse(JSON.parse(line));
      return [step, result];
    }),
  );
}

async function waitForReview(nvim: Nvim, path: string): Promise<void> {
  await nvim.waitFor(async () => {
    const diffs = Diffs.parse(await nvim.lua("return require('gemini-bridge').diffs()"));
    return diffs.some(({ filePath }) => filePath === path);
  }, "the review");
}

t.setTimeout(180_000);

t.test("releases of Gemini CLI's client", async (t) => {
  const nvim = await startNvim(t, { tui: true, files: { "a.txt": "one\ntwo\n" }, args: ["a.txt"] });
  const path = nvim.path("a.txt");
  await nvim.type(":GeminiStart\r");
  await nvim.waitFor("require('gemini-bridge').status().state == 'running'", "the bridge to run", 10_000);
  await nvim.type(":botright split | terminal\ri");
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "terminal mode");
  const rows = [
    "| Gemini CLI | connects | context | accept | reject | its own prompt |",
    "|---|---|---|---|---|---|",
  ];

  for (const { version, folder } of releases) {
    await t.test(version, async (t) => {
      if (!existsSync(folder)) throw new Error("it is not installed: run `make compat`");
      const log = join(nvim.dirs.home, `${version}.log`);
      const step = (name: string) =>
        nvim.waitFor(() => name in steps(log), `"${name}" of ${version}`, 20_000);
      const preload = join(import.meta.dirname, "outside.mjs");
      const client = join(import.meta.dirname, "client.mjs");
      await nvim.type(`node --import '${preload}' '${client}' '${folder}' '${path}' '${log}'\r`);

      await step("connect");
      if (VSCODE_ONLY.includes(version)) {
        t.equal(steps(log)["connect"], "no editor detected");
        return rows.push(`| ${version} | no, only to VS Code | | | | |`);
      }
      t.equal(steps(log)["connect"], "connected");
      await step("context");
      t.match(steps(log)["context"], { path, isActive: true, cursor: { line: 1, character: 1 } });

      await waitForReview(nvim, path);
      await nvim.lua(`
        local buf = vim.iter(vim.api.nvim_list_bufs()):find(function(buf) return vim.b[buf].gemini_diff end)
        vim.api.nvim_buf_set_lines(buf, 1, 1, false, { "edited" })
        require("gemini-bridge").accept()`);
      await step("accept");
      t.same(steps(log)["accept"], { status: "accepted", content: "proposed\nedited\n" });

      await waitForReview(nvim, path);
      await nvim.lua(`require("gemini-bridge").reject()`);
      await step("reject");
      t.match(steps(log)["reject"], { status: "rejected" });

      await waitForReview(nvim, path);
      writeFileSync(`${log}.go`, "");
      await step("close");
      t.same(steps(log)["close"], { status: "accepted", content: "undecided\n" });
      t.same(await nvim.lua("return require('gemini-bridge').diffs()"), []);
      return rows.push(`| ${version} | yes | yes | yes | yes | yes |`);
    });
  }

  const table = rows.join("\n");
  t.comment(`\n${table}`);
  const works = rows.filter((row) => row.includes("| yes |")).map((row) => row.split(" ")[1]);
  t.ok(works.length >= 5, "five releases at least");
  await t.test("is what the documentation says", async (t) => {
    t.ok(readFileSync(join(root, "README.md"), "utf8").includes(table), "the README has this table");
    t.same([OLDEST, NEWEST], [works[0], works.at(-1)], "and so does the doctor");
  });
});
