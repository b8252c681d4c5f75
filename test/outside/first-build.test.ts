/** Tests the first use of the plugin when the plugin manager has not built it. */
import { execFileSync } from "node:child_process";
import { appendFileSync, chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import { ATTACHED } from "../support/attached.ts";
import { type Nvim, type NvimOptions, root, startNvim } from "../support/nvim.ts";
import { copyPlugin, useCopy } from "../support/plugin.ts";
import { makeDirectory } from "../support/sandbox.ts";

const QUESTION = /gemini-bridge is not built yet\. Build it now\?/;
const isRunning = "require('gemini-bridge').status().state == 'running'";

/**
 * Starts a Neovim of 80 columns with a copy of the plugin. As in a developer's clone, the copy has its packages but no
 * bundle.
 */
async function startBeside(t: Test, init: string, options: NvimOptions = {}): Promise<Nvim> {
  const copy = copyPlugin(join(makeDirectory(t), "gemini-bridge.nvim"));
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  t.teardown(() => rmSync(join(copy, "node_modules"), { force: true }));
  return startNvim(t, { tui: { columns: 80, lines: 24 }, init: `${useCopy(copy)}\n${init}`, ...options });
}

const shows = (nvim: Nvim, pattern: RegExp) =>
  nvim.waitFor(async () => pattern.test((await nvim.screen()).join("\n")), `${pattern} on the screen`);

const CLI = `'sh', '-c', [[${ATTACHED}; echo the CLI is here; cat]]`;

t.test(":Gemini offers to build, and continues after the build", async (t) => {
  const nvim = await startBeside(
    t,
    `require('gemini-bridge').setup({ terminal = { cmd = { ${CLI} }, size = 40 } })`,
  );
  await nvim.type(":Gemini\r");
  await shows(nvim, QUESTION);
  await nvim.type("1\r");
  await shows(nvim, /the CLI is here/);
  t.equal(await nvim.lua(`return ${isRunning}`), true);
  t.equal(
    (await nvim.messages()).trim(),
    "gemini-bridge: Build step 1 of 1: bundling\ngemini-bridge: The build is complete",
    "each step is said, and nothing else",
  );
  await nvim.input("<C-\\><C-n>:Gemini<CR>");
  await nvim.waitFor("vim.bo.buftype == ''", "it to be hidden, without a question");
});

t.test(":GeminiStart offers to build", async (t) => {
  const nvim = await startBeside(t, "");
  await nvim.type(":GeminiStart\r");
  await shows(nvim, QUESTION);
  await nvim.type("1\r");
  await nvim.bridgeIs("running");
  await shows(nvim, /^gemini-bridge: The bridge is running on port \d+/m);
});

t.test("after the user has refused the build, the build is not offered again", async (t) => {
  const nvim = await startBeside(t, "");
  for (const [command, no] of [
    ["Gemini", "2\r"],
    ["GeminiStart", "\r"],
    ["GeminiRestart", "q"],
  ]) {
    await nvim.type(`:${command}\r`);
    await shows(nvim, QUESTION);
    await nvim.type(`${no}`);
    await nvim.waitFor(async () => !(await nvim.nvim.mode).blocking, "the answer to be taken");
    await nvim.waitFor(async () => (await nvim.nvim.mode).mode === "n", "Normal mode");
  }
  t.equal(await nvim.lua("return require('gemini-bridge').status().state"), "stopped");
  t.equal(await nvim.lua("return #vim.api.nvim_list_wins()"), 1);
  t.notMatch(await nvim.messages(), /gemini-bridge: /);
});

t.test("the question about the build uses the user's own vim.ui.select", async (t) => {
  const nvim = await startBeside(
    t,
    "vim.ui.select = function(items, opts, answer) asked = { items, opts.prompt, opts.kind } answer(items[1], 1) end",
  );
  await nvim.type(":GeminiStart\r");
  await nvim.bridgeIs("running");
  t.same(await nvim.lua("return asked"), [
    ["Build and continue", "Not now"],
    "gemini-bridge is not built yet. Build it now?",
    "gemini-bridge",
  ]);
});

t.test("without npm, a message says why the build is impossible", async (t) => {
  const nvim = await startBeside(t, "vim.env.PATH = vim.fn.getcwd()", {
    files: { node: `#!/bin/sh\nexec ${process.execPath} "$@"\n` },
  });
  chmodSync(nvim.path("node"), 0o755);
  await nvim.type(":Gemini\r");
  await shows(nvim, /^gemini-bridge: Cannot build: npm is not on PATH/m);
  t.equal((await nvim.messages()).trim().split("\n").length, 1);
  const report = async () => {
    await nvim.command("checkhealth gemini-bridge");
    return String(await nvim.lua("return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')"));
  };
  t.match(await report(), /ERROR The Node part cannot be built: npm is not on PATH; install it with Node/);
  await nvim.lua("require('gemini-bridge').setup({ node = 'no-such-node' })");
  t.match(
    await report(),
    /ERROR no-such-node is not on PATH\s+- ADVICE:\s+- install Node 20 or later, or set the option node/,
  );
});

t.test("a failed build by vim.pack is reported in one message", async (t) => {
  const copy = copyPlugin(join(makeDirectory(t), "gemini-bridge.nvim"));
  writeFileSync(join(copy, "package-lock.json"), "{ this is no JSON");
  const nvim = await startNvim(t, { tui: { columns: 80, lines: 24 }, init: useCopy(copy) });
  // Fires the event as vim.pack of Neovim 0.12 does. Neovim 0.12 has introduced this event.
  const event = (await nvim.lua("return vim.fn.exists('##PackChanged')")) === 1 ? "PackChanged" : undefined;
  if (!event) return t.equal(await nvim.lua("return vim.pack"), null, "no vim.pack here");
  await nvim.lua(
    `local build = ...
     vim.api.nvim_create_autocmd("PackChanged", { callback = function() dofile(build) end })
     vim.schedule(function() vim.api.nvim_exec_autocmds("PackChanged", { pattern = "gemini-bridge.nvim" }) end)`,
    join(copy, "build.lua"),
  );
  await shows(nvim, /^gemini-bridge: The build failed: installing .*….*output above$/m);
  t.match(
    await nvim.messages(),
    /The build failed: installing packages failed \(npm ci\):\n[\s\S]*npm error/,
  );
  t.notMatch(await nvim.messages(), /traceback|Error in/);
  t.match(await nvim.nvim.mode, { mode: "n", blocking: false });
});

t.test("build.lua runs the program of the option `node`", async (t) => {
  const home = makeDirectory(t);
  const copy = copyPlugin(join(home, "gemini-bridge.nvim"));
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  t.teardown(() => rmSync(join(copy, "node_modules"), { force: true }));
  const node = join(home, "node/node");
  mkdirSync(join(home, "node"));
  symlinkSync(process.execPath, node);
  symlinkSync(join(dirname(process.execPath), "npm"), join(home, "node/npm"));
  const nvim = await startNvim(t, {
    init: `${useCopy(copy)}\nrequire("gemini-bridge").setup({ node = ${JSON.stringify(node)} })`,
    env: { PATH: join(home, "bin") },
  });
  await nvim.lua("dofile(...)", join(copy, "build.lua"));
  t.equal(await nvim.lua("return require('gemini-bridge.host.bundle').problem()"), null);
});

/** Copies and builds the plugin. @returns the copy, and a function that updates and builds it again */
function startUpdatable(t: Test) {
  const copy = copyPlugin(join(makeDirectory(t), "gemini-bridge.nvim"));
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  t.teardown(() => rmSync(join(copy, "node_modules"), { force: true }));
  const build = () => execFileSync(process.execPath, ["scripts/build.mjs"], { cwd: copy });
  build();
  const update = () => {
    appendFileSync(join(copy, "src/index.ts"), "\n");
    build();
  };
  return { copy, update };
}

t.test("after an update, restarting the running bridge is offered only once", async (t) => {
  const { copy, update } = startUpdatable(t);
  const init = `${useCopy(copy)} require('gemini-bridge').setup({ terminal = { cmd = { ${CLI} }, size = 40 } })`;
  const nvim = await startNvim(t, { tui: { columns: 80, lines: 24 }, init });
  await nvim.startBridge(20_000);
  const host = "return require('gemini-bridge').status().pid";
  const before = await nvim.lua(host);
  const asks = /gemini-bridge was updated, but the old version is running\. Restart the bridge\?/;

  update();
  await nvim.type(":GeminiStart\r");
  await shows(nvim, asks);
  await nvim.type("2\r");
  await shows(nvim, /The bridge is already running/);
  await nvim.type(":GeminiStart\r");
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 'n'", "no question a second time");
  t.equal(await nvim.lua(host), before);

  update();
  await nvim.type(":Gemini\r");
  await shows(nvim, asks);
  await nvim.type("1\r");
  await shows(nvim, /the CLI is here/);
  t.not(await nvim.lua(host), before);
});

t.test("after an update, a message says that the shared host needs a restart of Neovim", async (t) => {
  const { copy, update } = startUpdatable(t);
  const nvim = await startNvim(t, {
    tui: { columns: 120, lines: 24 },
    init: `${useCopy(copy)}
      vim.g.node_host_prog = ${JSON.stringify(join(root, "node_modules/neovim/bin/cli.js"))}
      require('gemini-bridge').setup({ host = 'shared' })`,
  });
  await nvim.command("UpdateRemotePlugins");
  await nvim.command("runtime! plugin/rplugin.vim");
  await nvim.lua("vim.cmd.source(vim.fn.stdpath('data') .. '/rplugin.vim')");
  await nvim.startBridge(20_000);
  update();
  await nvim.type(":GeminiStart\r");
  const advice = /the old version is running\. Restart Neovim to load the update\./;
  await nvim.waitFor(async () => advice.test(await nvim.messages()), "the advice");
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 'n'", "no question");
  t.match(await nvim.messages(), /The bridge is already running/);
});
