/**
 * Tests the list function of each picker. The plugins are not installed here. Stand-ins have the functions and fields
 * that this plugin uses, as in the sources of snacks.nvim (`Snacks.picker.pick`, `preview:reset`, `set_lines`,
 * `highlight`, `confirm(picker, item)`), telescope.nvim (developers.md: `pickers.new`, `finders.new_table`,
 * `new_buffer_previewer`, `select_default:replace`) and fzf-lua (`fzf_exec` with `preview` and `actions.enter`, which
 * get the selected rows).
 */
import t from "tap";
import { z } from "zod";
import { startPage } from "../support/page.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);

/** Stand-ins for pickers. Each records the rows in _G.rows, and defines _G.preview(row) and _G.choose(row). */
const STAND_INS = {
  snacks: `package.preload['snacks'] = function()
    return { config = { picker = { enabled = true } }, picker = { pick = function(options)
      assert(options.format == 'text')
      _G.rows = vim.tbl_map(function(item) return item.text end, options.items)
      _G.preview = function(row)
        local preview = { reset = function() end, highlight = function(_, opts) assert(opts.ft) end }
        function preview:set_lines(lines) self.lines = lines end
        options.preview({ preview = preview, item = options.items[row] })
        return preview.lines
      end
      _G.choose = function(row) options.confirm({ close = function() _G.closed = true end }, options.items[row]) end
    end } }
  end`,
  telescope: `
    package.preload['telescope'] = function() return {} end
    package.preload['telescope.config'] = function() return { values = { generic_sorter = function() return 'sorter' end } } end
    package.preload['telescope.finders'] = function() return { new_table = function(options) return options end } end
    package.preload['telescope.previewers'] = function() return { new_buffer_previewer = function(options) return options end } end
    package.preload['telescope.actions'] = function()
      return { close = function() _G.closed = true end, select_default = { replace = function(_, act) _G.act = act end } }
    end
    package.preload['telescope.actions.state'] = function() return { get_selected_entry = function() return _G.entry end } end
    package.preload['telescope.pickers'] = function() return { new = function(_, options) return { find = function()
      assert(options.sorter == 'sorter' and options.attach_mappings(1) == true)
      local entries = vim.tbl_map(options.finder.entry_maker, options.finder.results)
      _G.rows = vim.tbl_map(function(entry) return assert(entry.display == entry.ordinal) and entry.display end, entries)
      _G.preview = function(row)
        local buf = vim.api.nvim_create_buf(false, true)
        options.previewer.define_preview({ state = { bufnr = buf } }, entries[row])
        return vim.api.nvim_buf_get_lines(buf, 0, -1, true)
      end
      _G.choose = function(row) _G.entry = entries[row] _G.act() end
    end } end } end`,
  fzf: `package.preload['fzf-lua'] = function() return { fzf_exec = function(rows, options)
      _G.rows = vim.tbl_map(function(row) return (row:gsub('^%d+\\t', '')) end, rows)
      _G.preview = function(row) return vim.split(options.preview({ rows[row] }), '\\n') end
      _G.choose = function(row) options.actions.enter({ rows[row] }) end
    end } end`,
  select: `vim.ui.select = function(items, options, choose)
      assert(options.kind == 'gemini-bridge')
      _G.rows = vim.tbl_map(options.format_item, items)
      _G.preview = function(row)
        return vim.api.nvim_buf_get_lines(options.preview_item(items[row]).buf, 0, -1, true)
      end
      _G.choose = function(row) choose(items[row]) end
    end`,
};

const Lines = z.array(z.string());

for (const [picker, standIn] of Object.entries(STAND_INS))
  t.test(`${picker} shows changes, the history and past prompts`, async (t) => {
    const page = await startPage(t, {
      files: { "a.txt": "1\n2\n3\n4\n5\n6\n", "b.txt": "b\n" },
      args: ["b.txt"],
      init: standIn,
    });
    const { nvim, agent } = page;
    const pick = async (list: string) => {
      await nvim.lua(`_G.rows = nil require('gemini-bridge').pick('${list}')`);
      return Lines.parse(await nvim.lua("return _G.rows or {}"));
    };
    const preview = async (row: number) => Lines.parse(await nvim.lua(`return _G.preview(${row})`));
    t.same(await pick("changes"), [], "nothing is shown without changes");
    await nvim.says(/No unreviewed changes/);

    await agent.prompt("count\nhigher");
    await agent.write("b.txt", undefined);
    await agent.write("a.txt", "1\n2\n3\n4\nfive\n6\n");
    await page.changed(2);
    t.same(await pick("changes"), [
      "b.txt  +0 -1  gemini: count higher",
      "a.txt  +1 -1  gemini: count higher",
    ]);
    t.same(await preview(1), ["deleted by gemini, +0 -1", "@@ line 1: +0 -1 @@"]);
    const hunk = ["@@ line 5: +1 -1 @@", " 2", " 3", " 4", "+five", " 6", " "];
    t.same(await preview(2), ["modified by gemini, +1 -1", ...hunk]);
    await nvim.lua("_G.choose(2)");
    await page.is(t, "page:2", "*a.txt:5");
    await nvim.input("q");
    await page.is(t, "*b.txt:1");

    const [first] = await pick("history");
    t.match(first, /^\d\d:\d\d:\d\d {2}changed {3}a\.txt {2}gemini: count higher$/);
    t.match(await preview(1), [/^a\.txt, changed by gemini at [\d:]{8}$/, "", "count higher"]);
    await nvim.lua("_G.choose(2)");
    await page.is(t, "*page:3", "b.txt HH:MM:SS:1");
    await nvim.input("q");
    await page.is(t, "*b.txt:1");

    await nvim.lua("require('gemini-bridge.prompt.history').add('two\\nlines')");
    await nvim.command("GeminiPrompt!");
    t.match(await nvim.lua("return _G.rows"), [/^\d\d \w{3} \d\d:\d\d {2}two lines$/]);
    t.same(await preview(1), ["two", "lines"]);
    await nvim.lua("_G.choose(1)");
    await nvim.waitFor("vim.api.nvim_buf_get_lines(0, 0, -1, true)[2] == 'lines'", "the prompt");
    t.notMatch(await nvim.messages(), /E\d+:/);
  });

t.test("an unknown list, an unknown picker, and a disabled picker of snacks.nvim are refused", async (t) => {
  const page = await startPage(t, { init: `${STAND_INS.snacks} ${STAND_INS.fzf}` });
  const { nvim, agent } = page;
  await agent.write("a.txt", "1\n");
  await page.changed(1);
  const picks = async (code: string, sentence: RegExp) => {
    await nvim.lua(`require('gemini-bridge').pick(${code})`);
    await nvim.says(sentence);
  };
  await picks("'todo'", /Unknown list 'todo'\. Known: changes, history, prompts\./);
  await picks(
    "'changes', { picker = 'x' }",
    /Unknown picker 'x'\. Known: auto, snacks, telescope, fzf, select\./,
  );
  await picks("'changes', { picker = 'telescope' }", /telescope is not installed: install it/);
  await nvim.lua("require('snacks').config.picker.enabled = nil require('snacks').picker = nil");
  await nvim.lua("require('gemini-bridge').pick('changes')");
  t.equal(await nvim.lua("return #_G.rows"), 1, "fzf-lua is used");
  await nvim.lua("_G.choose(1)");
  await page.is(t, "page:2", "*a.txt:1");
});
