import t from "tap";
import { layout, shows, startOver, startWithAgent } from "../support/agent.ts";

/** A Neovim for all cases of this file, one after the other. */
const nvim = await startWithAgent(t);

const places: [position: string, expected: object][] = [
  ["position = 'left', size = 50", { column: 0, width: 50, float: false }],
  ["position = 'top', size = 0.5", { row: 0, height: 25, width: 160, float: false }],
  ["position = 'bottom'", { height: 15, width: 160, float: false }],
  ["position = 'float'", { width: 128, height: 38, float: true }],
];
for (const [options, expected] of places) {
  t.test(`with ${options}, the terminal opens at that position and can be hidden`, async (t) => {
    await startOver(nvim, options);
    await nvim.command("Gemini");
    await shows(nvim, /child/);
    const { windows } = await layout(nvim);
    t.match(
      windows.find(({ terminal }) => terminal),
      expected,
    );
    t.equal(windows.length, 2);
    await nvim.command("Gemini");
    t.equal((await layout(nvim)).windows.length, 1);
  });
}

t.test("with position = 'tab', the terminal opens in a tab page", async (t) => {
  await startOver(nvim, "position = 'tab'");
  await nvim.command("edit a.txt");
  await nvim.command("Gemini");
  await shows(nvim, /child/);
  t.same(await nvim.lua("return { vim.fn.tabpagenr('$'), vim.fn.winnr('$'), vim.b.gemini_terminal }"), [
    2,
    1,
    "gemini",
  ]);
  await nvim.command("tabprevious");
  await nvim.command("Gemini");
  t.same(await nvim.lua("return { vim.fn.tabpagenr('$'), vim.fn.tabpagenr() }"), [2, 2], "goes to its tab");
  await nvim.command("Gemini");
  t.same(await nvim.lua("return { vim.fn.tabpagenr('$'), vim.fn.expand('%:t') }"), [1, "a.txt"]);
});

t.test(":Gemini hides the terminal in the current tab page only", async (t) => {
  await startOver(nvim);
  await nvim.command("Gemini");
  await shows(nvim, /child/);
  await nvim.input("<C-\\><C-n>:tabnew<CR>:Gemini<CR>");
  t.match(await layout(nvim), { windows: { length: 2 }, current: "gemini" });
  await nvim.command("Gemini");
  t.match(await layout(nvim), { windows: { length: 1 } });
  await nvim.command("tabprevious");
  t.match(await layout(nvim), { windows: { length: 2 } });
});

t.test("hiding a terminal in the only window shows another buffer there", async (t) => {
  await startOver(nvim);
  await nvim.command("Gemini");
  await shows(nvim, /child/);
  await nvim.command("only");
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "Terminal mode");
  await nvim.command("Gemini");
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 'n'", "Terminal mode to end");
  t.match(await layout(nvim), { windows: [{}], mode: "n" });
  t.notOk((await layout(nvim)).current);
});

t.test("opening terminals does not change global options", async (t) => {
  await startOver(nvim);
  const options = `local all = {}
    for name, info in pairs(vim.api.nvim_get_all_options_info()) do
      local known, value = pcall(vim.api.nvim_get_option_value, name, { scope = 'global' })
      if known and info.scope ~= 'buf' then all[name] = value end
    end
    return all`;
  const before = await nvim.lua(options);
  await nvim.command("Gemini");
  await shows(nvim, /child/);
  await nvim.command("Gemini");
  await nvim.command("Gemini");
  t.same(await nvim.lua(options), before);
});
