import t, { type Test } from "tap";
import { z } from "zod";
import { shows, startWithAgent } from "../support/agent.ts";
import type { Nvim } from "../support/nvim.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);

/** A program that prints a requested number of lines. Leaves the cursor above the last line, as Gemini CLI does. */
const CHATTER = `
stty -echo
n=0
while
  printf '> prompt\\n---\\n\\n===\\033[3A'
  read -r more
do
  printf '\\r\\033[J'
  while [ "$more" -gt 0 ]; do n=$((n + 1)) more=$((more - 1)); echo "<$n>"; done
done
`;

/**
 * Lua that returns for each window of the terminal: the first line, the cursor, and whether the window shows the end.
 */
const WINDOWS = `
local buf = require('gemini-bridge.terminal.terminals').last().buf
return vim.tbl_map(function(win)
  local top, bottom = vim.fn.line('w0', win), vim.fn.line('w$', win)
  return { ended = bottom == vim.api.nvim_buf_line_count(buf), top = top, cursor = vim.api.nvim_win_get_cursor(win)[1] }
end, vim.fn.win_findbuf(buf))
`;
const Windows = z.array(z.object({ ended: z.boolean(), top: z.int(), cursor: z.int() }));

class Chatter {
  #said = 0;
  constructor(readonly nvim: Nvim) {}

  async say(lines: number): Promise<void> {
    this.#said += lines;
    await this.nvim.lua(
      "vim.fn.chansend(vim.bo[require('gemini-bridge.terminal.terminals').last().buf].channel, ...)",
      `${lines}\n`,
    );
    await shows(this.nvim, new RegExp(`<${this.#said}>> prompt---===`));
    await this.nvim.command("redraw");
  }

  async windows() {
    return Windows.parse(await this.nvim.lua(WINDOWS));
  }

  async follows(t: Test, what: string): Promise<void> {
    await this.say(30);
    const followed = this.nvim.waitFor(async () => (await this.windows()).every(({ ended }) => ended), what);
    await t.resolves(followed, what);
  }

  async stays(t: Test, what: string): Promise<void> {
    const before = await this.windows();
    await this.say(30);
    t.same(
      (await this.windows()).map(({ top, cursor }) => [top, cursor]),
      before.map(({ top, cursor }) => [top, cursor]),
      what,
    );
    t.ok((await this.windows()).some(({ ended }) => !ended));
  }
}

async function start(t: Test, options = ""): Promise<Chatter> {
  const cmd = `cmd = { 'sh', vim.fn.getcwd() .. '/chatter.sh' }, ${options}`;
  const nvim = await startWithAgent(t, cmd, { files: { "chatter.sh": CHATTER }, args: ["a.txt"] });
  await nvim.lua("vim.keymap.set('t', '<F5>', '<Cmd>wincmd p<CR>')");
  await nvim.command("Gemini");
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "terminal mode");
  const chatter = new Chatter(nvim);
  await chatter.say(100);
  return chatter;
}

t.test(
  "a terminal that the user has left follows its output, whatever keys the user left with",
  async (t) => {
    const chatter = await start(t);
    const { nvim } = chatter;
    for (const keys of [
      "<F5>",
      "<C-\\><C-n><C-w>p",
      "<C-\\><C-n>:wincmd p<CR>",
      "<C-\\><C-n>kkk<C-w>p",
      "<C-\\><C-n>:bot 20new<CR>",
    ]) {
      await nvim.input(keys);
      await nvim.waitFor("vim.bo.buftype == ''", "the file");
      await chatter.follows(t, keys);
      await nvim.input("<C-w>p");
      await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "terminal mode");
    }
  },
);

t.test("in Normal mode, a terminal follows its output until the user moves", async (t) => {
  const chatter = await start(t);
  const { nvim } = chatter;
  await nvim.input("<C-\\><C-n>");
  await chatter.follows(t, "the cursor is where Terminal mode left it");
  await chatter.follows(t, "and again");
  await nvim.input("i<C-\\><C-n>:echo 1");
  await chatter.say(30);
  await nvim.input("<CR>");
  await chatter.follows(t, "after a command line");
  await nvim.input("i<C-\\><C-n>");
  await nvim.lua("_G.below = vim.api.nvim_open_win(0, false, { split = 'below', win = -1, height = 20 })");
  await nvim.lua("vim.api.nvim_win_set_buf(below, vim.fn.bufnr('a.txt'))");
  await chatter.follows(t, "in a window that became smaller");
  await nvim.lua("vim.api.nvim_win_close(below, true)");
  for (const keys of ["kk", "30k", "100Gzt"]) {
    await nvim.input(keys);
    await chatter.stays(t, keys);
    await nvim.input("G");
    await chatter.follows(t, `back after ${keys}`);
  }
  await nvim.input("i");
  await nvim.input("<C-\\><C-n>V");
  await chatter.stays(t, "while something is selected");
});

t.test(
  "a terminal that the user has scrolled back does not move until the user returns to the end",
  async (t) => {
    const chatter = await start(t);
    const { nvim } = chatter;
    await nvim.input("<C-\\><C-n>50Gzt<C-w>p");
    await chatter.stays(t, "scrolled back");
    await nvim.input("<C-w>pG<C-w>p");
    await nvim.waitFor("vim.bo.buftype == ''", "the file");
    await chatter.follows(t, "from the bottom");

    const wheel = (direction: string, times: number) =>
      nvim.lua(
        "for _ = 1, select(2, ...) do vim.api.nvim_input_mouse('wheel', ..., '', 0, 5, 120) end",
        direction,
        times,
      );
    await nvim.lua("vim.o.mouse = 'a'");
    await wheel("up", 4);
    await nvim.waitFor(async () => (await chatter.windows()).every(({ ended }) => !ended), "it to scroll");
    await chatter.stays(t, "the wheel over another window");
    await wheel("down", 60);
    await nvim.waitFor(async () => (await chatter.windows()).every(({ ended }) => ended), "it to scroll");
    await chatter.follows(t, "the wheel back to the bottom");
  },
);

t.test("all windows of a terminal in all tab pages follow the output", async (t) => {
  const chatter = await start(t);
  const { nvim } = chatter;
  await nvim.input("<C-\\><C-n>");
  await nvim.command("wincmd p | split");
  await nvim.lua("vim.api.nvim_win_set_buf(0, require('gemini-bridge.terminal.terminals').last().buf)");
  await nvim.command("tab split");
  await nvim.command("tabnew");
  await chatter.follows(t, "three windows");
  t.equal((await chatter.windows()).length, 3);
  await nvim.command("2tabclose | tabfirst | close");

  for (const change of [
    "botright 20new",
    "close",
    "leftabove 100vnew",
    "close",
    "set lines=30",
    "set lines=50",
  ]) {
    await nvim.command(change);
    await nvim.waitFor(async () => (await chatter.windows()).every(({ ended }) => ended), change);
    await chatter.follows(t, change);
  }
});

t.test("a terminal that was hidden follows its output when it is shown again", async (t) => {
  const chatter = await start(t);
  const { nvim } = chatter;
  for (const focus of [false, true]) {
    await nvim.command("Gemini");
    t.equal((await chatter.windows()).length, 0, "hidden");
    await chatter.say(60);
    await nvim.lua("require('gemini-bridge').terminal({ focus = ... })", focus);
    await nvim.waitFor(async () => (await chatter.windows())[0]?.ended, "it to show the end");
    await chatter.follows(t, `shown ${focus ? "with" : "without"} the focus`);
    if (!focus) await nvim.command("Gemini");
  }
});

t.test(
  "a terminal follows its output at the end of the scrollback, with few function calls for a burst of output",
  async (t) => {
    const chatter = await start(t);
    const { nvim } = chatter;
    await nvim.lua("vim.bo.scrollback = 100");
    await chatter.say(200);
    await nvim.input("<C-\\><C-n>");
    await chatter.follows(t, "in Normal mode");
    await nvim.input("<C-w>p");
    await nvim.lua(`
    local schedule = vim.schedule
    _G.scheduled = 0
    vim.schedule = function(run)
      scheduled = scheduled + 1
      schedule(run)
    end`);
    await chatter.say(3000);
    t.ok((await chatter.windows()).every(({ ended }) => ended));
    const scheduled = Number(await nvim.lua("return scheduled"));
    t.ok(scheduled > 0 && scheduled < 600, `${scheduled} for 3000 lines`);
  },
);
