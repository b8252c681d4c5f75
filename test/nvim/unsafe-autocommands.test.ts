import t, { type Test } from "tap";
import { type Reviewer, startReviewer } from "../support/review.ts";

const FILES = { "a.txt": "one\ntwo\nthree\n", "b.txt": "b\n" };
const PROPOSED = "one\n2\nthree\n";
const OURS = `return vim.tbl_filter(function(name) return name:find('^gemini') end,
  vim.tbl_map(vim.api.nvim_buf_get_name, vim.api.nvim_list_bufs()))`;
const EVENTS = [
  [
    "WinNew",
    "WinEnter",
    "BufWinEnter",
    "BufEnter",
    "FileType",
    "OptionSet",
    "BufNew",
    "BufFilePre",
    "BufFilePost",
  ],
  ["WinClosed", "BufHidden", "BufUnload", "BufWinLeave", "WinLeave", "BufLeave", "BufDelete", "BufWipeout"],
  ["User"],
];
const ENDS: Record<string, (reviewer: Reviewer, id: number) => Promise<unknown>> = {
  "closed by the CLI": async (reviewer, id) => reviewer.close(id),
  "accepted by command": (reviewer) => reviewer.nvim.lua("require('gemini-bridge').accept()"),
  "rejected by command": (reviewer) => reviewer.nvim.lua("require('gemini-bridge').reject()"),
};

/**
 * Returns configuration in which each of these events raises errors, as broken autocommands of users and plugins do.
 */
function failing(events: readonly string[]): string {
  return events
    .map(
      (event) => `
      vim.api.nvim_create_autocmd('${event}', { command = 'loadview' })
      vim.api.nvim_create_autocmd('${event}', { callback = function() error('a plugin of the user fails') end })`,
    )
    .join("\n");
}

async function start(t: Test, lua: string) {
  const { reviewer } = await startReviewer(t, { files: FILES, args: ["b.txt"] });
  const before = await reviewer.layout();
  await reviewer.nvim.lua(lua);
  return { reviewer, before };
}

for (const events of EVENTS) {
  for (const [how, end] of Object.entries(ENDS)) {
    t.test(`autocommands that fail in ${events.join(", ")} decide nothing: ${how}`, async (t) => {
      const { reviewer, before } = await start(t, failing(events));
      const id = await reviewer.open(reviewer.nvim.path("a.txt"), PROPOSED);
      t.equal((await reviewer.proposals()).length, 1, "the review is shown");
      t.same(await reviewer.outcomes(), [], "and undecided");
      await end(reviewer, id);
      await reviewer.outcomes();
      t.same(
        reviewer.received.map(({ name }) => name),
        how.startsWith("closed") ? [] : [how.startsWith("accepted") ? "diff_accepted" : "diff_rejected"],
      );
      await reviewer.nvim.lua(
        "for _, event in ipairs(...) do vim.api.nvim_clear_autocmds({ event = event }) end",
        events,
      );
      t.same(await reviewer.nvim.lua(OURS), [], "no buffer stays");
      await reviewer.becomes(t, before);
    });
  }
}

t.test("a failing autocommand during :w or :q does not prevent the decision", async (t) => {
  const { reviewer } = await start(t, failing(["WinClosed", "BufHidden", "BufUnload", "BufEnter"]));
  for (const keys of [":w<CR>", ":q<CR>", "ZZ", ":bdelete<CR>"]) {
    const id = await reviewer.open(reviewer.nvim.path("a.txt"), PROPOSED);
    await reviewer.nvim.lua(
      "vim.cmd('noautocmd call win_gotoid(' .. ... .. ')')",
      (await reviewer.proposals())[0],
    );
    await reviewer.nvim.input(keys);
    const outcome = await reviewer.outcome();
    t.equal(outcome.payload.id, id, keys);
    await reviewer.nvim.waitFor(
      async () => (await reviewer.proposals()).length === 0,
      "the windows to close",
    );
    await reviewer.nvim.waitFor(
      async () => String(await reviewer.nvim.lua(OURS)) === "",
      "the buffers to go",
    );
  }
});

t.test("'eventignorewin' does not prevent :w and :q in a proposal", async (t) => {
  const { reviewer } = await startReviewer(t, {
    files: FILES,
    init: "if vim.fn.exists('+eventignorewin') == 1 then vim.o.eventignorewin = 'all' end",
  });
  for (const [keys, name] of [
    [":w<CR>", "diff_accepted"],
    [":q<CR>", "diff_rejected"],
  ] as const) {
    await reviewer.open(reviewer.nvim.path("a.txt"), PROPOSED);
    await reviewer.review();
    await reviewer.nvim.input(keys);
    t.equal((await reviewer.outcome()).name, name);
  }
  t.notMatch(await reviewer.nvim.messages(), /E\d+/);
});

t.test("FileType autocommands do not misalign the two windows of a review", async (t) => {
  const { reviewer } = await startReviewer(t, {
    files: { "a.lua": "local a = 1\n", "b.txt": "b\n" },
    args: ["b.txt"],
    init: `vim.api.nvim_create_autocmd('FileType', {
      pattern = 'lua', command = 'setlocal wrap foldenable noscrollbind nocursorbind nodiff',
    })`,
  });
  for (const args of ["b.txt", "a.lua"]) {
    await reviewer.nvim.command(`edit ${args}`);
    const id = await reviewer.open(reviewer.nvim.path("a.lua"), "local a = 2\n");
    await reviewer.nvim.waitFor(
      `vim.iter(vim.api.nvim_list_bufs()):any(function(buf)
        return vim.b[buf].gemini_diff ~= nil and vim.bo[buf].filetype == 'lua'
      end)`,
      "the file type",
    );
    const sides = await reviewer.nvim.lua(`return vim.iter(vim.api.nvim_list_wins()):filter(function(win)
      return vim.wo[win].winbar ~= ''
    end):map(function(win)
      local wo = vim.wo[win]
      return { wo.diff, wo.scrollbind, wo.cursorbind, wo.wrap, wo.foldenable }
    end):totable()`);
    t.same(sides, [
      [true, true, true, false, false],
      [true, true, true, false, false],
    ]);
    await reviewer.close(id);
  }
});
