/** Reviews that end, or do not, without a decision of the user. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { Reviewer } from "../support/review.ts";

const FILES = { "a.txt": "one\n", "b.txt": "b\n", "c.txt": "c\n" };

async function start(t: Test) {
  const reviewer = await Reviewer.start(t, { files: FILES, args: ["c.txt"] });
  const { nvim } = reviewer;
  const id = await reviewer.open(nvim.path("a.txt"), "two\n");
  return { reviewer, nvim, id };
}

const pending = "#require('gemini-bridge').diffs()";
const shown =
  "vim.iter(vim.api.nvim_list_wins()):any(function(w) return vim.b[vim.api.nvim_win_get_buf(w)].gemini_diff ~= nil end)";
const PROPOSAL_WINDOW = `vim.iter(vim.api.nvim_list_wins()):find(function(win)
  return vim.b[vim.api.nvim_win_get_buf(win)].gemini_diff ~= nil
end)`;

const ACCIDENTS: [name: string, act: (reviewer: Reviewer) => Promise<unknown>][] = [
  ["%bd|e#", ({ nvim }) => nvim.input(":%bd!|e#<CR>")],
  ["bufdo", ({ nvim }) => nvim.input(":bufdo bdelete!<CR>")],
  [
    "a timer",
    ({ nvim }) =>
      nvim.lua(
        `local w = ${PROPOSAL_WINDOW}; vim.defer_fn(function() vim.api.nvim_win_close(w, true) end, 1)`,
      ),
  ],
  ["a function", ({ nvim }) => nvim.input(":call TidyUp()<CR>")],
  ["an autocommand", ({ nvim }) => nvim.input(":doautocmd User TidyUp<CR>")],
  ["a script", ({ nvim }) => nvim.input(":source tidy.vim<CR>")],
  [
    "noautocmd",
    ({ nvim }) => nvim.lua(`vim.cmd('noautocmd call nvim_win_close(' .. ${PROPOSAL_WINDOW} .. ', v:true)')`),
  ],
];
for (const [name, act] of ACCIDENTS)
  t.test(`a review that was closed by ${name} stays pending and comes back`, async (t) => {
    const { reviewer, nvim, id } = await start(t);
    await reviewer.open(nvim.path("b.txt"), "never shown\n");
    await nvim.lua(
      `vim.cmd("function! TidyUp()\\n only!\\n endfunction")
       vim.cmd("autocmd User TidyUp only!")
       vim.fn.writefile({ "only!" }, "tidy.vim")
       vim.api.nvim_set_current_win(vim.fn.bufwinid("c.txt"))`,
    );
    await act(reviewer);
    await reviewer.outcomes();
    t.same(reviewer.received, [], "nothing is decided");
    t.equal(await nvim.lua(`return ${pending}`), 2);
    await nvim.input(":GeminiReview a.txt<CR>");
    await nvim.waitFor(
      "vim.fn.fnamemodify((vim.b.gemini_diff or {}).filePath or '', ':t') == 'a.txt'",
      "the review",
    );
    t.same(await nvim.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, true)"), ["two"]);
    await nvim.input("Aedited<Esc>:w<CR>");
    t.same(await reviewer.outcome(), { name: "diff_accepted", payload: { id, content: "twoedited\n" } });
    t.notMatch(await nvim.messages(), /E\d+:|stack traceback/);
  });

t.test("the message about a review that stays pending says how it comes back", async (t) => {
  const { reviewer, nvim } = await start(t);
  await nvim.input(":%bd!|e#<CR>");
  await reviewer.outcomes();
  await nvim.waitFor(
    async () =>
      /The proposal for a\.txt is still pending: :GeminiReview shows it again\./.test(
        (await nvim.messages()).replaceAll("\n", " "),
      ),
    "the message",
  );
});

t.test("edits in a proposal whose buffer is deleted come back with it", async (t) => {
  const { reviewer, nvim, id } = await start(t);
  await reviewer.review();
  await nvim.input("Aedited<Esc>:%bd!|e#<CR>");
  await reviewer.outcomes();
  await nvim.input(":GeminiReview<CR>");
  await nvim.waitFor("vim.b.gemini_diff", "the review");
  t.same(await nvim.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, true)"), ["twoedited"]);
  await nvim.input(":w<CR>");
  t.same(await reviewer.outcome(), { name: "diff_accepted", payload: { id, content: "twoedited\n" } });
});

for (const close of [":only<CR>", "<C-w>o", ":bdelete! 0<CR>"])
  t.test(
    `${close} of the user decides ${close.startsWith(":bd") ? "nothing elsewhere" : "as before"}`,
    async (t) => {
      const { reviewer, nvim, id } = await start(t);
      await nvim.lua('vim.api.nvim_set_current_win(vim.fn.bufwinid("c.txt"))');
      await nvim.input(close);
      if (close.startsWith(":bd")) {
        await reviewer.outcomes();
        t.same(reviewer.received, []);
        t.ok(await nvim.lua(`return ${shown}`));
      } else t.same(await reviewer.outcome(), { name: "diff_rejected", payload: { id } });
    },
  );

t.test("text typed into a proposal outlives the end of Neovim", async (t) => {
  const { reviewer, nvim } = await start(t);
  await reviewer.review();
  await nvim.input("Amine<Esc>");
  await reviewer.open(nvim.path("b.txt"), "untouched\n");
  const kept = join(nvim.dirs.state, "nvim/gemini-bridge-kept.json");
  nvim.nvim.notify("nvim_command", ["qall"]);
  await nvim.exited;

  t.match(JSON.parse(readFileSync(kept, "utf8")), [{ path: nvim.path("a.txt"), text: "twomine\n" }]);

  const next = await Reviewer.start(t, { files: FILES });

  t.notOk(existsSync(join(next.nvim.dirs.state, "nvim/gemini-bridge-kept.json")));
  await next.nvim.lua(
    `local path, text = ...
     vim.fn.mkdir(vim.fn.stdpath('state'), 'p')
     vim.fn.writefile({ vim.json.encode({
       { path = vim.fn.getcwd() .. '/a.txt', text = text, time = os.time() },
       { path = '/elsewhere/b.txt', text = 'other', time = os.time() },
       { path = vim.fn.getcwd() .. '/old.txt', text = 'old', time = os.time() - 8 * 24 * 3600 },
     }) }, vim.fn.stdpath('state') .. '/gemini-bridge-kept.json')`,
    kept,
    "twomine\n",
  );

  await next.call("status", { state: "running", workspace: [], clients: [] });
  await next.nvim.waitFor(
    async () =>
      /Your edits of a proposal from before Neovim ended: a\.txt in buffer \d+/.test(
        await next.nvim.messages(),
      ),
    "the message",
  );
  t.same(
    await next.nvim.lua(
      "return vim.fn.json_decode(vim.fn.readfile(vim.fn.stdpath('state') .. '/gemini-bridge-kept.json'))",
    ),
    [
      {
        path: "/elsewhere/b.txt",
        text: "other",
        time: await next.nvim.lua(
          "return vim.fn.json_decode(vim.fn.readfile(vim.fn.stdpath('state') .. '/gemini-bridge-kept.json'))[1].time",
        ),
      },
    ],
  );
});
