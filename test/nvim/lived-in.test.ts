/** Tests one scene each of review, terminal, page and prompt beside other plugins. All scenes share one Neovim. */
import { readFileSync, writeFileSync } from "node:fs";
import t, { type Test } from "tap";
import { shows } from "../support/agent.ts";
import { ATTACHED } from "../support/attached.ts";
import { AGENT, receives } from "../support/echo.ts";
import { LIVED_IN } from "../support/lived-in.ts";
import { startPage } from "../support/page.ts";

/** A program named `gemini`, which offers the extension, and an agent that stores what it receives. */
const PROGRAMS = `
for _, name in ipairs({ 'bin/gemini', 'agent.sh' }) do vim.uv.fs_chmod(name, 448) end
vim.env.PATH = vim.fn.getcwd() .. '/bin:' .. vim.env.PATH
vim.o.swapfile = false`;

const page = await startPage(t, {
  files: {
    "a.lua": "return 1\n",
    "b.lua": "return 1\n",
    "c.lua": "return 1\n",
    "agent.sh": AGENT,
    "bin/gemini": `#!/bin/sh\n${ATTACHED}\necho ready\nexec cat\n`,
  },
  args: ["a.lua"],
  tui: { columns: 160, lines: 50 },
  init: `${PROGRAMS}\n${LIVED_IN}`,
});
const { nvim, agent, bridge, read } = page;

/** Lua that returns all that the user would notice afterwards, except sizes, which the resizer changes. */
const LEFT = `return {
  tree = vim.inspect(vim.fn.winlayout()), win = vim.api.nvim_get_current_win(), mode = vim.api.nvim_get_mode().mode,
  tabs = vim.fn.tabpagenr('$'), explorer = vim.api.nvim_win_get_width(vim.fn.win_getid(1)),
  windows = vim.tbl_map(function(win)
    return { vim.fn.bufname(vim.api.nvim_win_get_buf(win)), vim.wo[win].winbar, vim.wo[win].diff }
  end, vim.api.nvim_list_wins()),
}`;
const left = () => nvim.lua(LEFT);

/** Winbar of the current window, after the timer of the status line has drawn it again. */
async function winbar(): Promise<unknown> {
  const seconds = Number(await nvim.lua("return _G.seconds"));
  await nvim.waitFor(`_G.seconds > ${seconds}`, "the status line to be drawn again");
  return nvim.lua("return vim.wo.winbar");
}

/** Closes the picker, which does not call back. */
async function closePicker(question: RegExp): Promise<void> {
  await nvim.waitFor("vim.api.nvim_win_get_config(0).relative ~= ''", "the picker");
  await nvim.waitFor(
    async () => question.test(String(await nvim.lua("return _G.questions[#_G.questions]"))),
    `${question}`,
  );
  await nvim.input("q");
}

/** Opens the terminal, and waits for Terminal mode. */
async function openTerminal(answer?: () => Promise<void>): Promise<void> {
  await nvim.input(":Gemini<CR>");
  await answer?.();
  await nvim.waitFor("vim.b.gemini_terminal and vim.api.nvim_get_mode().mode == 't'", "the terminal");
}

/** Saves the session, and returns its text. */
async function session(): Promise<string> {
  await nvim.command("SessionSave");
  return readFileSync(String(await nvim.lua("return _G.session")), "utf8");
}

/** Moves the focus to a window with a file. */
const focus = (name: string) => nvim.lua("vim.fn.win_gotoid(vim.fn.bufwinid(...))", name);

/** Checks that everything is as before a scene, that nothing has failed, and what the language server has seen. */
async function checkAfter(t: Test, before: unknown): Promise<void> {
  await winbar();
  t.same(await left(), before, "windows, winbars, focus and mode are as before");
  // E1568: on a busy machine, the terminal answers later than Neovim expects at its start.
  t.notMatch(await nvim.messages(), /(?!E1568)E\d+:|traceback|Error/, "no error");
  t.notMatch(await nvim.lua("return table.concat(_G.seen_by_server, ' ')"), /gemini/, "files of the user");
  await nvim.command("messages clear");
}

t.test("reviews beside other plugins are edited, decided in turn, and leave no trace", async (t) => {
  const client = await bridge.client();
  const before = await left();
  for (const name of ["a.lua", "b.lua", "c.lua"]) await client.openDiff(nvim.path(name), "return 2\n");
  await nvim.waitFor("#require('gemini-bridge').diffs() == 3", "the reviews");
  t.equal(await nvim.lua("return vim.fn.expand('%:t')"), "a.lua", "the focus stays");

  await nvim.input("<C-w>t:GeminiReject<CR>");
  await closePicker(/Proposal/);
  await focus("a.lua");
  await nvim.input(":GeminiReview a.lua<CR>");
  await nvim.waitFor("vim.b.gemini_diff ~= nil", "the focus in the proposal");
  await nvim.input("<C-d>zt");
  await nvim.waitFor("_G.steps_to_scroll == 0", "the end of the smooth scroll");
  await nvim.input("omine");
  await nvim.waitFor("_G.completions > 0", "the completion engine");
  await nvim.input("<CR>again  <Esc>");
  t.match(await winbar(), /Proposal for a\.lua/);
  t.same(
    [client.received["ide/diffAccepted"], client.received["ide/diffRejected"]],
    [[], []],
    "neither auto-save nor the closed picker decides anything",
  );
  await nvim.input(":w<CR>");
  const { content } = await client.waitForNotification("ide/diffAccepted");
  t.equal(content, "return 2\nmine\nagain  \n", "a proposal is not formatted");
  writeFileSync(nvim.path("a.lua"), content);
  await nvim.waitFor(
    "(vim.b.gemini_diff or {}).filePath == vim.fn.fnamemodify('b.lua', ':p')",
    "the next proposal",
  );
  t.equal(await nvim.lua("return vim.api.nvim_get_mode().mode"), "n");
  await nvim.input(":q<CR>");
  await client.waitForNotification("ide/diffRejected");
  await nvim.waitFor(
    "(vim.b.gemini_diff or {}).filePath == vim.fn.fnamemodify('c.lua', ':p')",
    "the last proposal",
  );
  await nvim.command("GeminiAccept");
  await client.waitForNotification("ide/diffAccepted", ({ filePath }) => filePath === nvim.path("c.lua"));
  writeFileSync(nvim.path("c.lua"), "return 2\n");
  await nvim.waitFor("#require('gemini-bridge').diffs() == 0", "the end of the reviews");
  await checkAfter(t, before);
  await nvim.waitFor("vim.fn.getline(3) == 'again  '", "the accepted text");
  await nvim.input("Gox  <Esc>");
  await nvim.waitFor(() => read("a.lua") === "return 2\nmine\nagain\nx\n", "auto-save and format on save");
  await client.close();
});

t.test(
  "a terminal opens although a picker does not call back, and a session does not run it again",
  async (t) => {
    const before = await left();
    await openTerminal(() => closePicker(/extension/));
    await shows(nvim, /ready/);
    await nvim.input("<C-\\><C-n>:Gemini<CR>");
    await nvim.waitFor("vim.fn.winnr('$') == 2", "the terminal to be hidden");
    await checkAfter(t, before);
    t.notMatch(await session(), /gemini/, "the hidden terminal is not in the session");
    await openTerminal();
    await nvim.input("<C-\\><C-n>");
    t.notMatch(await session(), /term:\/\//, "nothing that Neovim would run");
    await nvim.command("bwipeout!");
  },
);

t.test("the page decides on changes, its keys and winbars hold, and the user's come back", async (t) => {
  const map = "vim.fn.maparg(']h', 'n', false, true).desc";
  await nvim.command("edit! a.lua");
  await nvim.waitFor(`${map} == 'of git signs'`, "the keys of git signs");
  const before = await left();
  await agent.prompt("task");
  await agent.write("b.lua", "return 3\n");
  await agent.write("c.lua", "return 4\n");
  await page.changed(2);
  await nvim.input(":GeminiChanges<CR>");
  await page.is(t, "*page:2", "b.lua:1");
  t.match(await winbar(), / Changes 0\/2 /);
  await focus("b.lua");
  await winbar();
  await nvim.input("]h");
  t.equal(await nvim.lua("return _G.git_hunks"), null, "the key of the page");
  await page.is(t, "page:3", "*c.lua:1");
  await focus("gemini-page://changes");
  await nvim.input("s");
  await page.changed(1);
  await nvim.input("x");
  await page.changed(0);
  t.equal(read("b.lua"), "return 1\n");
  await nvim.input("u");
  await page.changed(1);
  await nvim.input("x");
  await page.changed(0);
  await nvim.input("q");
  await nvim.waitFor("vim.fn.tabpagenr('$') == 1", "the end of the page");
  await checkAfter(t, before);
  for (const name of ["b.lua", "c.lua"]) {
    await nvim.command(`edit ${name}`);
    await nvim.waitFor(`${map} == 'of git signs'`, "the keys of git signs");
  }
  await nvim.input("]h");
  t.equal(await nvim.lua("return _G.git_hunks"), 1, "the key of git signs");
  t.same([read("b.lua"), read("c.lua")], ["return 1\n", "return 4\n"]);
  await nvim.command("edit a.lua");
});

t.test("a prompt is sent once, only by its user, and the focus stays", async (t) => {
  await nvim.lua(`require('gemini-bridge').setup({
    extension = false, terminal = { cmd = { 'sh', vim.fn.getcwd() .. '/agent.sh' } } })`);
  const before = await left();
  await nvim.input(":GeminiPrompt<CR>");
  await nvim.waitFor("vim.fn.bufname() == 'gemini-bridge://prompt'", "the buffer of the prompt");
  await nvim.input("iexplain  <CR>this<Esc>");
  await nvim.input("Aword<Esc>");
  t.equal(await nvim.lua("return vim.fn.bufnr('gemini-terminal')"), -1, "auto-save sends nothing");
  await nvim.input(":wq<CR>");
  await receives(nvim, "<explain  \nthisword >\r");
  t.equal(await nvim.lua("return vim.fn.expand('%:t')"), "a.lua", "the focus is back");
  await nvim.input(":1GeminiSend! why?<CR>");
  await receives(nvim, "<@a.lua (line 1) why? >\r");
  t.equal(await nvim.lua("return vim.fn.expand('%:t')"), "a.lua");
  await openTerminal();
  await nvim.input("<C-\\><C-n>:Gemini<CR>");
  await checkAfter(t, before);
});
