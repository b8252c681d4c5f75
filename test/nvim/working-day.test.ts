/** A simulated user: random keys and commands of a working day against random events of CLIs and of the disk. */
import { appendFileSync } from "node:fs";
import fc from "fast-check";
import t, { type Test } from "tap";
import { z } from "zod";
import { fuzz } from "../support/fuzz.ts";
import type { Nvim } from "../support/nvim.ts";
import { Reviewer } from "../support/review.ts";

const NAMES = ["a.txt", "b.txt", "new.txt"];
const FILES = { "a.txt": "one\ntwo\nthree\n", "b.txt": "b\n", "notes.txt": "notes\n" };

/** What a user does, without the words that are typed. */
const KEYS = [
  "<Esc>",
  "<Esc>:edit a.txt<CR>",
  "<Esc>:split<CR>",
  "<Esc>:vsplit b.txt<CR>",
  "<Esc>:tab split<CR>",
  "<Esc>:tabnext<CR>",
  "<Esc>:tabclose<CR>",
  "<Esc><C-w>w",
  "<Esc><C-w>p",
  "<Esc><C-w>c",
  "<Esc><C-w>o",
  "<Esc>:bnext<CR>",
  "<Esc>:bdelete<CR>",
  "<Esc>:%bdelete!|edit notes.txt<CR>",
  "<Esc>:wall<CR>",
  "<Esc>:mksession! session.vim<CR>",
  "<Esc>:vimgrep /o/ *.txt|copen<CR><C-w>p",
  "<Esc>:cclose<CR>",
  "<Esc>Vj",
  "<Esc>ggyy",
  "<Esc>:GeminiReview<CR>",
  "<Esc>:GeminiAccept<CR>",
  "<Esc>:GeminiReject<CR>",
  "<Esc>:w<CR>",
  "<Esc>:q<CR>",
  "<Esc>]h",
  "<Esc>:noautocmd close<CR>",
];

/** A picker that opens for a moment, and a timer that closes some window. */
const PLUGINS = [
  `local buf = vim.api.nvim_create_buf(false, true)
   local win = vim.api.nvim_open_win(buf, true, { relative = 'editor', row = 1, col = 1, width = 9, height = 3 })
   vim.defer_fn(function() pcall(vim.api.nvim_win_close, win, true) end, 5)`,
  `vim.defer_fn(function() pcall(vim.api.nvim_win_close, vim.api.nvim_list_wins()[1], false) end, 1)`,
];

const step = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...KEYS).map((keys) => ({ kind: "keys" as const, keys })) },
  { weight: 3, arbitrary: fc.constant({ kind: "type" as const }) },
  { weight: 3, arbitrary: fc.constantFrom(...NAMES).map((name) => ({ kind: "open" as const, name })) },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom("cli" as const, "disconnected" as const, "stopped" as const)
      .map((reason) => ({ kind: "close" as const, reason })),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom("a.txt", "b.txt").map((name) => ({ kind: "write" as const, name })),
  },
  { weight: 2, arbitrary: fc.constantFrom(...PLUGINS).map((code) => ({ kind: "lua" as const, code })) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

const Texts = z.array(z.string());

/** Kept texts that the user deletes with all buffers count as seen: a message has named them. */
const INIT = `
  vim.o.hidden, vim.o.more = true, false
  _G.deleted = {}
  vim.api.nvim_create_autocmd('BufUnload', { pattern = 'gemini://kept/*', callback = function(args)
    table.insert(_G.deleted, table.concat(vim.api.nvim_buf_get_lines(args.buf, 0, -1, false), '\\n'))
  end })`;

const BUFFERS = `return vim.list_extend(vim.tbl_map(function(buf)
  return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\\n')
end, vim.api.nvim_list_bufs()), _G.deleted)`;

/** What reviews have left behind. */
const LEFT = `
  local left = {}
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    local o, buf = vim.wo[win], vim.api.nvim_win_get_buf(win)
    if o.diff or o.scrollbind or o.cursorbind or o.winbar ~= '' then
      left[#left + 1] = 'options of a comparison in a window of ' .. vim.api.nvim_buf_get_name(buf)
    end
    if vim.b[buf].gemini_diff then left[#left + 1] = 'a proposal on the screen' end
  end
  if #require('gemini-bridge').diffs() > 0 then left[#left + 1] = 'a pending review' end
  local mode = vim.api.nvim_get_mode().mode
  if mode ~= 'n' then left[#left + 1] = 'mode ' .. mode end
  return left`;

class Day {
  readonly #nvim: Nvim;
  /** Words typed into each review that was opened. */
  readonly #words = new Map<number, string[]>();
  readonly #open = new Set<number>();
  /** Texts that a CLI was given when it closed a review. */
  readonly #told: string[] = [];
  #count = 0;

  constructor(readonly reviewer: Reviewer) {
    this.#nvim = reviewer.nvim;
  }

  #pending(): number[] {
    for (const { payload } of this.reviewer.received) this.#open.delete(payload.id);
    return [...this.#open];
  }

  async run(one: Step): Promise<void> {
    if (one.kind === "keys" && !(one.keys.endsWith(":q<CR>") && (await this.#wouldEnd())))
      await this.#nvim.input(one.keys);
    if (one.kind === "type") await this.#type();
    if (one.kind === "open") await this.#propose(one.name);
    if (one.kind === "close") await this.#close(one.reason);
    if (one.kind === "write") appendFileSync(this.#nvim.path(one.name), "from outside\n");
    if (one.kind === "lua") await this.#nvim.lua(one.code);
    // Any question that a key has led to is answered.
    if ((await this.#nvim.nvim.mode).blocking) await this.#nvim.input("<C-c>");
  }

  /** Whether `:q` would end Neovim. */
  async #wouldEnd(): Promise<boolean> {
    const others = "vim.fn.tabpagenr('$') == 1 and vim.fn.winlayout()[1] == 'leaf' and not vim.b.gemini_diff";
    return z.boolean().parse(await this.#nvim.lua(`return ${others}`));
  }

  async #type(): Promise<void> {
    const word = `word${++this.#count}.`;
    await this.#nvim.input(`<Esc>A ${word}`);
    const id = await this.#nvim.lua(
      `local is_typed = vim.api.nvim_get_current_line():find(..., 1, true)
       return vim.b.gemini_diff and is_typed and tonumber(vim.api.nvim_buf_get_name(0):match('^gemini://(%d+)/')) or 0`,
      word,
    );
    this.#words.get(z.int().parse(id))?.push(word);
  }

  async #propose(name: string): Promise<void> {
    const id = await this.reviewer.open(this.#nvim.path(name), `proposed ${this.#count}\nthree\n`);
    this.#words.set(id, []);
    this.#open.add(id);
  }

  async #close(reason: "cli" | "disconnected" | "stopped"): Promise<void> {
    const [id] = this.#pending();
    if (id === undefined) return;
    this.#open.delete(id);
    try {
      const content = await this.reviewer.close(id, reason);
      if (reason === "cli") this.#told.push(content);
    } catch (error) {
      if (!/closed already/.test(String(error))) throw error;
    }
  }

  /** Ends all reviews and looks for everything that a user would miss. */
  async check(): Promise<void> {
    await this.#nvim.input("<Esc><Esc>");
    await this.reviewer.outcomes();
    while (this.#pending().length > 0) await this.#close("disconnected");
    await this.#nvim.input("<Esc><Esc>");
    await this.reviewer.outcomes();
    const ids = this.reviewer.received.map(({ payload }) => payload.id);
    if (new Set(ids).size < ids.length) throw new Error(`decided twice: ${ids}`);
    const left = Texts.parse(await this.#nvim.lua(LEFT));
    if (left.length > 0) throw new Error(left.join(", "));
    const messages = await this.#nvim.messages();
    if (/stack traceback|E5108|got in the way|Error executing/.test(messages)) throw new Error(messages);
    await this.#checkWords();
  }

  async #checkWords(): Promise<void> {
    const texts = [...Texts.parse(await this.#nvim.lua(BUFFERS)), ...this.#told];
    const rejected = new Set<number>();
    for (const { name, payload } of this.reviewer.received) {
      if (name === "diff_accepted") texts.push(payload.content);
      else rejected.add(payload.id);
    }
    for (const [id, words] of this.#words)
      for (const word of rejected.has(id) ? [] : words)
        if (!texts.some((text) => text.includes(word)))
          throw new Error(`${word} was typed into review ${id} and is lost`);
  }
}

async function live(t: Test, steps: Step[]): Promise<void> {
  const reviewer = await Reviewer.start(t, {
    files: FILES,
    args: ["notes.txt"],
    init: INIT,
  });
  const day = new Day(reviewer);
  for (const one of steps) await day.run(one);
  await day.check();
  await reviewer.nvim.close();
}

t.test(
  "after a working day no typed word is lost and the editor is as the user left it",
  { timeout: 3_600_000 },
  async (t) => {
    const property = fc.asyncProperty(
      fc.array(step, { minLength: 60, maxLength: 60, size: "max" }),
      (steps) => live(t, steps),
    );
    await fc.assert(property, { ...fuzz(t, "working days of 60 steps", 6), endOnFailure: true });
  },
);
