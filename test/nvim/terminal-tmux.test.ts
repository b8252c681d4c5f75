import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { z } from "zod";
import { type Nvim, startNvim } from "../support/nvim.ts";
import { writeFiles } from "../support/sandbox.ts";
import { enterTmux, startTmux, type Tmux } from "../support/tmux.ts";
import { waitFor } from "../support/wait.ts";

/** Tells what it got, each word on a line, and ends with the code that is typed. */
const AGENT = `#!/bin/sh
{ for word in "$@" "$(pwd)"; do echo "<$word>"; done; env; } >"$OUT/told.new"
mv "$OUT/told.new" "$OUT/told"
echo ready
read -r code
exit "$code"
`;

/** tmux itself, which notes what is on its command line. */
const WITNESS = `#!/bin/sh
printf '%s\\n' "$@" >>"$TMPDIR/tmux-arguments"
exec ${execFileSync("sh", ["-c", "command -v tmux"], { encoding: "utf8" }).trim()} "$@"
`;

interface Pane {
  id: string;
  window: string;
  left: number;
  top: number;
  width: number;
  height: number;
  active: boolean;
  command: string;
}

const FORMAT = ["pane_id", "window_id", "pane_left", "pane_top", "pane_width", "pane_height"]
  .concat("window_active", "pane_active", "pane_start_command")
  .map((name) => `#{${name}}`)
  .join("\t");

function panes(tmux: Tmux): Pane[] {
  return tmux("list-panes", "-s", "-F", FORMAT)
    .split("\n")
    .map((line) => {
      const [id = "", window = "", left, top, width, height, ...rest] = line.split("\t");
      const [inWindow, inPane, command = ""] = rest;
      const active = inWindow === "1" && inPane === "1";
      const [x, y, columns, lines] = [left, top, width, height].map(Number) as [
        number,
        number,
        number,
        number,
      ];
      return { id, window, left: x, top: y, width: columns, height: lines, active, command };
    });
}

const socketOf = (nvim: Nvim) => join(nvim.dirs.base, "tmux");
const told = (nvim: Nvim) => join(nvim.dirs.tmp, "told");

interface Options {
  /** Lua: more options of the terminal's group. */
  terminal?: string;
  cwd?: string;
}

async function startEditor(t: Test, { terminal = "", cwd }: Options = {}): Promise<Nvim> {
  const nvim = await startNvim(t, {
    files: { "bin/my-cli": AGENT, "bin/tmux": WITNESS },
    init: `
      local bin = vim.env.XDG_RUNTIME_DIR .. '/../workspace/bin'
      for _, name in ipairs({ 'my-cli', 'tmux' }) do vim.uv.fs_chmod(bin .. '/' .. name, 448) end
      vim.env.PATH = bin .. ':' .. vim.env.PATH
      require('gemini-bridge').setup({
        terminal = { provider = 'tmux', cmd = { 'my-cli' }, env = { OUT = vim.env.TMPDIR }, ${terminal} },
      })`,
    ...(cwd === undefined ? {} : { cwd }),
  });
  return nvim;
}

async function start(t: Test, options: Options = {}) {
  const nvim = await startEditor(t, options);
  const tmux = await startTmux(t, nvim, "/tmp");
  const own = panes(tmux)[0]?.id ?? "";
  return { nvim, tmux, own };
}

/** Waits for a pane in which the program runs. */
async function opened(nvim: Nvim, tmux: Tmux, count = 2): Promise<Pane> {
  await waitFor(() => panes(tmux).length === count, `${count} panes`, 10_000);
  const newest = panes(tmux).reduce((a, b) => (Number(a.id.slice(1)) > Number(b.id.slice(1)) ? a : b));
  await waitFor(() => tmux("capture-pane", "-p", "-t", newest.id).includes("ready"), "the program", 10_000);
  await nvim.waitFor("require('gemini-bridge.terminal.terminals').last().pane", "the terminal");
  return newest;
}

const names = (nvim: Nvim) =>
  nvim.lua(
    "return vim.tbl_map(function(one) return one.name end, require('gemini-bridge.terminal.terminals').list())",
  );

t.test("a split beside Neovim, with all that leads the CLI to this Neovim", async (t) => {
  const { nvim, tmux, own } = await start(t);
  // What a CLI would take for another Neovim's.
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
for (const [terminal, expected] of places) {
  t.test(`${terminal}`, async (t) => {
    const { nvim, tmux } = await start(t, { terminal });
    await nvim.lua("require('gemini-bridge').terminal({ focus = false })");
    t.match(await opened(nvim, tmux), { ...expected, active: false });
  });
}

t.test("several, and their end", async (t) => {
  const { nvim, tmux, own } = await start(t);
  await nvim.command("Gemini");
  const first = await opened(nvim, tmux);
  await nvim.command("Gemini!");
  const second = await opened(nvim, tmux, 3);
  t.same(await names(nvim), ["gemini", "gemini-2"]);
  await nvim.command("Gemini name=gemini");
  t.match(
    panes(tmux).find(({ active }) => active),
    { id: first.id },
    "by name",
  );

  tmux("send-keys", "-t", second.id, "0", "Enter");
  await waitFor(() => {
    tmux("run-shell", "true"); // tmux 3.3a may overlook the end of a child until the next one ends
    return panes(tmux).length === 2;
  }, "the pane to close");
  t.same(await names(nvim), ["gemini"]);

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
  t.same(await names(nvim), ["gemini"]);
});

t.test("what fails at once can be read", async (t) => {
  const { nvim, tmux } = await start(t, { terminal: "cmd = { 'sh', '-c', 'echo broken; exit 3' }" });
  await nvim.command("Gemini");
  await waitFor(() => panes(tmux).length === 2, "the pane", 10_000);
  const [, pane] = panes(tmux);
  // tmux scrolls the pane by a line to say that it is dead.
  const shown = () => tmux("capture-pane", "-p", "-S", "-", "-t", pane?.id ?? "");
  await t.resolves(waitFor(() => shown().includes("broken"), "its words"));
  await nvim.waitFor("require('gemini-bridge.terminal.terminals').last() == nil", "its end");
  t.equal(panes(tmux).length, 2, "it stays");
});

t.test("the next Neovim finds it again", async (t) => {
  const { nvim: before, tmux, own } = await start(t);
  await before.command("Gemini name=my\\ tests");
  const pane = await opened(before, tmux);
  tmux("select-pane", "-t", own);

  const beside = await startEditor(t, { cwd: before.dirs.workspace });
  await enterTmux(beside, socketOf(before), own);
  await beside.command("Gemini");
  await opened(beside, tmux, 3);
  t.same(await names(beside), ["gemini"], "that of a Neovim that lives is not taken");
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
  t.same(await names(after), ["my tests"]);
  t.match(await after.messages(), /my tests was started by an earlier Neovim: type \/ide enable in it/);
  await after.command("Gemini");
  t.equal((await after.messages()).match(/earlier/g)?.length, 1, "said once");

  const elsewhere = await startEditor(t, { cwd: before.dirs.home });
  await enterTmux(elsewhere, socketOf(before), own);
  after.kill();
  await after.exited;
  await elsewhere.command("Gemini");
  await opened(elsewhere, tmux, 4);
});

t.test("a directory's name is no command", async (t) => {
  const cwd = "#(touch pwned) #{pane_id} it's";
  const { nvim, tmux } = await start(t, { terminal: `cwd = vim.fn.getcwd() .. "/${cwd}"` });
  writeFiles(nvim.path(cwd), { file: "" });
  await nvim.command("Gemini");
  await opened(nvim, tmux);
  t.match(readFileSync(told(nvim), "utf8"), `<${nvim.path(cwd)}>`);
  for (const directory of [nvim.path(cwd), nvim.dirs.workspace, nvim.dirs.home, "/tmp"])
    t.notOk(existsSync(join(directory, "pwned")), directory);
});

t.test("without tmux it says so", async (t) => {
  const nvim = await startEditor(t);
  await nvim.lua("vim.env.TMUX, vim.env.TMUX_PANE = nil, nil");
  await nvim.command("Gemini");
  await nvim.waitFor(
    "vim.fn.execute('messages'):find('needs a Neovim that runs in tmux')",
    "the message",
    10_000,
  );
  t.same(await names(nvim), []);
  await enterTmux(nvim, "/no/such/socket", "%0");
  await nvim.command("Gemini");
  await nvim.waitFor("vim.fn.execute('messages'):find('my.cli was not started: tmux: ')", "the message");
  t.same(await names(nvim), []);
});
