/**
 * Tests a turn of many files by a real CLI. Single keys on the review page decide the files, and Neovim restarts in
 * between.
 */
import { existsSync, readFileSync } from "node:fs";
import t, { type Test } from "tap";
import { z } from "zod";
import { linkExtension } from "../support/extension.ts";
import { geminiIn } from "../support/gemini.ts";
import { call, type Turn } from "../support/model.ts";
import { type Nvim, startNvim } from "../support/nvim.ts";
import { startWithQwen } from "../support/qwen.ts";

const numbers = (count: number) =>
  Array.from({ length: count }, (_, index) => String(index).padStart(2, "0"));

const EDITED = numbers(9).map((number) => `src/edited-${number}.txt`);
const NEW = numbers(3).map((number) => `new/new-${number}.txt`);
const DELETED = numbers(4).map((number) => `old/deleted-${number}.txt`);
const RENAMED = numbers(2).map((number) => [`old/before-${number}.txt`, `old/after-${number}.txt`] as const);
const APPENDED = ["log-00.txt", "log-01.txt"];
/** A renamed file is listed under both names. Each name can be decided. */
const COUNT = EDITED.length + NEW.length + DELETED.length + 2 * RENAMED.length + APPENDED.length;

/** Undo must preserve line endings, a byte order mark, and a missing final line break. */
function original(name: string): string {
  const lines = ["first", "second", ...Array.from({ length: 9 }, () => name), "last line"];
  if (/[27]\.txt$/.test(name)) return `${lines.join("\r\n")}\r\n`;
  if (/[38]\.txt$/.test(name)) return `\uFEFF${lines.join("\n")}`;
  return `${lines.join("\n")}\n`;
}

const FILES = Object.fromEntries(
  [...EDITED, ...DELETED, ...RENAMED.map(([from]) => from), ...APPENDED].map((name) => [
    name,
    original(name),
  ]),
);

const COMMAND = [
  "rm old/deleted-*",
  ...RENAMED.map(([from, to]) => `mv ${from} ${to}`),
  ...APPENDED.map((name) => `echo appended >> ${name}`),
].join(" && ");

const Changes = z.preprocess(
  (list) => (Array.isArray(list) ? list : []),
  z.array(z.object({ path: z.string(), status: z.string(), hunks: z.int() })),
);

/** The tools of each CLI, and the arguments with which the CLI does not ask. */
const CLIS = [
  { cli: "gemini", args: "--yolo", replace: "replace", extra: { instruction: "Do it." }, shell: {} },
  { cli: "qwen", args: "--approval-mode yolo", replace: "edit", extra: {}, shell: { is_background: false } },
] as const;

for (const { cli, args, replace, extra, shell } of CLIS)
  t.test(
    `${cli}: single keys decide the files of a long turn, half of them after a restart of Neovim`,
    async (t) => {
      const { nvim, model, gemini } = await startWithQwen(t, {
        files: FILES,
        init: "vim.o.swapfile = false",
      });
      linkExtension(nvim.dirs.home);
      const edits = (name: string): Turn => {
        const file_path = nvim.path(name);
        const edit = (old_string: string, new_string: string) =>
          call(replace, { file_path, ...extra, old_string, new_string });
        const top = edit("second", "zweite");
        return isTwofold(name) ? [top, edit("last line", "letzte Zeile")] : [top];
      };
      const read: Turn = EDITED.map((name) => call("read_file", { file_path: nvim.path(name) }));
      const writes: Turn = NEW.map((name) =>
        call("write_file", { file_path: nvim.path(name), content: `${name}\n` }),
      );
      const command: Turn = [call("run_shell_command", { command: COMMAND, ...shell })];
      (cli === "qwen" ? model : gemini).say(read, ...EDITED.map(edits), writes, command, [
        { text: "All done." },
      ]);

      await nvim.command(`Gemini cli=${cli} ${args}`);
      await nvim.waitFor("#require('gemini-bridge').status().clients == 1", "the CLI", 30_000);
      await nvim.command("GeminiSend! --text Change everything.");
      await (await geminiIn(nvim)).waitForScreen(/All done\./, 120_000);
      await nvim.waitFor(async () => (await changes(nvim)).size === COUNT, "all changes");
      const written = new Map([...allNames()].map((name) => [name, bytes(nvim, name)]));
      const decisions = new Map<string, ("s" | "x")[]>();

      await decide(t, nvim, decisions, COUNT / 2);
      await nvim.command("qa!").catch(() => {});
      await nvim.exited;

      const next = await startNvim(t, { after: nvim, env: { PATH: process.env["PATH"] ?? "" } });
      await next.command("GeminiStart");
      await next.waitFor(async () => (await changes(next)).size === COUNT / 2, "the other half");
      await decide(t, next, decisions, 0);

      t.equal(decisions.size, COUNT);
      for (const [name, keys] of decisions) {
        const isUndone = keys[0] === "x";
        const twofold = original(name).replace("second", "zweite");
        const wanted = isUndone ? FILES[name] : written.get(name);
        // In a file with two hunks, the first hunk is kept and the second is undone.
        t.equal(bytes(next, name), isTwofold(name) ? twofold : wanted, `${name} after ${keys.join("")}`);
      }
      const differing = await next.lua(`return vim.iter(vim.api.nvim_list_bufs()):filter(function(buf)
      local path = vim.api.nvim_buf_get_name(buf)
      if vim.bo[buf].buftype ~= '' or path == '' or not vim.api.nvim_buf_is_loaded(buf) then return false end
      local file = io.open(path, 'rb')
      local text = file and file:read('*a') or ''
      local lines = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), '\\n')
      return vim.bo[buf].modified or text:gsub('^\\239\\187\\191', ''):gsub('\\r', ''):gsub('\\n$', '') ~= lines
    end):map(vim.api.nvim_buf_get_name):totable()`);
      t.strictSame(differing, [], "the buffers have the bytes on disk");
    },
  );

/** Returns whether the agent changes a file in two places. */
function isTwofold(name: string): boolean {
  return name.startsWith("src/") && name.endsWith("5.txt");
}

function allNames(): Set<string> {
  return new Set([...Object.keys(FILES), ...NEW, ...RENAMED.map(([, to]) => to)]);
}

/** Returns the bytes of a file as Latin-1 characters. undefined if the file does not exist. */
function bytes(nvim: Nvim, name: string): string | undefined {
  return existsSync(nvim.path(name)) ? readFileSync(nvim.path(name), "utf8") : undefined;
}

/** Returns the number of undecided hunks of each file. */
async function changes(nvim: Nvim): Promise<Map<string, number>> {
  const list = Changes.parse(await nvim.lua("return require('gemini-bridge').changes()"));
  return new Map(list.map(({ path, hunks }) => [path.slice(nvim.dirs.workspace.length + 1), hunks]));
}

/** Decides hunks on the review page, alternately keep and undo, until `left` files are undecided. */
async function decide(
  t: Test,
  nvim: Nvim,
  decisions: Map<string, ("s" | "x")[]>,
  rest: number,
): Promise<void> {
  await nvim.command("GeminiChanges");
  const buffer = "vim.fn.bufnr('^gemini-page://changes$')";
  await nvim.waitFor(`vim.api.nvim_get_current_buf() == ${buffer}`, "the page");
  for (let undecided = await changes(nvim); undecided.size > rest; ) {
    const line = String(await nvim.lua("return vim.api.nvim_get_current_line()"));
    const name = [...undecided.keys()].find((each) => line.includes(each.slice(each.lastIndexOf("/") + 1)));
    if (name === undefined) throw new Error(`no undecided file is on the line of the cursor: ${line}`);
    const keys = decisions.get(name) ?? [];
    const key = isTwofold(name) ? (keys.length === 0 ? "s" : "x") : decisions.size % 2 === 0 ? "s" : "x";
    decisions.set(name, [...keys, key]);
    await nvim.input(key);
    const hunks = undecided.get(name) ?? 0;
    await nvim.waitFor(async () => ((await changes(nvim)).get(name) ?? 0) < hunks, `the decision on ${name}`);
    undecided = await changes(nvim);
    if (undecided.size > rest)
      await nvim.waitFor(
        `not vim.api.nvim_get_current_line():find(${JSON.stringify(name.slice(name.lastIndexOf("/") + 1))}, 1, true)
          or ${undecided.has(name)}`,
        "the next file",
      );
  }
  t.equal((await changes(nvim)).size, rest);
}
