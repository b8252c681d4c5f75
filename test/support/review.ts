/** Starts a Neovim in which the test itself is the host, to check reviews. */
import type { Test } from "tap";
import { z } from "zod";
import { type CallName, type Calls, type EventPayload, events } from "../../src/contract/neovim.ts";
import { EVENT_METHOD } from "../../src/neovim/bridge.ts";
import { type Nvim, type NvimOptions, startNvim } from "./nvim.ts";
import { becomes, waitFor } from "./wait.ts";

/** A decision of the user, with the accepted text, as Lua reports it. */
type Received =
  | { name: "diff_accepted"; payload: { id: number; content: string } }
  | { name: "diff_rejected"; payload: EventPayload<"diff_rejected"> };

/** Parameters of a review. `textId` is left out, because the test knows the text. */
type Proposal = Omit<Calls["diff_open"], "textId">;

const Answer = z.object({ result: z.unknown().optional(), error: z.string().optional() });

/** Lua that returns the state of all windows: everything that a user would notice if it changed. */
export const LAYOUT = `
local windows = {}
for _, win in ipairs(vim.api.nvim_list_wins()) do
  local options = {}
  for _, name in ipairs({ 'diff', 'scrollbind', 'cursorbind', 'wrap', 'foldenable', 'foldmethod', 'winbar', 'number' }) do
    options[name] = vim.api.nvim_get_option_value(name, { win = win, scope = 'local' })
  end
  local view = vim.api.nvim_win_call(win, vim.fn.winsaveview)
  local buf = vim.api.nvim_win_get_buf(win)
  local folds = vim.api.nvim_win_call(win, function()
    return vim.tbl_map(vim.fn.foldclosed, vim.fn.range(1, math.min(vim.fn.line('$'), 200)))
  end)
  if vim.bo[buf].buftype == 'terminal' then view, folds = 'terminal', 'terminal' end
  windows[#windows + 1] = {
    win = win, buf = buf, options = options, view = view, folds = folds,
    position = vim.api.nvim_win_get_position(win),
    size = { vim.api.nvim_win_get_width(win), vim.api.nvim_win_get_height(win) },
  }
end
local trees = {}
for tab = 1, vim.fn.tabpagenr('$') do trees[tab] = vim.fn.winlayout(tab) end
local globals = {}
for name, info in pairs(vim.api.nvim_get_all_options_info()) do
  local ok, value = pcall(vim.api.nvim_get_option_value, name, { scope = 'global' })
  globals[name] = ok and value or nil
end
globals.syntax = nil -- buffer-local, but Neovim's runtime files set both values
-- Edits of earlier tests that no CLI has written within 10 s are kept in buffers.
local buffers = vim.tbl_filter(function(buf)
  return not vim.startswith(vim.api.nvim_buf_get_name(buf), 'gemini://kept/')
end, vim.api.nvim_list_bufs())
return {
  windows = windows, trees = trees, globals = globals, cwd = vim.fn.getcwd(), alternate = vim.fn.bufnr('#'),
  win = vim.api.nvim_get_current_win(), mode = vim.api.nvim_get_mode().mode, buffers = buffers,
}`;

/** A Lua expression that returns the winbar of the proposal. */
export const WINBAR = `(function()
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    if vim.b[vim.api.nvim_win_get_buf(win)].gemini_diff then return vim.wo[win].winbar end
  end
  return ''
end)()`;

/** A Neovim in which the test itself is the host: sends calls, and receives events. */
export class Reviewer {
  readonly received: Received[] = [];
  readonly #texts = new Map<string, string>();
  #lastId = 0;

  constructor(readonly nvim: Nvim) {
    nvim.nvim.on("notification", (method: string, args: unknown[]) => {
      if (method !== EVENT_METHOD) return;
      const name = z.string().parse(args[0]);
      if (name === "diff_accepted") this.received.push({ name, payload: this.#accepted(args[1]) });
      if (name === "diff_rejected") this.received.push({ name, payload: events[name].parse(args[1]) });
    });
  }

  /** Calls Lua as the host does. Rejects if Lua answers with an error. */
  async call<N extends CallName>(name: N, params: Calls[N]): Promise<unknown> {
    const answer = await this.nvim.lua("return require('gemini-bridge.calls').call(...)", name, params);
    const { result, error } = Answer.parse(answer);
    if (error !== undefined) throw new Error(error);
    return result;
  }

  #accepted(payload: unknown): { id: number; content: string } {
    const event = events.diff_accepted.parse(payload);
    if ("content" in event) return { id: event.id, content: event.content };
    return { id: event.id, content: z.string().parse(this.#texts.get(event.textId)) };
  }

  /** Opens a review. If the review is already open, replaces its text. */
  async show(proposal: Proposal): Promise<void> {
    const textId = `text ${this.#texts.size}`;
    this.#texts.set(textId, proposal.newContent);
    await this.call("diff_open", { ...proposal, textId });
  }

  /** Opens a review and returns its id. */
  async open(filePath: string, newContent: string, client = "Gemini CLI"): Promise<number> {
    const id = ++this.#lastId;
    await this.show({ id, filePath, newContent, client, label: "Gemini CLI" });
    return id;
  }

  /**
   * Closes a review.
   * @returns the last text of the proposal
   */
  async close(id: number, reason: Calls["diff_close"]["reason"] = "cli"): Promise<string> {
    return z.object({ content: z.string() }).parse(await this.call("diff_close", { id, reason })).content;
  }

  /** Waits for the next outcome of a review. Removes the outcome from the list. */
  async outcome(): Promise<Received> {
    await waitFor(() => this.received.length > 0, "an outcome");
    const [first] = this.received.splice(0, 1);
    if (!first) throw new Error("no outcome");
    return first;
  }

  /** Returns all outcomes that Neovim has sent so far. */
  async outcomes(): Promise<Received[]> {
    await this.nvim.lua("vim.wait(20)"); // so that Neovim runs scheduled functions
    return this.received;
  }

  /** Returns the windows that show a proposal. */
  async proposals(): Promise<number[]> {
    const windows = await this.nvim.lua(`return vim.tbl_filter(function(win)
      return vim.b[vim.api.nvim_win_get_buf(win)].gemini_diff ~= nil
    end, vim.api.nvim_list_wins())`);
    return z.array(z.number()).parse(windows);
  }

  /** Moves the focus to the proposal, like `:GeminiReview`. */
  async review(): Promise<void> {
    await this.nvim.command("GeminiReview");
  }

  async layout(): Promise<Record<string, unknown>> {
    return z.record(z.string(), z.unknown()).parse(await this.nvim.lua(LAYOUT));
  }

  /** Waits until the layout is the given one: buffers are deleted by scheduled functions. */
  becomes(t: Test, wanted: Record<string, unknown>, what = "the layout"): Promise<void> {
    return becomes(t, () => this.layout(), wanted, what);
  }
}

/** Starts a Neovim, and attaches the test as the host. */
export async function startReviewer(t: Test, options: NvimOptions = {}) {
  const nvim = await startNvim(t, options);
  const reviewer = new Reviewer(nvim);
  await reviewer.call("attach", { channel: await nvim.nvim.channelId, pid: process.pid });
  return { reviewer, nvim };
}
