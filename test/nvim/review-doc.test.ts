import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { z } from "zod";
import { root } from "../support/nvim.ts";
import { shareNvim } from "../support/reset.ts";
import { startReviewer } from "../support/review.ts";

shareNvim(t);

const FILE = 'def greet(name):\n    print("Hello " + name)\n\n\ngreet("you")\n';
const PROPOSED = 'def greet(name: str) -> None:\n    print(f"Hello {name}")\n\n\ngreet("you")\ngreet("me")\n';

const SCENE = `
vim.o.columns, vim.o.lines = 74, 17
vim.o.statusline, vim.o.laststatus, vim.o.showtabline = ' %t', 2, 1
vim.o.tabline = '%{%v:lua.Tabs()%}'
function _G.Tabs()
  return table.concat(vim.tbl_map(function(tab)
    return (tab == vim.fn.tabpagenr() and ' [%d] ' or '  %d  '):format(tab)
  end, vim.fn.range(1, vim.fn.tabpagenr('$'))))
end
vim.cmd.edit('greet.py')
local terminal = vim.api.nvim_create_buf(true, false)
vim.api.nvim_buf_set_name(terminal, 'gemini')
vim.bo[terminal].buftype = 'nofile'
vim.api.nvim_buf_set_lines(terminal, 0, -1, true, { ' Apply this change?', ' > Yes, allow once', '   No (esc)' })
vim.api.nvim_open_win(terminal, true, { split = 'below', win = -1, height = 4 })`;

const SCREEN = `
vim.cmd('redraw!')
local lines = {}
for row = 1, vim.o.lines - 1 do
  local line = ''
  for column = 1, vim.o.columns do line = line .. vim.fn.screenstring(row, column) end
  lines[row] = (line:gsub('%s+$', ''))
end
return lines`;

for (const layout of ["vertical", "horizontal", "inline", "tab"]) {
  t.test(`the help shows what layout = "${layout}" looks like`, async (t) => {
    const init = `require('gemini-bridge').setup({ diff = { layout = '${layout}' } })`;
    const { reviewer } = await startReviewer(t, { files: { "greet.py": FILE }, init });
    await reviewer.nvim.lua(SCENE);
    await reviewer.open(reviewer.nvim.path("greet.py"), PROPOSED);
    if (layout === "tab") await reviewer.nvim.command("tabnext");
    const screen = z.array(z.string()).parse(await reviewer.nvim.lua(SCREEN));
    const shown = screen.map((line) => (line === "" ? "" : `    ${line}`)).join("\n");
    const help = readFileSync(join(root, "doc/gemini-bridge.txt"), "utf8");
    t.ok(help.includes(`\n${shown}\n`), `doc/gemini-bridge.txt should hold:\n${shown}`);
  });
}
