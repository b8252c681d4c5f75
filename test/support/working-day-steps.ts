/** Defines the steps of a simulated working day: actions of the user, of CLIs, of plugins, and changes on the disk. */
import fc from "fast-check";

/** Matches the keys with which a user may accept or reject a proposal. */
export const DECIDING =
  /^(:q!?<CR>|:wq?<CR>|ZZ|<C-w>[co]|:tabclose<CR>|:bdelete!?<CR>|:Gemini(Accept!?|Reject)<CR>|@q|page|glance)$/;
/** Number of steps after which a decision has certainly arrived. */
export const DECISION_STEPS = 6;

/** Files of the workspace. */
export const FILES = {
  "a.txt": "one\ntwo\nthree\n",
  "b.txt": "b\nbb\n",
  "notes.txt": Array.from({ length: 60 }, (_, line) => `note ${line}\n`).join(""),
};

/** Keys of the user that delete no text. Each series starts in Normal mode. */
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
  "qqA,<Esc>q",
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
];

/** Keys that delete text on purpose, either in the current buffer or in all files. */
const DELETING = [
  { keys: "u", where: "buffer" },
  { keys: "<C-r>", where: "buffer" },
  { keys: "Vjd", where: "buffer" },
  { keys: "ccreplaced<Esc>", where: "buffer" },
  { keys: "do", where: "buffer" },
  { keys: "\\x", where: "buffer" },
  { keys: ":edit!<CR>", where: "buffer" },
  { keys: ":q!<CR>", where: "buffer" },
  { keys: ":bdelete!<CR>", where: "buffer" },
  { keys: ":%bdelete!|edit notes.txt<CR>", where: "files" },
  { keys: ":%bwipeout!<CR>", where: "files" },
] as const;

/** Keys on the review page: keys for the tree, keys for the file, and keys for both windows. */
const TREE_KEYS =
  "<CR> <Tab> <S-Tab> s x S X VjS VjX gs gx gS gX u d gn j k ]h [h ]f [f \\s \\x \\d g?".split(" ");
const FILE_KEYS = "]h [h ]f [f \\s \\x Vj\\s Vj\\x \\S \\X \\d \\nnote<CR> Vj\\nnote<CR> g? u gg G".split(
  " ",
);
const WINDOW_KEYS = [
  ...["\\t", "q", "<C-w>o", "<C-w>c", "<C-w>x", "<C-w>T", "<C-w>p", "<C-w>w"],
  ...[
    ":q<CR>",
    ":split<CR>",
    ":tab split<CR>",
    ":edit b.txt<CR>",
    ":bnext<CR>",
    ":bdelete<CR>",
    ":tabclose<CR>",
  ],
];

/**
 * Lua that simulates other plugins: a picker that opens briefly, a timer that closes a window of the current tab page,
 * and auto-save. The timer never closes windows of another tab page: if the last ordinary window there closes under a
 * float, Neovim 0.10.4 crashes.
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
const changed = fc.constantFrom("a.txt", "b.txt", "made.txt");
const onPage = <W extends "tree" | "file">(window: W, keys: readonly string[]) =>
  fc.record({ kind: fc.constant("page"), window: fc.constant(window), keys: fc.constantFrom(...keys) });
const step = fc.oneof(
  { weight: 20, arbitrary: fc.record({ kind: fc.constant("keys"), keys: fc.constantFrom(...KEYS) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("delete"), how: fc.constantFrom(...DELETING) }) },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant("type"), into: fc.constantFrom("A ", "o", "o<Esc>R") }),
  },
  {
    weight: 6,
    arbitrary: fc.oneof(
      onPage("tree", [...TREE_KEYS, ...WINDOW_KEYS]),
      onPage("file", [...FILE_KEYS, ...WINDOW_KEYS]),
    ),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("plugin"), code: fc.constantFrom(...PLUGINS) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("glance"), client }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("open"), client, file: proposed }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("close"), client, writes: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("disconnect"), client }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart") }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("write"), file }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("agent"), file: changed, prompts: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("agentDeletes") }) },
);
export type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** How a simulated day ends. */
const end = fc.record({
  /** `:qall!` and signals end Neovim while reviews are still open. */
  how: fc.constantFrom("disconnect", "disconnect", ":qall!", "SIGTERM", "SIGKILL"),
  /** True if the user is typing into a proposal at the end. */
  typing: fc.boolean(),
  /** True if a CLI disconnects just before the end. */
  gone: fc.boolean(),
});

/** Days with sixty steps. */
export const days = fc.record({
  steps: fc.array(step, { minLength: 60, maxLength: 60, size: "max" }),
  end,
});
export type Day = typeof days extends fc.Arbitrary<infer D> ? D : never;
