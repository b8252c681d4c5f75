import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { getConnectionConfigFromFile } from "@google/gemini-cli-core/dist/src/ide/ide-connection-utils.js";
import t from "tap";
import { z } from "zod";
import { type RunningBridge, startBridge } from "../support/bridge.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);

const files = {
  "repo/.git/HEAD": "ref: x\n",
  "repo/a/b/f.txt": "f\n",
  "tree/.git": "gitdir: /x\n",
  "tree/c/g.txt": "g\n",
};

/**
 * Returns the directories in the discovery file, in the environment and in the status, relative to the test's
 * workspace.
 */
async function seen({ nvim, file }: RunningBridge, own: RunningBridge) {
  const relative = (path: string) =>
    path === nvim.dirs.workspace ? "." : path.replace(`${nvim.dirs.workspace}/`, "");
  const told = await nvim.lua(
    "return { env = vim.env.GEMINI_CLI_IDE_WORKSPACE_PATH, status = require('gemini-bridge').status().workspace }",
  );
  const { env, status } = z.object({ env: z.string(), status: z.array(z.string()) }).parse(told);
  const inFile = file.call(own).content.workspacePath.split(":");
  return { file: inFile.map(relative), env: env.split(":").map(relative), status: status.map(relative) };
}

async function follows(
  bridge: RunningBridge,
  step: string,
  open: string[],
  roots: string[] = [],
): Promise<void> {
  const wanted = { file: [...open, ...roots], env: open, status: [...open, ...roots] };
  const start = performance.now();
  await bridge.nvim.command(step);
  let last: unknown;
  await bridge.nvim
    .waitFor(async () => {
      last = await seen(bridge, bridge);
      return JSON.stringify(last) === JSON.stringify(wanted);
    }, step)
    .catch(() => {});
  bridge.test.strictSame(last, wanted, `${step} (${Math.round(performance.now() - start)} ms)`);
}

t.test("the workspace follows the directories of Neovim", async (t) => {
  const { bridge, nvim } = await startBridge(t, { files });
  await follows(bridge, "echo", ["."]);
  await follows(bridge, "cd repo/a", ["repo/a"], ["repo"]);
  await follows(bridge, "split | lcd b", ["repo/a", "repo/a/b"], ["repo"]);
  await follows(
    bridge,
    `tabnew | tcd ${nvim.path("tree/c")}`,
    ["repo/a", "repo/a/b", "tree/c"],
    ["repo", "tree"],
  );
  await follows(bridge, "tabclose", ["repo/a", "repo/a/b"], ["repo"]);
  await follows(bridge, "close", ["repo/a"], ["repo"]);
  await follows(bridge, `set autochdir | edit ${nvim.path("tree/c/g.txt")}`, ["tree/c"], ["tree"]);
});

t.test("the option workspace adds directories", async (t) => {
  const { bridge: list } = await startBridge(t, {
    files,
    init: "require('gemini-bridge').setup({ workspace = { 'repo/a/b', vim.fn.getcwd() } })",
  });
  await follows(list, "echo", [".", "repo/a/b"], ["repo"]);
  await follows(
    list,
    "lua require('gemini-bridge').setup({ workspace = function() return { 'tree/' } end })",
    [".", "tree"],
  );
});

t.test("a function of the option workspace that returns no list of directories is reported", async (t) => {
  for (const answer of ["{ {} }", "{ true }", "{ a = 'b' }", "'repo'"]) {
    const { bridge, nvim } = await startBridge(t, {
      files,
      init: `require('gemini-bridge').setup({ workspace = function() return vim.g.bad and ${answer} or {} end })`,
    });
    await nvim.lua("vim.g.bad = true");
    await follows(bridge, "cd repo/a", ["repo/a"], ["repo"]);
    const messages = await nvim.says("`workspace` is ignored");
    t.notMatch(messages, /traceback|E730/, answer);
    await nvim.command("split | close");
    await follows(bridge, "cd b", ["repo/a/b"], ["repo"]);
    t.equal((await nvim.messages()).match(/is ignored/g)?.length, 1, "once");
    await nvim.close();
  }
});

t.test("the real CLI finds workspaces with unusual names", async (t) => {
  const names = ["per%cent", "per%20cent", "with space", "日本語", "üml"];
  for (const name of names) {
    const { bridge, nvim } = await startBridge(t, { files: { [`${name}/f.txt`]: "f\n" } });
    await nvim.lua("vim.fn.chdir(...)", nvim.path(name));
    await nvim.waitFor(() => bridge.file().content.workspacePath === nvim.path(name), `${name} in the file`);
    const before = { cwd: process.cwd(), tmp: process.env["TMPDIR"] };
    try {
      process.chdir(nvim.path(name));
      process.env["TMPDIR"] = nvim.dirs.tmp;
      const found = await getConnectionConfigFromFile(bridge.file().pid);
      t.equal(Number(found?.port), bridge.file().port, `the CLI finds ${name}`);
    } finally {
      process.chdir(before.cwd);
      if (before.tmp === undefined) delete process.env["TMPDIR"];
      else process.env["TMPDIR"] = before.tmp;
    }
  }
});

t.test("a directory that cannot be listed is reported once and adds no empty path to the list", async (t) => {
  const { bridge, nvim } = await startBridge(t, { files: { "a:b/f.txt": "f\n" } });
  await nvim.lua("vim.fn.chdir(...)", nvim.path("a:b"));
  await nvim.waitFor(() => bridge.file().content.workspacePath === "", "the file");
  const said = async () =>
    (await nvim.messages()).split("\n").filter((line) => line.includes("Gemini CLI in"));
  await nvim.waitFor(async () => (await said()).length > 0, "the message");
  await follows(bridge, "cd ..", ["."]);
  await nvim.lua("vim.fn.chdir(...)", nvim.path("a:b"));
  await nvim.waitFor(() => bridge.file().content.workspacePath === "", "the file again");
  t.match(await said(), [new RegExp(basename(nvim.path("a:b")))]);
  t.equal((await said()).length, 1);
});

t.test("a directory that was opened through a link is listed with Neovim's path", async (t) => {
  const { bridge } = await startBridge(t, { files });
  mkdirSync(bridge.nvim.path("real"));
  writeFileSync(bridge.nvim.path("real/f.txt"), "f\n");
  symlinkSync("real", bridge.nvim.path("link"));
  await follows(bridge, "cd link", ["real"]);
});
