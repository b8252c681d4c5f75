import t from "tap";
import { z } from "zod";
import { startContext } from "../support/context.ts";

/**
 * Keys, the text in which the keys are typed, and the expected highlighted text. `yank` is the result of `y` if the
 * result differs: in a block, `y` pads a character at the edge with blanks.
 */
interface Row {
  lines: string[];
  keys: string;
  selected: string | undefined;
  options?: string;
  yank?: string;
}

const plain = ["one two", "", "three four", "end"];
const wide = ["日本語", "äöü€", "x𝄞y🙂z", "abcdef"];
const marks = ["e\u0301a\u0308o", "n\u0303n"];
const tabs = ["abcdefghijkl", "a\tb\tc", "\tx", "abcdefghijkl"];
const ragged = ["abcdef", "ab", "", "abcdefgh  "];
const exclusive = "selection=exclusive";
const old = "selection=old";
const virtual = "virtualedit=all";
const folded = ["1", "22", "333", "4444", "5"];

const rows: Row[] = [
  // Characterwise, forwards.
  { lines: plain, keys: "v", selected: "o" },
  { lines: plain, keys: "ve", selected: "one" },
  { lines: plain, keys: "wvl", selected: "tw" },
  { lines: plain, keys: "v$", selected: "one two" },
  { lines: plain, keys: "vj", selected: "one two\n" },
  { lines: plain, keys: "vjj", selected: "one two\n\nt" },
  { lines: plain, keys: "vG", selected: "one two\n\nthree four\ne" },
  { lines: plain, keys: "vG$", selected: "one two\n\nthree four\nend" },
  { lines: plain, keys: "wvjjl", selected: "two\n\nthree " },
  { lines: plain, keys: "v4l<Esc>ggv", selected: "t" },
  { lines: plain, keys: "viw", selected: "one" },
  { lines: plain, keys: "wv$", selected: "two" },
  // Characterwise, backwards and from both ends.
  { lines: plain, keys: "$vb", selected: "two" },
  { lines: plain, keys: "$v0", selected: "one two" },
  { lines: plain, keys: "Gvgg", selected: "one two\n\nthree four\ne" },
  { lines: plain, keys: "jjwvk", selected: "\nthree f" },
  { lines: plain, keys: "veo", selected: "one" },
  { lines: plain, keys: "G$vkk", selected: "\nthree four\nend" },
  // Characters of several bytes.
  { lines: wide, keys: "v", selected: "日" },
  { lines: wide, keys: "vl", selected: "日本" },
  { lines: wide, keys: "$vh", selected: "本語" },
  { lines: wide, keys: "jv2l", selected: "äöü" },
  { lines: wide, keys: "jj0v3l", selected: "x𝄞y🙂" },
  { lines: wide, keys: "jj0lv", selected: "𝄞" },
  { lines: wide, keys: "v2j", selected: "日本語\näöü€\nx" },
  { lines: marks, keys: "v", selected: "e\u0301" },
  { lines: marks, keys: "vl", selected: "e\u0301a\u0308" },
  { lines: marks, keys: "jv", selected: "n\u0303" },
  { lines: marks, keys: "$vh", selected: "a\u0308o" },
  // 'selection' is "exclusive".
  { lines: plain, keys: "vl", selected: "o", options: exclusive },
  { lines: plain, keys: "ve", selected: "one", options: exclusive },
  { lines: plain, keys: "v", selected: "o", options: exclusive },
  { lines: plain, keys: "v$", selected: "one two", options: exclusive },
  { lines: plain, keys: "vj", selected: "one two", options: exclusive },
  { lines: plain, keys: "vjj", selected: "one two\n", options: exclusive },
  { lines: plain, keys: "$v0", selected: "one tw", options: exclusive },
  { lines: wide, keys: "vll", selected: "日本", options: exclusive },
  { lines: wide, keys: "$v0", selected: "日本", options: exclusive },
  { lines: marks, keys: "vl", selected: "e\u0301", options: exclusive },
  { lines: plain, keys: "Vj", selected: "one two\n", options: exclusive },
  // 'selection' is "old".
  { lines: plain, keys: "vj", selected: "one two\n", options: old },
  { lines: plain, keys: "v$", selected: "one two", options: old },
  { lines: plain, keys: "Vjj", selected: "one two\n\nthree four", options: old },
  // Beyond the end of the line, with 'virtualedit'. The highlighted cells are blanks, also for `y`.
  { lines: plain, keys: "$vll", selected: "o  ", options: virtual },
  { lines: plain, keys: "$llvl", selected: "  ", options: virtual },
  { lines: plain, keys: "$vj", selected: "o\n       ", options: virtual },
  { lines: plain, keys: "wvjj", selected: "two\n\nthree", options: virtual },
  { lines: plain, keys: "Vj", selected: "one two\n", options: virtual },
  // Linewise.
  { lines: plain, keys: "V", selected: "one two" },
  { lines: plain, keys: "Vj", selected: "one two\n" },
  { lines: plain, keys: "Vjj", selected: "one two\n\nthree four" },
  { lines: plain, keys: "GVkk", selected: "\nthree four\nend" },
  { lines: plain, keys: "ggVG", selected: "one two\n\nthree four\nend" },
  { lines: wide, keys: "lVj", selected: "日本語\näöü€" },
  { lines: plain, keys: "vjjV", selected: "one two\n\nthree four" },
  // Blockwise.
  { lines: ragged, keys: "<C-v>l", selected: "ab" },
  { lines: ragged, keys: "<C-v>lj", selected: "ab\nab" },
  { lines: ragged, keys: "l<C-v>2lG", selected: "bcd\nb\n\nbcd" },
  { lines: ragged, keys: "3l<C-v>G", selected: "d\n\n\nd" },
  { lines: ragged, keys: "<C-v>$j", selected: "abcdef\nab" },
  { lines: ragged, keys: "ll<C-v>$3j", selected: "cdef\n\n\ncdefgh  " },
  { lines: ragged, keys: "G4l<C-v>ggh", selected: "de\n\n\nde" },
  { lines: ragged, keys: "G2l<C-v>2lgg", selected: "cde\n\n\ncde" },
  { lines: ragged, keys: "l<C-v>2lGo", selected: "bcd\nb\n\nbcd" },
  { lines: ragged, keys: "l<C-v>2lGO", selected: "bcd\nb\n\nbcd" },
  { lines: ragged, keys: "l<C-v>2l", selected: "bc", options: exclusive },
  { lines: ragged, keys: "l<C-v>2lj", selected: "b\nb", options: `${exclusive} virtualedit=` },
  { lines: ragged, keys: "l<C-v>3jll", selected: "bc\nb\n\nbc", options: exclusive },
  { lines: ragged, keys: "l<C-v>3l3j", selected: "bcde\nb\n\nbcde", options: "virtualedit=block" },
  { lines: ["abcdef", "ab"], keys: "j$<C-v>k3l", selected: "bcdef\nb", options: "virtualedit=block" },
  { lines: wide, keys: "<C-v>j", selected: "日\näö" },
  { lines: wide, keys: "G0<C-v>l3k", selected: "日\näö\nx𝄞\nab" },
  { lines: ["abcdef", "日本語", "abcdef"], keys: "l<C-v>ljj", selected: "bc\n日本\nbc", yank: "bc\n  \nbc" },
  { lines: marks, keys: "<C-v>lj", selected: "e\u0301a\u0308\nn\u0303n" },
  { lines: ["ae\u0301b", "abcd"], keys: "l<C-v>j", selected: "e\u0301\nb" },
  { lines: tabs, keys: "2l<C-v>3jl", selected: "cd\n  \n  \ncd" },
  { lines: tabs, keys: "6l<C-v>3j2l", selected: "ghi\n  b\n  x\nghi" },
  { lines: tabs, keys: "7l<C-v>3j2l", selected: "hij\n b \n x\nhij" },
  { lines: tabs, keys: "l<C-v>3j7l", selected: "bcdefghi\n\tb\n       x\nbcdefghi" },
  { lines: tabs, keys: "G7l<C-v>3k2h", selected: "fgh\n   \n   \nfgh" },
  { lines: tabs, keys: "<C-v>3j", selected: "a\na\n \na" },
  { lines: tabs, keys: "2l<C-v>3j3l", selected: "cdef\n  b \n  x\ncdef", options: "tabstop=4" },
  { lines: tabs, keys: "jl<C-v>", selected: "\t" },
  { lines: tabs, keys: "6l<C-v>3j2l", selected: "ghi\n  b\n  x\nghi", options: "virtualedit=block" },
  { lines: tabs, keys: "l<C-v>3j2l", selected: "bcd\n   \n   \nbcd", options: virtual },
  { lines: tabs, keys: "l<C-v>3j7l", selected: "bcdefghi\n\tb\n       x\nbcdefghi", options: virtual },
  { lines: tabs, keys: "4l<C-v>3j$", selected: "efghijkl\n    b\tc\n    x\nefghijkl" },
  { lines: ["\u0001bc", "abcd"], keys: "j0l<C-v>lk", selected: "\u0001b\nbc", yank: " b\nbc" },
  // Select mode.
  { lines: plain, keys: "gh<Right>", selected: "on" },
  { lines: plain, keys: "ve<C-g>", selected: "one" },
  { lines: plain, keys: "Vj<C-g>", selected: "one two\n" },
  { lines: plain, keys: "gH", selected: "one two" },
  { lines: ragged, keys: "<C-v>lj<C-g>", selected: "ab\nab" },
  { lines: plain, keys: "$gh<Left>", selected: "wo" },
  { lines: plain, keys: "gh<Right>", selected: "o", options: exclusive },
  { lines: wide, keys: "gh<Right>", selected: "日本" },
  // Neovim highlights closed folds completely.
  { lines: folded, keys: ":2,3fold<CR>ggVj", selected: "1\n22\n333" },
  { lines: folded, keys: ":2,3fold<CR>ggjV", selected: "22\n333" },
  { lines: folded, keys: ":2,3fold<CR>GVkk", selected: "22\n333\n4444\n5" },
  { lines: folded, keys: ":2,3fold<CR>ggvj", selected: "1\n22\n333" },
  { lines: folded, keys: ":2,3fold<CR>ggjv", selected: "22\n333" },
  { lines: folded, keys: ":2,3fold<CR>ggvjj", selected: "1\n22\n333\n4" },
  { lines: folded, keys: ":2,3fold<CR>jzoggVj", selected: "1\n22" },
  // Started from Insert mode with CTRL-O, or in a search pattern.
  { lines: plain, keys: "i<C-o>ve", selected: "one" },
  { lines: plain, keys: "v/fo<CR>", selected: "one two\n\nthree f" },
  { lines: plain, keys: "v/fou", selected: "o" },
  { lines: plain, keys: "ve:", selected: "one" },
  { lines: plain, keys: "Vj:normal", selected: "one two\n" },
  { lines: ragged, keys: "<C-v>$j:", selected: "abcdef\nab" },
  // No selection.
  { lines: plain, keys: "ve<Esc>", selected: undefined },
  { lines: plain, keys: "ve:<Esc>", selected: undefined },
  { lines: plain, keys: "vey", selected: undefined },
  { lines: plain, keys: "ghx", selected: undefined },
  { lines: plain, keys: "jv", selected: undefined },
];

/** Removes line breaks at the end of the text, and blanks at the ends of lines. For a block, `y` adds such blanks. */
const trim = (text: string) => text.replace(/\n+$/, "").replace(/ +$/gm, "");

t.test("the shared selection is exactly the highlighted text", async (t) => {
  const { host } = await startContext(t, { files: { "a.txt": "" }, args: ["a.txt"] });
  await host.subscribe({ debounce: 5 });
  const { nvim } = host;
  for (const { lines, keys, selected, options = "", yank } of rows) {
    await nvim.input("<C-\\><C-n><Esc>");
    await nvim.command("silent! normal! zE");
    await nvim.command(`set selection& virtualedit& tabstop& ${options}`);
    await nvim.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, ...)", lines);
    await nvim.input("ggl0x");
    await nvim.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, ...)", lines);
    await nvim.input("gg0");
    await host.until(t, () => host.active()?.selectedText, undefined, "no selection");
    const before = host.snapshots.length;
    await nvim.input(keys);
    await nvim.waitFor(() => host.snapshots.length > before, "a snapshot");
    const name = `${keys} ${options} over ${JSON.stringify(lines)}`;
    await host.until(t, () => host.active()?.selectedText, selected, name);
    const mode = String(await nvim.lua("return vim.fn.getcmdtype() .. vim.fn.mode()"));
    if (selected === undefined || !["v", "V", "\x16", "s", "S", "\x13"].includes(mode)) continue;
    if (["s", "S", "\x13"].includes(mode)) await nvim.input("<C-g>");
    await nvim.input("y");
    const register = z.string().parse(await nvim.lua("return vim.fn.getreg('\"')"));
    t.equal(trim(register), trim(yank ?? selected), `y after ${name}`);
  }
});
