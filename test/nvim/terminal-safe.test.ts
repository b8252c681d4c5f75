import t from "tap";
import { layout, shows, startOver, startWithAgent } from "../support/agent.ts";
import type { Nvim } from "../support/nvim.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);

const count = (nvim: Nvim) => nvim.lua("return #require('gemini-bridge.terminal.terminals').list()");
const terminalBuffers = (nvim: Nvim) =>
  nvim.lua(
    "return #vim.tbl_filter(function(buf) return vim.bo[buf].buftype == 'terminal' or not vim.bo[buf].modifiable end, vim.api.nvim_list_bufs())",
  );

/** A Neovim for the cases that change no options of Neovim. The other cases start their own Neovims. */
const nvim = await startWithAgent(t, "", { files: { "b.txt": "b\n" } });

t.test(
  "a terminal opened from the command-line window appears when the command-line window closes",
  async (t) => {
    await startOver(nvim);
    await nvim.input("q:");
    await nvim.waitFor("vim.fn.getcmdwintype() ~= ''", "the command-line window");
    await nvim.command("Gemini");
    t.equal(await count(nvim), 0);
    await nvim.input(":close<CR>");
    await nvim.waitFor("require('gemini-bridge.terminal.terminals').last() ~= nil", "the terminal");
    await shows(nvim, /child/);
    t.match(await layout(nvim), { windows: { length: 2 }, current: "gemini" });
    t.notMatch(await nvim.messages(), /E\d+:/);
  },
);

t.test("a terminal opened from an <expr> mapping appears when the mapping has ended", async (t) => {
  await startOver(nvim);
  await nvim.lua(`vim.keymap.set('n', '<F5>', function() vim.cmd.Gemini() return '' end, { expr = true })`);
  await nvim.input("<F5>");
  await nvim.waitFor("require('gemini-bridge.terminal.terminals').last() ~= nil", "the terminal");
  await shows(nvim, /child/);
  t.match(await layout(nvim), { windows: { length: 2 }, current: "gemini" });
  t.notMatch(await nvim.messages(), /E\d+:/);
});

t.test(
  "a terminal without room for a window leaves nothing behind, and a message reports the problem",
  async (t) => {
    const nvim = await startWithAgent(t, "position = 'top'");
    await nvim.command("set winheight=20 winminheight=20 lines=24");
    await nvim.command("Gemini");
    t.match(await nvim.messages(), /No window can be opened for sh: E36/);
    t.equal(await count(nvim), 0);
    t.equal(await terminalBuffers(nvim), 0);
    t.match(await layout(nvim), { windows: { length: 1 } });
  },
);

t.test("a window with 'winfixbuf' keeps its buffer when terminals open", async (t) => {
  const nvim = await startWithAgent(t, "", { args: ["a.txt"] });
  await nvim.command("setlocal winfixbuf");
  await nvim.command("autocmd FileType gemini_terminal setlocal winfixbuf");
  await nvim.command("Gemini");
  await shows(nvim, /child/);
  await nvim.command("Gemini!");
  await shows(nvim, /child/, "gemini-2");
  t.match(await layout(nvim), { windows: { length: 3 }, current: "gemini-2" }, "the second has its own");
  t.equal(await nvim.lua("return vim.fn.bufwinid('a.txt') > 0"), true);
  await nvim.command("only");
  await nvim.command("Gemini");
  t.equal(await nvim.lua("return vim.fn.expand('%:t')"), "a.txt", "the last window is given up");
});

t.test("hiding a terminal in the only window shows the previous file, without a new buffer", async (t) => {
  await startOver(nvim);
  await nvim.command("edit a.txt | edit b.txt");
  await nvim.command("Gemini");
  await shows(nvim, /child/);
  const buffers = () => nvim.lua("return vim.tbl_map(vim.api.nvim_buf_get_name, vim.api.nvim_list_bufs())");
  const before = await buffers();
  for (let round = 0; round < 10; round++) {
    await nvim.command("only");
    await nvim.command("Gemini");
    t.equal(await nvim.lua("return vim.fn.expand('%:t')"), "b.txt");
    t.notOk(
      await nvim.lua("return vim.wo.winfixwidth or vim.w.gemini_terminal"),
      "as a window for files should be",
    );
    await nvim.command("Gemini");
  }
  t.same(await buffers(), before);

  await nvim.command("only");
  await nvim.command("bwipeout a.txt b.txt");
  for (let round = 0; round < 10; round++) {
    await nvim.command("Gemini");
    t.notOk((await layout(nvim)).current, "without files an empty one");
    await nvim.command("Gemini");
    await nvim.command("only");
  }
  t.equal(Number(await nvim.lua("return #vim.api.nvim_list_bufs()")), 2);
});

t.test("Terminal mode starts only in a terminal that the user has entered", async (t) => {
  const nvim = await startWithAgent(t, "", { args: ["a.txt"] });
  await nvim.command("Gemini");
  await shows(nvim, /child/);
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "Terminal mode");
  await nvim.lua("_G.cli = vim.api.nvim_get_current_win()");
  const pass = async (how: string) => {
    await nvim.input("<C-\\><C-n><C-w>p");
    await nvim.lua(
      `local focus = require('gemini-bridge.editor.focus_and_mode')
       local here = vim.api.nvim_get_current_win()
       local function enter() vim.api.nvim_set_current_win(cli) end
       local function back() vim.api.nvim_set_current_win(here) end
       local function moving(act) local end_move = focus.begin_move() act() end_move() end
       ${how}`,
    );
    await nvim.input(""); // so that scheduled functions run
    return nvim.lua("return { vim.api.nvim_get_current_win() == cli, vim.api.nvim_get_mode().mode }");
  };
  t.same(await pass("moving(enter)"), [true, "nt"], "the plugin leads there");
  t.same(
    await pass("enter() moving(function() vim.wait(50) end)"),
    [true, "nt"],
    "the plugin is at work when it would begin",
  );
  t.same(await pass("moving(function() enter() back() end)"), [false, "n"], "and away");
  t.same(await pass("enter()"), [true, "t"], "the user goes there");
});

const WAITS = `vim.keymap.set('n', '<F2>', function() vim.fn.getcharstr() return '' end, { expr = true })`;

for (const [moment, enter, leave] of [
  ["text lock", "<F2>", "x"],
  ["the command-line window", "q:", ":q<CR>"],
] as const) {
  t.test(`${moment}: the terminal's window closes later if the CLI ends now`, async (t) => {
    await startOver(nvim, "cmd = { 'sh', '-c', 'read line' }");
    await nvim.lua(WAITS);
    await nvim.command("Gemini");
    await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "Terminal mode");
    await nvim.lua("channel = vim.bo.channel");
    await nvim.input(`<C-\\><C-n><C-w>p${enter}`);
    await nvim.lua("vim.fn.chansend(channel, '\\r')");
    await nvim.waitFor(async () => (await count(nvim)) === 0, "the end of the CLI");
    await nvim.lua("vim.wait(20)"); // so that scheduled functions run
    await nvim.input(leave);
    await nvim.waitFor("#vim.api.nvim_list_wins() == 1", "the window to close");
    t.notMatch(await nvim.messages(), /E\d+:|stack traceback/);
  });
}
