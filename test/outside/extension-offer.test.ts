/** Tests how `:Gemini` offers the extension to an ordinary user, with the real CLI. */
import { chmodSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import t, { type Test } from "tap";
import { z } from "zod";
import { geminiIn, startWithGemini } from "../support/gemini.ts";
import { call } from "../support/model.ts";
import { type Nvim, root, startNvim } from "../support/nvim.ts";
import { writeFiles } from "../support/sandbox.ts";

/** Lua that records each question and gives the answer `vim.g.answer`. The answer "" cancels. */
const ANSWER = `
_G.asked = {}
vim.ui.select = function(items, options, choose)
  table.insert(_G.asked, { prompt = options.prompt, kind = options.kind, items = items })
  choose(vim.g.answer ~= '' and vim.g.answer or nil)
end`;
const QUESTION = {
  prompt: "Let Gemini CLI tell Neovim what it changes? This links an extension.",
  kind: "gemini-bridge",
  items: ["Install the extension", "Not now", "Never"],
};

const CLI = join(root, "node_modules/@google/gemini-cli/bundle/gemini.js");
const record = (nvim: Nvim) =>
  join(nvim.dirs.home, ".gemini/extensions/gemini-bridge/.gemini-extension-install.json");
const source = (nvim: Nvim) => JSON.parse(readFileSync(record(nvim), "utf8")).source;
const asked = (nvim: Nvim) => nvim.lua("return _G.asked");
/** Returns all messages in one line, because Neovim wraps messages that are wider than the screen. */
const messages = async (nvim: Nvim) => (await nvim.messages()).replaceAll("\n", "");
const says = (nvim: Nvim, pattern: RegExp) =>
  nvim.waitFor(async () => pattern.test(await messages(nvim)), `${pattern}`, 30_000);
const changes = (nvim: Nvim) => nvim.lua("return require('gemini-bridge').changes()");

async function start(t: Test, init = ANSWER) {
  return startWithGemini(t, {
    tui: true,
    init,
    files: { "a.txt": "one\n", "b.txt": "one\n" },
    args: ["a.txt"],
  });
}

/**
 * Starts a Neovim in which `gemini` is a program that only waits, except that the real CLI links the extension. Used by
 * tests that need no connected CLI.
 */
async function startWithProgram(t: Test, init: string, tui = true): Promise<Nvim> {
  const program = "vim.uv.fs_chmod('gemini', 448)\nvim.env.PATH = vim.fn.getcwd() .. ':' .. vim.env.PATH\n";
  const script = `#!/bin/sh\n[ "$1" = extensions ] && exec '${process.execPath}' '${CLI}' "$@"\nexec cat\n`;
  const env = { GEMINI_CLI_NO_RELAUNCH: "true" };
  return startNvim(t, { tui, init: program + init, env, files: { gemini: script } });
}

/** Waits until the given number of CLIs run. */
const run = (nvim: Nvim, count: number) =>
  nvim.waitFor(
    `#vim.iter(require('gemini-bridge.terminal.terminals').list()):filter(function(terminal)
      return terminal.buf ~= nil
    end):totable() == ${count}`,
    `${count} CLIs to run`,
    40_000,
  );

/** Runs `:Gemini`, and waits until the CLI is connected. */
async function connect(nvim: Nvim) {
  await nvim.command("Gemini");
  const cli = await geminiIn(nvim);
  await cli.waitForScreen(/Type your message|YOLO/, 40_000);
  const client = "require('gemini-bridge.bridge.status').get().clients[1]";
  await nvim.waitFor(`(${client} or {}).terminal`, "the CLI to connect", 30_000);
  return cli;
}

/** Starts a second CLI. If Neovim asks a question, the CLI starts after the answer. */
async function startAnother(nvim: Nvim) {
  await nvim.command("Gemini!");
  await nvim.waitFor("#require('gemini-bridge.terminal.terminals').list() == 2", "the second CLI");
}

const write = (nvim: Nvim, name: string, content: string) =>
  call("write_file", { file_path: nvim.path(name), content });

t.test("after the answer Install, edits are tracked, undone and gated in the same session", async (t) => {
  const { nvim, model } = await start(t, "");
  await nvim.type(":Gemini --yolo\r");
  await nvim.waitFor(
    async () => (await nvim.screen()).join("\n").includes("This links an extension."),
    "the question",
  );
  await nvim.type("1\r");
  const cli = await geminiIn(nvim);
  await cli.waitForScreen(/YOLO/, 60_000);
  t.equal(source(nvim), join(root, "extension"));
  await nvim.waitFor("require('gemini-bridge').status().clients[1]", "the CLI to connect", 30_000);
  await nvim.waitFor("require('gemini-bridge').status().clients[1].hooks", "a hook before the first prompt");

  model.say([write(nvim, "a.txt", "two\n")], [{ text: "First done." }]);
  await cli.type("Write.");
  await cli.waitForScreen(/First done\./, 20_000);
  t.match(await changes(nvim), [{ path: nvim.path("a.txt"), status: "modified", cli: "gemini" }]);
  await nvim.command("GeminiUndo all");
  await nvim.waitFor(() => readFileSync(nvim.path("a.txt"), "utf8") === "one\n", "the undo");

  await nvim.command("GeminiGate on");
  await says(nvim, /The gate is on: gemini asks before each edit\./);
  t.match(await nvim.lua("return require('gemini-bridge').statusline()"), /gate on/);
  model.say([write(nvim, "b.txt", "two\n")], [{ text: "Second done." }]);
  await cli.type("Write again.");
  await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the review");
  t.equal(readFileSync(nvim.path("b.txt"), "utf8"), "one\n", "nothing is written before the decision");
  await nvim.command("GeminiReject");
  await nvim.waitFor("#require('gemini-bridge').diffs() == 0", "the decision");
  t.equal(readFileSync(nvim.path("b.txt"), "utf8"), "one\n");
});

t.test(
  "after the answer Not now, the CLI runs, the gate cannot be turned on, and no list of changes claims to be complete",
  async (t) => {
    const { nvim } = await start(t);
    await nvim.lua("vim.g.answer = 'Not now'");
    await nvim.command("GeminiGate on cli=gemini");
    await says(nvim, /The gate is on, but the bridge is stopped/);
    await connect(nvim);
    t.same(await asked(nvim), [QUESTION]);
    t.notOk(existsSync(record(nvim)));
    const { clients } = z
      .object({ clients: z.array(z.object({ hooks: z.boolean() })) })
      .parse(await nvim.lua("return require('gemini-bridge').status()"));
    t.same(clients, [{ hooks: false }]);

    await nvim.command("GeminiGate on");
    await says(nvim, /The gate is on, but does not make any connected CLI ask: gemini \(it does not report/);
    await nvim.command("GeminiGate off");
    await nvim.command("GeminiGate on");
    await says(
      nvim,
      /The gate stays off, because it would not make any connected CLI ask: gemini \(it does not report its edits; run :GeminiExtension install, then restart it\)/,
    );
    t.notMatch(await nvim.lua("return require('gemini-bridge').statusline()"), /gate/);
    await nvim.command("GeminiChanges");
    await says(
      nvim,
      /No changes are listed, because no CLI has reported its edits to Neovim yet\. Changes by these CLIs are not listed: gemini \(it does not report its edits; run :GeminiExtension install, then restart it\)/,
    );
    await nvim.command("GeminiStatus");
    await nvim.waitFor(
      "table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n'):find('has not reported its edits yet')",
      "the status",
    );
    await startAnother(nvim);
    t.same(await asked(nvim), [QUESTION], "it asks once in a Neovim");
  },
);

/** Lua of a picker that calls back only if the user chooses an item. */
const PICKER = `
_G.asked = 0
vim.ui.select = function(_, _, choose)
  local picker = { relative = "editor", row = 2, col = 2, width = 20, height = 3 }
  _G.asked, _G.picker = _G.asked + 1, vim.api.nvim_open_win(vim.api.nvim_create_buf(false, true), true, picker)
  _G.choose = function(item) vim.api.nvim_win_close(_G.picker, true) choose(item) end
end`;

t.test("two starts of a CLI wait for the same answer, or for the end of the picker", async (t) => {
  const nvim = await startWithProgram(t, PICKER);
  await nvim.command("Gemini");
  await nvim.command("Gemini!");
  t.equal(await asked(nvim), 1);
  await nvim.lua("_G.choose('Not now')");
  await run(nvim, 2);
  t.equal(await nvim.lua("return #require('gemini-bridge.terminal.terminals').list()"), 2);

  await nvim.lua("require('gemini-bridge.extension.offer').forget_answer('gemini')");
  await nvim.command("Gemini!");
  t.equal(await asked(nvim), 2);
  await nvim.lua("vim.api.nvim_win_close(_G.picker, true)");
  await run(nvim, 3);
});

t.test("the answer Never is kept for later Neovims until the extension is installed", async (t) => {
  const nvim = await startWithProgram(t, ANSWER);
  await nvim.lua("vim.g.answer = 'Never'");
  const kept = join(nvim.dirs.state, "nvim/gemini-bridge-no-extension.json");
  await nvim.command("Gemini");
  await run(nvim, 1);
  t.same(await asked(nvim), [QUESTION]);
  t.same(JSON.parse(readFileSync(kept, "utf8")).value, ["gemini"]);
  // A later Neovim reads the same file.
  await nvim.lua("package.loaded['gemini-bridge.extension.offer'] = nil");
  await startAnother(nvim);
  t.same(await asked(nvim), [QUESTION]);

  await nvim.command("GeminiExtension install");
  await says(nvim, /The extension is linked in Gemini CLI\. Restart the CLI to use the extension\./);
  t.equal(source(nvim), join(root, "extension"));
  t.notOk(existsSync(kept), "the answer is reverted");
});

t.test("a link to another copy of the plugin is named once", async (t) => {
  const nvim = await startWithProgram(t, ANSWER);
  const other = join(nvim.dirs.home, "other/extension");
  writeFiles(other, { "gemini-extension.json": "{}" });
  writeFiles(dirname(record(nvim)), {
    ".gemini-extension-install.json": JSON.stringify({ source: other, type: "link" }),
  });
  await nvim.command("Gemini");
  await nvim.command("Gemini!");
  await run(nvim, 2);
  t.same(await asked(nvim), []);
  await nvim.command("stopinsert");
  const text = await messages(nvim);
  t.equal(text.match(/another copy of this plugin \(\S+other\/extension\)/g)?.length, 1);
  t.match(text, /To link this copy: :GeminiExtension install gemini/);
});

t.test("a broken link of the extension is repaired without asking", async (t) => {
  const { nvim } = await start(t);
  const gone = join(nvim.dirs.home, "gone/extension");
  writeFiles(dirname(record(nvim)), {
    ".gemini-extension-install.json": JSON.stringify({ source: gone, type: "link" }),
  });
  await connect(nvim);
  t.same(await asked(nvim), []);
  t.equal(source(nvim), join(root, "extension"));
  await nvim.waitFor("require('gemini-bridge').status().clients[1].hooks", "a hook");
});

t.test("the extension is linked with the command that :Gemini runs if the CLI is not on PATH", async (t) => {
  const words = [process.execPath, CLI, "--yolo"];
  const options = `extension = 'auto', terminal = { cmd = { ${words.map((word) => `'${word}'`)} } }`;
  const { nvim } = await startWithGemini(t, {
    init: `require('gemini-bridge').setup({ ${options} })`,
    env: { PATH: [dirname(process.execPath), "/usr/bin", "/bin"].join(delimiter) },
  });
  await nvim.command("GeminiExtension install");
  await says(nvim, /The extension is linked in Gemini CLI/);
  t.equal(source(nvim), join(root, "extension"));
  await nvim.command("GeminiExtension remove");
  await says(nvim, /The extension was removed/);
  await nvim.command("Gemini");
  await run(nvim, 1);
  t.equal(source(nvim), join(root, "extension"));
});

t.test(
  "if linking the extension fails, the error of the CLI is shown and the CLI starts without the extension",
  async (t) => {
    const nvim = await startWithProgram(
      t,
      `${ANSWER}\nrequire('gemini-bridge').setup({ extension = 'auto' })`,
    );
    const extensions = join(nvim.dirs.home, ".gemini/extensions");
    mkdirSync(extensions, { recursive: true });
    chmodSync(extensions, 0o500);
    t.teardown(() => chmodSync(extensions, 0o700));
    await nvim.command("Gemini");
    await run(nvim, 1);
    t.same(await asked(nvim), [], 'extension = "auto" asks nothing');
    t.match(await messages(nvim), /The extension was not linked in Gemini CLI:.*EACCES/);
  },
);

t.test("with extension = false, the user is not asked and nothing is linked", async (t) => {
  const nvim = await startWithProgram(t, `${ANSWER}\nrequire('gemini-bridge').setup({ extension = false })`);
  await nvim.command("Gemini");
  await run(nvim, 1);
  t.same(await asked(nvim), []);
  t.notOk(existsSync(record(nvim)));
});

t.test("without a user interface, the CLI starts without a question and without the extension", async (t) => {
  const nvim = await startWithProgram(t, ANSWER, false);
  await nvim.command("Gemini");
  await run(nvim, 1);
  t.same(await asked(nvim), []);
  t.notOk(existsSync(record(nvim)));
});
