/**
 * Simulates a user in a real Neovim with a real host, and CLIs that propose changes, write files and
 * disconnect.
 */
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import type { Test } from "tap";
import { z } from "zod";
import { type RunningBridge, startBridge } from "./bridge.ts";
import type { CompanionClient } from "./client.ts";
import { HookedAgent } from "./hooked-agent.ts";
import type { Nvim } from "./nvim.ts";
import { LAYOUT } from "./review.ts";

const FILES = {
  "a.txt": "one\ntwo\nthree\n",
  "b.txt": "b\nbb\n",
  "notes.txt": Array.from({ length: 60 }, (_, line) => `note ${line}\n`).join(""),
};

/** Actions of the user that delete no text. Each begins in Normal mode. */
const KEYS = [
  ":edit a.txt<CR>",
  ":edit #<CR>",
  ":split<CR>",
  ":vsplit b.txt<CR>",
  ":new<CR>",
  ":tab split<CR>",
  ":tabnew b.txt<CR>",
  ":tabnext<CR>",
  ":tabclose<CR>",
  ":tabonly<CR>",
  "<C-w>w",
  "<C-w>p",
  "<C-w>c",
  "<C-w>o",
  "<C-w>T",
  "<C-w>_",
  "<C-w>=",
  "<C-w>x",
  ":bnext<CR>",
  ":bdelete<CR>",
  ":bufdo normal! gg<CR>",
  ":wall<CR>",
  ":w<CR>",
  ":wq<CR>",
  "ZZ",
  ":q<CR>",
  ":noautocmd close<CR>",
  ":mksession! session.vim<CR>",
  ":source session.vim<CR>",
  ":vimgrep /o/ *.txt|copen<CR>",
  ":cnext<CR>",
  ":cc<CR>",
  ":cclose<CR>",
  ":setlocal foldmethod=manual|2,3fold<CR>",
  "Vj",
  "<C-v>l",
  "gh",
  "ggyyP",
  "qqA.<Esc>q",
  "@q",
  "d",
  "2",
  '"a',
  ":",
  "/tw",
  "q:",
  "<F2>",
  ":s/o/o/gc<CR>",
  ":terminal cat<CR>i",
  ":Gemini<CR>",
  ":GeminiPrompt<CR>",
  ":GeminiStatus<CR>",
  ":GeminiChanges<CR>",
  ":GeminiUndo!<CR>",
  ":GeminiUndo all<CR>",
  ":GeminiKeep!<CR>",
  ":GeminiReview<CR>",
  ":GeminiAccept!<CR>",
  ":GeminiAccept<CR>",
  ":GeminiReject<CR>",
  "]h",
  "\\d",
];

/** Keys that delete text on purpose: in the current buffer, or in all files. */
const DELETING = [
  { keys: "u", where: "buffer" },
  { keys: "<C-r>", where: "buffer" },
  { keys: "Vjd", where: "buffer" },
  { keys: "ccreplaced<Esc>", where: "buffer" },
  { keys: "do", where: "buffer" },
  { keys: ":edit!<CR>", where: "buffer" },
  { keys: ":q!<CR>", where: "buffer" },
  { keys: ":bdelete!<CR>", where: "buffer" },
  { keys: ":%bdelete!|edit notes.txt<CR>", where: "files" },
  { keys: ":%bwipeout!<CR>", where: "files" },
] as const;

/**
 * A picker that opens for a moment, a timer that closes a window of the current tab page, and auto-save.
 * Neovim 0.10.4 crashes when the last ordinary window of another tab page closes under a float.
 */
const PLUGINS = [
  `local buf = vim.api.nvim_create_buf(false, true)
   local place = { relative = 'editor', row = 1, col = 1, width = 9, height = 3 }
   local ok, win = pcall(vim.api.nvim_open_win, buf, true, place)
   vim.defer_fn(function() pcall(vim.api.nvim_win_close, win, true) end, 5)`,
  `vim.defer_fn(function() pcall(vim.api.nvim_win_close, vim.api.nvim_tabpage_list_wins(0)[1], false) end, 1)`,
  "vim.schedule(function() pcall(vim.cmd, 'silent! wall') end)",
];

const client = fc.nat({ max: 1 });
const file = fc.constantFrom("a.txt", "b.txt");
const proposed = fc.constantFrom("a.txt", "b.txt", "new.txt");
const step = fc.oneof(
  { weight: 20, arbitrary: fc.record({ kind: fc.constant("keys"), keys: fc.constantFrom(...KEYS) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("delete"), how: fc.constantFrom(...DELETING) }) },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant("type"), into: fc.constantFrom("A ", "o", "o<Esc>R") }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("plugin"), code: fc.constantFrom(...PLUGINS) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("glance"), client }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("open"), client, file: proposed }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("close"), client, writes: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("disconnect"), client }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart") }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("write"), file }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("agent"), file }) },
);
export type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** Days of sixty steps each. */
export const days = fc.array(step, { minLength: 60, maxLength: 60, size: "max" });

const Texts = z.preprocess((list) => (Array.isArray(list) ? list : []), z.array(z.string()));

const INIT = `
  vim.o.hidden, vim.o.more = true, false
  vim.keymap.set({ 'n', 'o', 'i', 'v' }, '<F2>', function() vim.fn.getcharstr() return '' end, { expr = true })
  require('gemini-bridge').setup({ extension = false, server = { grace = 700 }, terminal = { cmd = { 'cat' } } })
  function _G.text(buf)
    return vim.api.nvim_buf_is_loaded(buf) and table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\\n') or ''
  end`;

/** Returns traces of ended reviews that should not remain. */
const LEFT = `
  local left = {}
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    local o, buf = vim.wo[win], vim.api.nvim_win_get_buf(win)
    if o.diff or o.scrollbind or o.cursorbind or o.winbar ~= '' then
      left[#left + 1] = 'options of a comparison in a window of ' .. vim.api.nvim_buf_get_name(buf)
    end
  end
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(buf)
    if vim.api.nvim_buf_is_loaded(buf) and (vim.b[buf].gemini_diff or name:find('^gemini%-original:')) then
      left[#left + 1] = 'the buffer ' .. name
    end
  end
  local mode = vim.api.nvim_get_mode().mode
  if mode ~= (vim.bo.buftype == 'terminal' and 'nt' or 'n') then left[#left + 1] = 'mode ' .. mode end
  return left`;

/** Returns where a word was typed. */
const WHERE = `
  local buf, name = vim.api.nvim_get_current_buf(), vim.api.nvim_buf_get_name(0)
  local diff, is_kept = vim.b.gemini_diff, vim.startswith(name, 'gemini://kept/')
  if vim.fn.getcmdwintype() ~= '' or vim.bo.buftype ~= '' and not diff and not is_kept then return {} end
  if not vim.api.nvim_get_current_line():find(..., 1, true) then return {} end
  return { buf = buf, file = diff and diff.filePath or name, proposed = diff ~= nil }`;
const Where = z.object({
  buf: z.int().optional(),
  file: z.string().optional(),
  proposed: z.boolean().optional(),
});
const Place = z.preprocess((place) => (Array.isArray(place) ? {} : place), Where);

interface Word {
  file: string;
  /** Whether the word was typed into a proposal, not into the file itself. */
  proposed: boolean;
}

/** A CLI that proposes changes, with the files of its pending reviews. */
class Cli {
  readonly pending = new Set<string>();

  private constructor(readonly client: CompanionClient) {}

  static async connect(bridge: RunningBridge): Promise<Cli> {
    return new Cli(await bridge.client());
  }
}

/** One simulated day in one Neovim. */
export class WorkingDay {
  readonly #nvim: Nvim;
  readonly #clis: Cli[] = [];
  readonly #words = new Map<string, Word>();
  /** Texts that left Neovim: accepted texts, and texts sent to a CLI that closed the review. */
  readonly #told: string[] = [];
  #count = 0;
  #globals: Record<string, unknown> = {};

  private constructor(readonly bridge: RunningBridge) {
    this.#nvim = bridge.nvim;
  }

  static async begin(t: Test): Promise<WorkingDay> {
    const day = new WorkingDay(await startBridge(t, { files: FILES, args: ["notes.txt"], init: INIT }));
    day.#clis.push(await Cli.connect(day.bridge), await Cli.connect(day.bridge));
    day.#globals = await day.#globalOptions();
    return day;
  }

  /** Takes the steps, then ends all reviews and checks for everything that a user would miss. */
  async live(all: readonly Step[]): Promise<void> {
    for (const [index, one] of all.entries()) {
      await this.#step(one);
      if (index % 10 === 9) await this.#checkMessages();
    }
    await this.#answer();
    await this.#check();
    await this.#nvim.close();
  }

  /** A prompt that an earlier key has opened stays open until the user's next step. */
  async #step(one: Step): Promise<void> {
    const blocked = (await this.#nvim.nvim.mode).blocking;
    if (blocked && ["keys", "delete", "type"].includes(one.kind)) await this.#answer();
    const going = this.#act(one);
    going.catch(() => {}); // until it is awaited
    if (blocked) await this.#answer();
    await going;
  }

  /** Closes an open prompt. */
  async #answer(): Promise<void> {
    for (let tries = 0; tries < 5 && (await this.#nvim.nvim.mode).blocking; tries++)
      await this.#nvim.input("<C-c>");
  }

  async #act(one: Step): Promise<void> {
    switch (one.kind) {
      case "keys":
        return this.#press(one.keys);
      case "delete":
        return this.#delete(one.how);
      case "type":
        return this.#type(one.into);
      case "plugin":
        return void (await this.#nvim.lua(one.code));
      case "glance":
        return this.#glance(one.client);
      case "open":
        return this.#open(one.client, one.file);
      case "close":
        return this.#close(one.client, one.writes);
      case "disconnect":
        return this.#disconnect(one.client);
      case "restart":
        return this.#restart();
      case "write":
        return appendFileSync(this.#nvim.path(one.file), "from outside\n");
      case "agent": {
        const now = readFileSync(this.#nvim.path(one.file), "utf8");
        return new HookedAgent(this.bridge).write(one.file, `agent ${this.#count}\n${now}`);
      }
    }
  }

  async #press(keys: string): Promise<void> {
    await this.#nvim.input("<C-\\><C-n>");
    if (/^(:w?q!?<CR>|ZZ|<C-w>c|:bdelete!?<CR>)$/.test(keys) && (await this.#wouldEnd())) return;
    await this.#nvim.input(keys);
  }

  /** Whether closing the window would end Neovim. */
  async #wouldEnd(): Promise<boolean> {
    const alone = "vim.fn.tabpagenr('$') == 1 and vim.fn.winlayout()[1] == 'leaf' and not vim.b.gemini_diff";
    return z.boolean().parse(await this.#nvim.lua(`return vim.fn.getcmdwintype() == '' and ${alone}`));
  }

  async #type(into: string): Promise<void> {
    const word = `word${++this.#count}.`;
    await this.#press(`${into}${word}`);
    const { file, proposed = false } = Place.parse(await this.#nvim.lua(WHERE, word));
    if (file !== undefined) this.#words.set(word, { file, proposed });
  }

  async #delete({ keys, where }: (typeof DELETING)[number]): Promise<void> {
    const buf = z.int().parse(await this.#nvim.lua("return vim.api.nvim_get_current_buf()"));
    const isProposal = z.boolean().parse(await this.#nvim.lua("return vim.b.gemini_diff ~= nil"));
    const read = async () =>
      where === "buffer" ? String(await this.#nvim.lua("return _G.text(...)", buf)) : await this.#reachable();
    const before = await read();
    await this.#press(keys);
    await this.#answer();
    const after = await read();
    for (const [word, { proposed }] of this.#words) {
      if (!before.includes(word) || after.includes(word)) continue;
      // A closing proposal is decided or pending: its words are delivered, kept or discarded with it.
      const isGivenUp = where === "files" ? !proposed : !isProposal || !/^:(q|bdelete)/.test(keys);
      if (isGivenUp) this.#words.delete(word);
    }
  }

  async #layout(): Promise<Record<string, unknown>> {
    return z.record(z.string(), z.unknown()).parse(await this.#nvim.lua(LAYOUT));
  }

  async #globalOptions(): Promise<Record<string, unknown>> {
    return z.record(z.string(), z.unknown()).parse((await this.#layout())["globals"]);
  }

  /** Opens and closes a review while there is no other. Everything must be as before. */
  async #glance(index: number): Promise<void> {
    await this.#settle();
    const isFree =
      "#require('gemini-bridge').diffs() == 0 and vim.fn.getcmdwintype() == '' and vim.fn.bufwinid('gemini-bridge://status') < 0";
    if (!(await this.#nvim.lua(`return ${isFree}`))) return;
    const before = await this.#layout();
    await this.#open(index, "a.txt");
    await this.#nvim.lua("require('gemini-bridge').reject()");
    await this.#settle();
    const after = await this.#layout();
    for (const [name, value] of Object.entries(before))
      if (!isDeepStrictEqual(after[name], value))
        throw new Error(`a review has changed ${name}: ${JSON.stringify([value, after[name]])}`);
  }

  async #open(index: number, name: string): Promise<void> {
    await this.#settle();
    const { client, pending } = this.#cli(index);
    const path = this.#nvim.path(name);
    pending.add(path);
    const answer = await client.openDiff(path, `proposed ${++this.#count}\nthree\n`);
    if (answer.isError) throw new Error(JSON.stringify(answer.content));
  }

  /** The user answers in the CLI: "yes", which writes the file, or "no". */
  async #close(index: number, writes: boolean): Promise<void> {
    await this.#settle();
    const { client, pending } = this.#cli(index);
    const [path] = pending;
    if (path === undefined) return;
    const content = await client.closeDiff(path);
    if (content === undefined) return;
    pending.delete(path);
    this.#told.push(content);
    if (writes) this.#write(path, content);
  }

  /** Writes the text that the user has accepted. */
  #write(path: string, content: string): void {
    for (const [word, { file, proposed }] of this.#words)
      if (file === path && !proposed && !content.includes(word)) this.#words.delete(word);
    writeFileSync(path, content);
  }

  async #disconnect(index: number): Promise<void> {
    await this.#settle();
    await this.#goes(this.#cli(index));
    this.#clis[index] = await Cli.connect(this.bridge);
  }

  async #goes({ client, pending }: Cli): Promise<void> {
    const status = "require('gemini-bridge').status()";
    const count = await this.#nvim.lua(`return #${status}.clients`);
    await client.close();
    this.#take();
    pending.clear();
    const left = this.#clis.reduce((sum, other) => sum + other.pending.size, 0);
    const isGone = `#${status}.clients < ${count} and #${status}.diffs <= ${left}`;
    await this.#nvim.waitFor(isGone, "the CLI and its reviews to be gone");
  }

  async #restart(): Promise<void> {
    await this.#settle();
    await this.#nvim.command("GeminiStop");
    await this.bridge.is("stopped");
    for (const { client } of this.#clis.splice(0)) await client.close();
    await this.#nvim.command("GeminiStart");
    await this.bridge.is("running");
    this.#clis.push(await Cli.connect(this.bridge), await Cli.connect(this.bridge));
  }

  #cli(index: number): Cli {
    const cli = this.#clis[index];
    if (!cli) throw new Error("no such CLI");
    return cli;
  }

  /** Waits until all decisions have arrived, and makes the CLIs write the accepted texts. */
  async #settle(): Promise<void> {
    await this.#nvim.lua("vim.wait(20)");
    for (const { client } of this.#clis) await client.mcp.ping();
    this.#take();
  }

  #take(): void {
    for (const { client, pending } of this.#clis) {
      const { "ide/diffAccepted": accepted, "ide/diffRejected": rejected } = client.received;
      for (const { filePath, content } of accepted.splice(0)) {
        if (!pending.delete(filePath)) throw new Error(`${filePath} was accepted after its review had ended`);
        this.#told.push(content);
        this.#write(filePath, content);
      }
      for (const { filePath } of rejected.splice(0)) {
        if (!pending.delete(filePath)) throw new Error(`${filePath} was rejected after its review had ended`);
        for (const [word, { file, proposed }] of this.#words)
          if (file === filePath && proposed) this.#words.delete(word);
      }
    }
  }

  async #checkMessages(): Promise<void> {
    if ((await this.#nvim.nvim.mode).blocking) return;
    // A session is affected by modified buffers (E37), and by the name of a proposal that still exists (E95).
    const inSession =
      /Error (in|detected while processing) \S+session\.vim:\n(line +\d+:\n|E(37|95):.*\n?)+/g;
    const messages = (await this.#nvim.messages()).replace(inSession, "");
    if (/stack traceback|E5108|caused an error|Error executing|Error in |Error detected/.test(messages))
      throw new Error(messages);
  }

  async #check(): Promise<void> {
    await this.#press("");
    await this.#settle();
    for (const cli of this.#clis) await this.#goes(cli);
    await this.#press("");
    await this.#nvim.lua("vim.wait(20)");
    await this.#checkMessages();
    const left = Texts.parse(await this.#nvim.lua(LEFT));
    if (left.length > 0) throw new Error(left.join(", "));
    const globals = await this.#globalOptions();
    for (const [name, value] of Object.entries(this.#globals))
      if (globals[name] !== value) throw new Error(`global option ${name}: ${value}, now ${globals[name]}`);
    const texts = `${await this.#reachable()}\n${this.#told.join("\n")}`;
    for (const [word, { file, proposed }] of this.#words)
      if (!texts.includes(word))
        throw new Error(`${word} was typed into ${proposed ? "a proposal for " : ""}${file} and is lost`);
  }

  /** Returns all texts in buffers and files, and those that the plugin has saved. */
  async #reachable(): Promise<string> {
    const buffers = Texts.parse(
      await this.#nvim.lua("return vim.tbl_map(_G.text, vim.api.nvim_list_bufs())"),
    );
    const files = readdirSync(this.#nvim.dirs.workspace)
      .filter((name) => name.endsWith(".txt"))
      .map((name) => readFileSync(this.#nvim.path(name), "utf8"));
    const kept = join(this.#nvim.dirs.state, "nvim/gemini-bridge-kept.json");
    if (existsSync(kept)) files.push(readFileSync(kept, "utf8"));
    return [...buffers, ...files].join("\n");
  }
}
