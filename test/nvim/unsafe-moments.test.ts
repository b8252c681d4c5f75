import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { startNvim } from "../support/nvim.ts";
import { shareNvim } from "../support/reset.ts";
import { startReviewer } from "../support/review.ts";

shareNvim(t);

const FILES = { "a.txt": "one\ntwo\nthree\n", "b.txt": "b\nb2\n" };
const PROPOSED = "one\n2\nthree\n";
const EDITED = "one\nedited\nthree\n";
/** An `<expr>` mapping that waits for a key, as text objects and jump plugins do. */
const WAITS = `vim.keymap.set({ 'n', 'o', 'i', 't' }, '<F2>', function() vim.fn.getcharstr() return '' end, { expr = true })`;
const EDIT = `vim.api.nvim_buf_set_lines(vim.iter(vim.api.nvim_list_bufs()):find(function(buf)
  return vim.b[buf].gemini_diff
end), 1, 2, true, { 'edited' })`;
const OURS = `return vim.tbl_filter(function(name) return name:find('^gemini') end,
  vim.tbl_map(vim.api.nvim_buf_get_name, vim.api.nvim_list_bufs()))`;

/** States in which Neovim does not allow changes of windows, with the keys to enter and leave each state. */
const MOMENTS: Record<string, [enter: string, leave: string]> = {
  "text lock": ["<F2>", "x"],
  "text lock after an operator": ["d<F2>", "x<Esc>"],
  "text lock in Insert mode": ["i<F2>", "x<Esc>"],
  "the command-line window": ["q:", ":q<CR>"],
};

for (const [moment, [enter, leave]] of Object.entries(MOMENTS)) {
  t.test(`reviews open and close after ${moment}`, async (t) => {
    const { reviewer, nvim } = await startReviewer(t, { files: FILES, args: ["b.txt"], init: WAITS });
    const path = nvim.path("a.txt");
    const before = await reviewer.layout();

    await t.test(
      "openDiff is answered immediately, and the review is shown as soon as possible",
      async (t) => {
        await nvim.input(enter);
        const id = await reviewer.open(path, PROPOSED);
        t.same(await reviewer.proposals(), [], "not now");
        t.same(await nvim.lua("return #require('gemini-bridge').diffs()"), 1, "but it is pending");
        await nvim.input(leave);
        await nvim.waitFor(async () => (await reviewer.proposals()).length === 1, "the review");
        t.equal(await reviewer.close(id), PROPOSED);
        await reviewer.outcomes();
        await reviewer.becomes(t, before);
      },
    );

    await t.test("a review that is closed before it was shown leaves nothing behind", async (t) => {
      await nvim.input(enter);
      const id = await reviewer.open(path, PROPOSED);
      t.equal(await reviewer.close(id), PROPOSED);
      await nvim.input(leave);
      await reviewer.outcomes();
      t.same(await nvim.lua(OURS), []);
    });

    await t.test("a review that waits behind a closed review is shown", async (t) => {
      await nvim.input(enter);
      const first = await reviewer.open(path, PROPOSED);
      const second = await reviewer.open(nvim.path("b.txt"), "next\n", "another");
      await reviewer.close(first);
      await nvim.input(leave);
      await nvim.waitFor(async () => (await reviewer.proposals()).length === 1, "the second review");
      t.equal(await reviewer.close(second), "next\n");
      await reviewer.outcomes();
      t.same(await nvim.lua(OURS), []);
    });

    await t.test(
      "closeDiff returns the edited text during a text lock, and the windows close later",
      async (t) => {
        const id = await reviewer.open(path, PROPOSED);
        await nvim.lua(EDIT);
        await nvim.input(enter);
        t.equal(await reviewer.close(id), EDITED);
        await nvim.input(leave);
        await nvim.waitFor(async () => (await reviewer.proposals()).length === 0, "the windows to close");
        await reviewer.outcomes();
        await reviewer.becomes(t, before);
        t.same(await nvim.lua(OURS), []);
      },
    );

    await t.test("a decision by a script is reported immediately", async (t) => {
      const id = await reviewer.open(path, PROPOSED);
      await nvim.lua(EDIT);
      await nvim.input(enter);
      await nvim.lua("require('gemini-bridge').accept()");
      t.same(await reviewer.outcome(), { name: "diff_accepted", payload: { id, content: EDITED } });
      await nvim.input(leave);
      await nvim.waitFor(async () => (await reviewer.proposals()).length === 0, "the windows to close");
      t.notMatch(await nvim.messages(), /E\d+:|traceback/);
    });

    await t.test("when a client disconnects, its review closes, and the next review is shown", async () => {
      const id = await reviewer.open(path, PROPOSED);
      await reviewer.open(nvim.path("b.txt"), "next\n", "another");
      await nvim.input(enter);
      await reviewer.close(id, "disconnected");
      await nvim.input(leave);
      const shown = `vim.iter(vim.api.nvim_list_wins()):map(function(win)
        return (vim.b[vim.api.nvim_win_get_buf(win)].gemini_diff or {}).filePath
      end):totable()[1]`;
      await nvim.waitFor(`${shown} == '${nvim.path("b.txt")}'`, "the next review");
    });
  });
}

for (const [moment, keys, wait] of [
  ["a message waits for the command line", ":echo 1", "require('gemini-bridge.notify')('hello')"],
  ["a review waits for the command-line window", "q:", ""],
] as const)
  t.test(`Neovim is idle while ${moment}`, async (t) => {
    const { reviewer, nvim } = await startReviewer(t, { files: FILES, args: ["b.txt"], init: WAITS });
    await nvim.lua(
      "_G.count = 0 vim.api.nvim_create_autocmd('SafeState', { command = 'lua count = count + 1' })",
    );
    await nvim.input(keys);
    if (wait) await nvim.lua(wait);
    else await reviewer.open(nvim.path("a.txt"), PROPOSED);
    await delay(300); // the test measures an idle Neovim
    const count = Number(await nvim.lua("return count"));
    t.ok(count < 50, `${count} times ready for a key`);
  });

t.test("a review is shown after a text lock in Terminal mode, which fires no SafeState", async (t) => {
  const { reviewer } = await startReviewer(t, { files: FILES, args: ["b.txt"], init: WAITS });
  await reviewer.nvim.lua("vim.cmd.vsplit() vim.cmd.terminal('cat') vim.cmd.startinsert()");
  await reviewer.nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "Terminal mode");
  await reviewer.nvim.input("<F2>");
  await reviewer.open(reviewer.nvim.path("a.txt"), PROPOSED);
  t.same(await reviewer.proposals(), []);
  await reviewer.nvim.input("x");
  await reviewer.nvim.waitFor(async () => (await reviewer.proposals()).length === 1, "the review");
  t.equal((await reviewer.nvim.nvim.mode).mode, "t");
});

t.test(":GeminiAccept works during a text lock and in the command-line window", async (t) => {
  const { reviewer } = await startReviewer(t, {
    files: FILES,
    args: ["b.txt"],
    init: `vim.keymap.set('n', '<F3>', function() vim.cmd.GeminiAccept() return '' end, { expr = true })`,
  });
  const before = await reviewer.layout();
  for (const keys of ["<F3>", "q::GeminiAccept<CR>:q<CR>"]) {
    const id = await reviewer.open(reviewer.nvim.path("a.txt"), PROPOSED);
    await reviewer.nvim.input(keys);
    t.same(await reviewer.outcome(), { name: "diff_accepted", payload: { id, content: PROPOSED } }, keys);
    await reviewer.nvim.waitFor(
      async () => (await reviewer.proposals()).length === 0,
      "the windows to close",
    );
    await reviewer.outcomes();
    await reviewer.becomes(t, before);
  }
  t.notMatch(await reviewer.nvim.messages(), /E\d+:|traceback/);
});

t.test("reviews that arrive during a text lock are all shown with a tab page for each review", async (t) => {
  const init = `${WAITS} require('gemini-bridge').setup({ diff = { layout = 'tab' } })`;
  const { reviewer } = await startReviewer(t, { files: FILES, args: ["b.txt"], init });
  await reviewer.nvim.input("<F2>");
  for (const name of ["a.txt", "b.txt"]) await reviewer.open(reviewer.nvim.path(name), PROPOSED);
  await reviewer.nvim.input("x");
  await reviewer.nvim.waitFor(async () => (await reviewer.proposals()).length === 2, "both reviews");
});

t.test("a proposal that is replaced during a text lock is shown after the lock", async (t) => {
  const { reviewer } = await startReviewer(t, { files: FILES, args: ["b.txt"], init: WAITS });
  const id = await reviewer.open(reviewer.nvim.path("a.txt"), PROPOSED);
  await reviewer.nvim.input("<F2>");
  await reviewer.show({
    id,
    filePath: reviewer.nvim.path("a.txt"),
    newContent: "replaced\n",
    client: "x",
    label: "Gemini CLI",
  });
  await reviewer.nvim.input("x");
  await reviewer.nvim.waitFor(
    `vim.iter(vim.api.nvim_list_bufs()):any(function(buf)
      return vim.b[buf].gemini_diff and vim.api.nvim_buf_get_lines(buf, 0, 1, true)[1] == 'replaced'
    end)`,
    "the new text",
  );
  t.equal(await reviewer.close(id), "replaced\n");
});

t.test("a command that opens a window waits until the command-line window closes", async (t) => {
  const nvim = await startNvim(t);
  await nvim.startBridge();
  const names = `vim.iter(vim.api.nvim_list_wins()):map(function(win)
    return vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win))
  end):join(' ')`;
  for (const [command, shown] of [
    ["GeminiStatus", "bridge://status"],
    ["GeminiLog", "gemini%-bridge%.log"],
    ["GeminiDoctor", "health://"],
    ["GeminiPrompt hello", "bridge://prompt"],
    ["GeminiHistory", undefined],
    ["GeminiChanges", undefined],
    ["GeminiChanges!", undefined],
  ] as const) {
    await nvim.command("messages clear");
    await nvim.input(`q::${command}<CR>`);
    t.equal(await nvim.lua("return vim.fn.getcmdwintype()"), ":", `${command} leaves the window`);
    await nvim.input(":q<CR>");
    if (shown) await nvim.waitFor(`(${names}):find('${shown}') ~= nil`, `the window of ${command}`);
    t.notMatch(await nvim.messages(), /E\d+:|traceback/, command);
    await nvim.command("silent! tabonly | silent! only | enew!");
  }
});
