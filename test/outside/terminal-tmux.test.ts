/** Tests terminals that are panes of tmux. */
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { z } from "zod";
import type { Nvim } from "../support/nvim.ts";
import { descendants, isAlive } from "../support/processes.ts";
import { writeFiles } from "../support/sandbox.ts";
import { enterTmux } from "../support/tmux.ts";
import {
  opened,
  type Pane,
  panes,
  setUpTmux,
  socketOf,
  startEditor,
  startInTmux,
  startOver,
  terminalNames,
  told,
} from "../support/tmux-terminal.ts";
import { waitFor } from "../support/wait.ts";

t.test("a tmux pane opens beside Neovim, with the variables that connect the CLI", async (t) => {
  const { nvim, tmux, own } = await startInTmux(t);
  // This variable would lead the CLI to another Neovim.
  tmux("set-environment", "-g", "GEMINI_CLI_IDE_SERVER_PORT", "1");
  tmux("set-environment", "-g", "GEMINI_CLI_IDE_SERVER_STDIO_COMMAND", "other");
  await nvim.input(`:Gemini -i "say 'hello'" '' \\$HOME;#{pane_id} "two  blanks" é<CR>`);
  const pane = await opened(nvim, tmux);
  t.match(pane, { left: 72, width: 48, height: 40, active: true });
  const lines = readFileSync(told(nvim), "utf8").split("\n");
  t.same(
    lines.slice(0, 7),
    ["-i", "say 'hello'", "", "$HOME;#{pane_id}", "two  blanks", "é", nvim.dirs.workspace].map(
      (word) => `<${word}>`,
    ),
  );
  const { port } = z
    .object({ port: z.int() })
    .parse(await nvim.lua("return require('gemini-bridge').status()"));
  for (const line of [
    `GEMINI_CLI_IDE_SERVER_PORT=${port}`,
    `GEMINI_CLI_IDE_WORKSPACE_PATH=${nvim.dirs.workspace}`,
    "GEMINI_CLI_IDE_SERVER_STDIO_COMMAND=",
    "NO_PROXY=127.0.0.1,localhost",
    `TMPDIR=${nvim.dirs.tmp}`,
    `OUT=${nvim.dirs.tmp}`,
  ]) {
    t.ok(lines.includes(line), line);
  }
  t.match(
    lines.find((line) => line.startsWith("VISUAL=")),
    `VISUAL=${nvim.dirs.state}/gemini-bridge-editors/`,
    "the program for the external editor is in a private folder",
  );
  const token = String(await nvim.lua("return vim.env.GEMINI_CLI_IDE_AUTH_TOKEN"));
  t.ok(lines.includes(`GEMINI_CLI_IDE_AUTH_TOKEN=${token}`));
  t.notMatch(pane.command, token, "the pane's command line does not hold the token");
  const given = readFileSync(join(nvim.dirs.tmp, "tmux-arguments"), "utf8");
  t.match(given, "source-file");
  t.notMatch(given, token, "nor does tmux's");

  tmux("select-pane", "-t", own);
  await nvim.command("Gemini");
  t.same(
    panes(tmux).map(({ active }) => active),
    [false, true],
    "used again it goes there",
  );
  tmux("break-pane", "-d", "-s", pane.id);
  await nvim.command("Gemini");
  t.match(
    panes(tmux).find(({ active }) => active),
    { id: pane.id },
    "in another window by now, too",
  );
  t.equal(panes(tmux).length, 2);
  const status = z
    .array(z.string())
    .parse(await nvim.lua("return require('gemini-bridge.report.status_view').lines()"));
  t.match(
    status.find((line) => line.startsWith("Terminals")),
    new RegExp(`pane ${pane.id}, process \\d+$`),
  );
});

const places: [options: string, expected: Partial<Pane>][] = [
  ["position = 'left', size = 30", { left: 0, top: 0, width: 30, height: 40 }],
  ["position = 'top'", { left: 0, top: 0, width: 120, height: 12 }],
  ["position = 'bottom', size = 10", { left: 0, top: 30, width: 120, height: 10 }],
  ["position = 'float'", { left: 72, width: 48, height: 40 }],
  ["position = 'tab'", { left: 0, width: 120, height: 40, window: "@1" }],
];
t.test("the option terminal.position sets the position of a tmux pane", async (t) => {
  const { nvim, tmux } = await startInTmux(t);
  await nvim.command("Gemini");
  let pane = await opened(nvim, tmux);
  for (const [terminal, expected] of places) {
    await startOver(nvim, tmux, pane.id, terminal);
    await nvim.lua("require('gemini-bridge').terminal({ focus = false })");
    pane = await opened(nvim, tmux);
    t.match(pane, { ...expected, active: false }, terminal);
  }
});

t.test("several tmux panes have their own names, and end with their programs", async (t) => {
  const { nvim, tmux, own } = await startInTmux(t);
  await nvim.command("Gemini");
  const first = await opened(nvim, tmux);
  await nvim.command("Gemini!");
  const second = await opened(nvim, tmux, 3);
  t.same(await terminalNames(nvim), ["gemini", "gemini-2"]);
  await nvim.command("Gemini name=gemini");
  t.match(
    panes(tmux).find(({ active }) => active),
    { id: first.id },
    "by name",
  );

  tmux("send-keys", "-t", second.id, "0", "Enter");
  await waitFor(() => {
    tmux("run-shell", "-b", "true"); // tmux 3.3a may notice the end of a child only when another child ends
    return panes(tmux).length === 2;
  }, "the pane to close");
  t.same(await terminalNames(nvim), ["gemini"]);

  tmux("send-keys", "-t", first.id, "3", "Enter");
  await nvim.waitFor("require('gemini-bridge.terminal.terminals').last() == nil", "its end");
  t.ok(
    panes(tmux).some(({ id }) => id === first.id),
    "what failed can be read",
  );
  tmux("select-pane", "-t", own);
  await nvim.command("Gemini");
  const third = await opened(nvim, tmux);
  t.not(third.id, first.id, "the next one takes its place");
  t.same(await terminalNames(nvim), ["gemini"]);
});

t.test("the tmux pane of a program that fails immediately stays open", async (t) => {
  const { nvim, tmux } = await startInTmux(t, { terminal: "cmd = { 'sh', '-c', 'echo broken; exit 3' }" });
  await nvim.command("Gemini");
  await waitFor(() => panes(tmux).length === 2, "the pane");
  const [, pane] = panes(tmux);
  // tmux scrolls the pane by one line to show that the program has ended.
  const shown = () => tmux("capture-pane", "-p", "-S", "-", "-t", pane?.id ?? "");
  await t.resolves(waitFor(() => shown().includes("broken"), "its words"));
  await nvim.waitFor("require('gemini-bridge.terminal.terminals').last() == nil", "its end");
  t.equal(panes(tmux).length, 2, "it stays");
});

t.test(
  "a killed tmux pane is replaced, and its program ends even if the program ignores SIGHUP",
  async (t) => {
    const cmd = `cmd = { 'sh', '-c', 'trap "" HUP TERM; sleep 600 & echo ready; while true; do sleep 600; done' }`;
    const { nvim, tmux } = await startInTmux(t, { terminal: cmd });
    await nvim.command("Gemini");
    const first = await opened(nvim, tmux);
    const program = Number(tmux("display-message", "-p", "-t", first.id, "#{pane_pid}"));
    const started = [program, ...descendants(program)];
    t.ok(started.length > 2);
    tmux("kill-pane", "-t", first.id);

    await nvim.command("Gemini");
    const second = await opened(nvim, tmux);
    t.not(second.id, first.id);
    t.same(await terminalNames(nvim), ["gemini"]);
    t.notMatch(await nvim.messages(), "can't find pane");
    await nvim.waitFor(() => !started.some(isAlive), "the program and all that it started to end");
    t.equal(panes(tmux).length, 2);
  },
);

t.test("a login that Google refuses is recognized in a tmux pane, and reported only once", async (t) => {
  const screen = "This client is no longer supported for Gemini Code Assist for individuals.";
  const { nvim, tmux } = await startInTmux(t, {
    terminal: `cmd = { 'sh', '-c', 'echo ready; echo "${screen}"; cat' }`,
  });
  await nvim.command("Gemini");
  await opened(nvim, tmux);
  const hints = async () => (await nvim.messages()).match(/run :Gemini cli=qwen/g)?.length ?? 0;
  await nvim.waitFor(async () => (await hints()) === 1, "what to do");
});

t.test("the next Neovim finds the tmux pane of the previous Neovim", async (t) => {
  const { nvim: before, tmux, own } = await startInTmux(t, { terminal: "cli = 'qwen'" });
  await before.command("Gemini name=my\\ tests");
  const pane = await opened(before, tmux);
  tmux("select-pane", "-t", own);

  const beside = await startEditor(t, { cwd: before.dirs.workspace });
  await enterTmux(beside, socketOf(before), own);
  await beside.command("Gemini");
  await opened(beside, tmux, 3);
  t.same(await terminalNames(beside), ["gemini"], "that of a Neovim that lives is not taken");
  tmux("select-pane", "-t", own);

  before.kill();
  await before.exited;
  t.equal(panes(tmux).length, 3, "a pane stays when Neovim ends");
  const after = await startEditor(t, { cwd: before.dirs.workspace });
  await enterTmux(after, socketOf(before), own);
  await after.command("Gemini");
  t.match(
    panes(tmux).find(({ active }) => active),
    { id: pane.id },
  );
  t.equal(panes(tmux).length, 3, "none is opened");
  t.same(await terminalNames(after), ["my tests"]);
  t.equal(await after.lua("return require('gemini-bridge.terminal.terminals').last().cli"), "qwen");
  t.match(
    await after.messages(),
    /The CLI in my tests was started by an earlier Neovim\. To connect the CLI to this Neovim, type \/ide enable there/,
  );
  await after.command("Gemini");
  t.equal((await after.messages()).match(/earlier/g)?.length, 1, "said once");

  const elsewhere = await startEditor(t, { cwd: before.dirs.home });
  await enterTmux(elsewhere, socketOf(before), own);
  after.kill();
  await after.exited;
  await elsewhere.command("Gemini");
  await opened(elsewhere, tmux, 4);
});

/** Changes Neovim's directory. Neovim's own function would expand variables in the path. */
const changeDirectory = (nvim: Nvim, path: string) => nvim.lua("vim.uv.chdir(...) vim.fn.chdir('.')", path);

/** Changes Neovim's directory to a new directory in the workspace. @returns its path */
async function enter(nvim: Nvim, name: string, files: Record<string, string> = {}): Promise<string> {
  mkdirSync(nvim.path(name), { recursive: true });
  writeFiles(nvim.path(name), files);
  await changeDirectory(nvim, nvim.path(name));
  return nvim.path(name);
}

t.test("tmux does not execute commands in the name of a directory", async (t) => {
  const { nvim, tmux } = await startInTmux(t);
  for (const name of [
    "#(touch pwned) #{pane_id} it's",
    "#[fg=red]",
    "a;",
    '$HOME `touch pwned` "|\\',
    "%H",
  ]) {
    const cwd = await enter(nvim, name);
    await nvim.command("Gemini");
    const pane = await opened(nvim, tmux);
    t.match(readFileSync(told(nvim), "utf8"), `<${cwd}>`);
    t.equal(
      tmux("display-message", "-p", "-t", pane.id, "#{@gemini_bridge}"),
      await nvim.lua(
        "return ('%d gemini gemini %s'):format(vim.fn.getpid(), vim.uri_encode(..., 'rfc2396'))",
        cwd,
      ),
      "the mark of the pane is complete",
    );
    await startOver(nvim, tmux, pane.id, "");
    for (const directory of [cwd, nvim.dirs.workspace, nvim.dirs.home, "/tmp"])
      t.notOk(existsSync(join(directory, "pwned")), directory);
  }
});

t.test("no value with a control character is passed to tmux", async (t) => {
  const { nvim, tmux } = await startInTmux(t);
  const trap = `#!/bin/sh\ntouch ${nvim.dirs.base}/pwned\nsleep 60\n`;
  const refuses = async (what: string) => {
    await nvim.command("Gemini");
    await t.resolves(nvim.says(`my-cli was not started: ${what} contains a control character, which cannot`));
    await nvim.command("messages clear");
    t.equal(panes(tmux).length, 1, "no pane is opened");
    t.same(await terminalNames(nvim), []);
  };
  // After a line break, tmux takes "#" for the start of a comment, even in quotes. The quotes then end elsewhere, and
  // the pane would run the file with the name of the option.
  await enter(nvim, "src\n#x", { "@gemini_bridge": trap });
  await refuses(`the directory ${nvim.path("src^@#x")}`);
  t.notOk(existsSync(join(nvim.dirs.base, "pwned")), "the file with the name of the option does not run");
  for (const [name, shown] of [
    ["a\n  b", "a^@  b"],
    ["a\tb", "a^Ib"],
    ["a\x1b[2J", "a^[[2J"],
    ["a\x7f", "a^?"],
    ["a\u009b2J", "a<9b>2J"],
  ] as const) {
    await enter(nvim, name);
    await refuses(`the directory ${nvim.path(shown)}`);
  }
  await changeDirectory(nvim, nvim.dirs.workspace);
  const isKnown = "vim.env.GEMINI_CLI_IDE_WORKSPACE_PATH == vim.fn.getcwd()";
  await nvim.waitFor(isKnown, "the bridge to know the directory");
  await nvim.lua(setUpTmux("env = { OWN = 'a\\n#b' }"));
  await refuses("the variable OWN");
  await nvim.lua(setUpTmux("cmd = { 'my-cli', 'a\\n#b' }"));
  await refuses("the argument a^@#b");
});

t.test("outside of tmux, the provider tmux reports the problem", async (t) => {
  const nvim = await startEditor(t);
  await nvim.lua("vim.env.TMUX, vim.env.TMUX_PANE = nil, nil");
  await nvim.command("Gemini");
  await nvim.says("needs a Neovim that runs in tmux");
  await nvim.lua("vim.env.TMUX = '/no/such/socket,1,0'");
  await nvim.command("Gemini");
  await nvim.says("needs a pane, but this Neovim runs in a popup of tmux");
  t.same(await terminalNames(nvim), []);
  await enterTmux(nvim, "/no/such/socket", "%0");
  await nvim.command("Gemini");
  await nvim.says("my-cli was not started: tmux: ");
  t.same(await terminalNames(nvim), []);
});
