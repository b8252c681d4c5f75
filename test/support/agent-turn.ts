/**
 * Lets a real CLI change many files in two turns, and checks that these changes can be undone exactly: by hunk, by file,
 * by turn, and all at once.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, lstatSync, readdirSync, readFileSync } from "node:fs";
import type { Test } from "tap";
import { z } from "zod";
import type { Cli } from "./cli.ts";
import { call, type Turn } from "./model.ts";
import type { Nvim } from "./nvim.ts";

/** Files before the first turn. Undo preserves line breaks, the byte order mark, and a missing line break at the end. */
export const TURN_FILES = {
  "crlf.txt": Buffer.from("one\r\ntwo\r\nthree\r\nfour\r\nfive\r\nsix\r\nseven\r\neight\r\n"),
  "bom.txt": Buffer.from("\uFEFFone\ntwo"),
  "latin1.txt": Buffer.from("caf\xe9\nna\xefve\n", "latin1"),
  "long.txt": Buffer.from(`first\n${"a line of some length\n".repeat(95_000)}last\n`),
  "run.sh": Buffer.from("#!/bin/sh\necho one\n"),
  "secret.txt": Buffer.from("one\n"),
  "old/gone.txt": Buffer.from("going\r\n"),
  "old/later.txt": Buffer.from("going later\n"),
  "old/before.txt": Buffer.from("the same text\nin two places\n"),
  "log.txt": Buffer.from("first entry"),
};
const MODES = { "run.sh": 0o755, "secret.txt": 0o600, "old/gone.txt": 0o640, "old/before.txt": 0o700 };

const COMMAND =
  "rm old/gone.txt && mv old/before.txt old/after.txt && echo second >> log.txt && chmod 600 log.txt";

/** The list of changes after both turns. A renamed file is listed under both names. */
const CHANGES = [
  "bom.txt modified",
  "crlf.txt modified",
  "last.txt added",
  "latin1.txt modified",
  "log.txt modified",
  "long.txt modified",
  "new.txt added",
  "new/deep/new.txt added",
  "old/after.txt added",
  "old/before.txt deleted",
  "old/gone.txt deleted",
  "old/later.txt deleted",
  "run.sh modified",
  "secret.txt modified",
];

const Changes = z.preprocess(
  (list) => (Array.isArray(list) ? list : []),
  z.array(z.object({ path: z.string(), status: z.string(), hunks: z.int(), cli: z.string() })),
);

/** Lua that returns the names of the buffers whose text differs from the file. */
const DIFFERING = `return vim.iter(vim.api.nvim_list_bufs()):filter(function(buf)
  local path = vim.api.nvim_buf_get_name(buf)
  if vim.bo[buf].buftype ~= '' or path == '' or not vim.api.nvim_buf_is_loaded(buf) then return false end
  local file = io.open(path, 'rb')
  local text = file and file:read('*a') or ''
  local lines = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), '\\n')
  return vim.bo[buf].modified or text:gsub('^\\239\\187\\191', ''):gsub('\\r', ''):gsub('\\n$', '') ~= lines
end):map(vim.api.nvim_buf_get_name):totable()`;

/** A CLI that runs in a terminal of Neovim, and the names of its tools. */
export interface TurnCli {
  nvim: Nvim;
  cli: Cli;
  name: "gemini" | "qwen";
  say(...turns: Turn[]): void;
  /** The tool that replaces a text, and its arguments beside the texts. */
  edit: { tool: string; args: object };
  shell: object;
  /** If the CLI asks before shell commands: its question. */
  question?: RegExp;
}

/** Runs both turns and undoes them, outside a Git repository. Then does the same in a new repository. */
export async function checkUndoOfTurns(t: Test, cli: TurnCli): Promise<void> {
  for (const [name, mode] of Object.entries(MODES)) chmodSync(cli.nvim.path(name), mode);
  await t.test("outside a Git repository, two turns are undone exactly", (t) => undoOfTurns(t, cli));
  const git = (...args: string[]) => execFileSync("git", args, { cwd: cli.nvim.dirs.workspace });
  git("init", "-q");
  git("add", "-A");
  git("-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "first");
  await t.test("in a Git repository, two turns are undone exactly", (t) => undoOfTurns(t, cli));
}

async function undoOfTurns(t: Test, cli: TurnCli): Promise<void> {
  const { nvim } = cli;
  const before = tree(nvim.dirs.workspace);
  const hunks =
    "return vim.iter(require('gemini-bridge').changes()):fold(0, function(n, c) return n + c.hunks end)";
  await changeFiles(cli);
  const first = tree(nvim.dirs.workspace);
  await changeMore(cli);
  await nvim
    .waitFor(async () => (await changes(cli)).length === CHANGES.length, "all changes")
    .catch(() => {});
  t.same(await changes(cli), CHANGES);

  await nvim.lua("vim.api.nvim_set_current_win(vim.fn.win_findbuf(vim.fn.bufnr('crlf.txt'))[1])");
  const count = Number(await nvim.lua(hunks));
  await nvim.command("5GeminiUndo");
  await nvim.waitFor(async () => (await nvim.lua(hunks)) === count - 1, "the hunk to be undone");
  const lines = (text: string) =>
    String(TURN_FILES["crlf.txt"]).replace("two", "zwei").replace("eight", text);
  t.equal(String(readFileSync(nvim.path("crlf.txt"))), lines("acht"), "the hunk is undone");

  for (const name of ["new/deep/new.txt", "old/gone.txt"])
    await nvim.command(`GeminiUndo ${nvim.path(name)}`);
  await nvim.waitFor(
    async () => (await changes(cli)).length === CHANGES.length - 2,
    "two files to be undone",
  );
  await nvim.command("GeminiUndo! turn");
  await nvim.waitFor(async () => (await changes(cli)).length === CHANGES.length - 4, "the turn to be undone");
  t.equal(String(readFileSync(nvim.path("crlf.txt"))), lines("eight"), "the hunk of the first turn stays");
  const undone = ["crlf.txt", "new/deep/new.txt", "old/gone.txt"];
  t.same(without(tree(nvim.dirs.workspace), undone), without(first, undone), "files after the first turn");

  await nvim.command("GeminiUndo! all");
  await nvim.waitFor(async () => (await changes(cli)).length === 0, "all to be undone");
  t.same(tree(nvim.dirs.workspace), before, "files before the first turn");
  t.same(await nvim.lua(DIFFERING), [], "buffers have the text of their files");
}

/** The first turn: edits files, writes new files, and runs a command that deletes, renames and appends. */
async function changeFiles(cli: TurnCli): Promise<void> {
  const edited = Object.keys(TURN_FILES).filter((name) => !/^old|^log/.test(name));
  await turn(
    cli,
    edited.map((name) => call("read_file", { file_path: cli.nvim.path(name) })),
    [edit(cli, "crlf.txt", "two", "zwei"), edit(cli, "crlf.txt", "five", "fünf")],
    [write(cli, "bom.txt", "one\ntwo\nthree\n"), edit(cli, "latin1.txt", "na", "NA")],
    [edit(cli, "long.txt", "last\n", "the last\n"), edit(cli, "run.sh", "one", "two")],
    [edit(cli, "secret.txt", "one", "two"), write(cli, "new.txt", "new\n")],
    [write(cli, "new/deep/new.txt", "new\r\n")],
    [call("run_shell_command", { command: COMMAND, ...cli.shell })],
  );
}

/** The second turn: edits a file of the first turn, writes a new file, and deletes a file. */
async function changeMore(cli: TurnCli): Promise<void> {
  await turn(
    cli,
    [edit(cli, "crlf.txt", "eight", "acht"), write(cli, "last.txt", "the last\n")],
    [call("run_shell_command", { command: "rm old/later.txt", ...cli.shell })],
  );
}

const write = ({ nvim }: TurnCli, name: string, content: string) =>
  call("write_file", { file_path: nvim.path(name), content });

const edit = (
  { nvim, edit: { tool, args } }: TurnCli,
  name: string,
  old_string: string,
  new_string: string,
) => call(tool, { file_path: nvim.path(name), old_string, new_string, ...args });

let turns = 0;

/** Sends a prompt, and waits until the CLI has shown the end of the scripted answer. */
async function turn({ nvim, cli, say, question }: TurnCli, ...steps: Turn[]): Promise<void> {
  const end = `Turn ${++turns} is done.`;
  say(...steps, [{ text: end }]);
  await nvim.command("GeminiSend! --text Change the files.");
  if (question) {
    await cli.waitForScreen(question, 120_000);
    await cli.press("\r");
  }
  await cli.waitForScreen(new RegExp(end), 120_000);
}

/** Returns name and status of the changed files, sorted. */
async function changes({ nvim, name }: TurnCli): Promise<string[]> {
  const list = Changes.parse(await nvim.lua("return require('gemini-bridge').changes()"));
  const of = (cli: string) => (cli === name ? "" : ` by ${cli}`);
  const lines = list.map(
    ({ path, status, cli }) => `${path.slice(nvim.path().length + 1)} ${status}${of(cli)}`,
  );
  return lines.sort();
}

/** Returns mode and content of each file below a directory, without Git's. A long content is a hash. */
function tree(directory: string): Record<string, string> {
  const names = readdirSync(directory, { recursive: true, encoding: "utf8" }).sort();
  const entries = names.flatMap((name) => {
    const path = `${directory}/${name}`;
    const stat = lstatSync(path);
    if (/^\.git\b/.test(name) || !stat.isFile()) return [];
    const bytes = readFileSync(path);
    const content =
      bytes.length > 1000 ? createHash("sha1").update(bytes).digest("hex") : bytes.toString("latin1");
    return [[name, `${(stat.mode & 0o777).toString(8)} ${content}`] as const];
  });
  return Object.fromEntries(entries);
}

function without(files: Record<string, string>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(files).filter(([name]) => !names.includes(name)));
}
