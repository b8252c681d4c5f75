import { existsSync, readFileSync, writeFileSync } from "node:fs";
import t from "tap";
import { startBridge } from "../support/bridge.ts";
import { startNvim } from "../support/nvim.ts";
import { startPage } from "../support/page.ts";
import { startReviewer } from "../support/review.ts";

const FILES = { "a.txt": "one\ntwo\nthree\n", "b.txt": "b\n", "c.txt": "c\n" };
const PROPOSED = "one\n2\nthree\n";
const WINDOWS = `return vim.tbl_map(function(win)
  return vim.fs.basename(vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)))
end, vim.api.nvim_list_wins())`;
/** Lua that saves a session at exit, as session plugins do that are loaded before this plugin. */
const SAVES = `vim.api.nvim_create_autocmd('VimLeavePre', { command = 'mksession! session.vim' })`;

/** A Neovim that loads the saved sessions one after the other. */
const restored = await startNvim(t, { files: FILES });

for (const layout of ["auto", "tab"]) {
  for (const inside of [false, true]) {
    for (const args of [["b.txt"], ["b.txt", "-O", "c.txt"], ["a.txt"]]) {
      t.test(
        `a saved session contains no window of a review: ${layout}, ${args.join(" ")}, ${inside}`,
        async (t) => {
          const init = `${SAVES} require('gemini-bridge').setup({ diff = { layout = '${layout}' } })`;
          const { reviewer, nvim } = await startReviewer(t, { files: FILES, args, init });
          const before = await nvim.lua(WINDOWS);
          await reviewer.open(nvim.path("a.txt"), PROPOSED);
          await reviewer.open(nvim.path("c.txt"), "waits\n");
          if (inside) await nvim.command(`GeminiReview ${nvim.path("a.txt")}`);
          if (inside) await nvim.input("ox<Esc>");
          nvim.nvim.notify("nvim_command", ["qall"]);
          await nvim.exited;
          t.same(reviewer.received, [], "quitting decides nothing");
          const session = readFileSync(nvim.path("session.vim"), "utf8");
          t.notMatch(session, /gemini/);
          writeFileSync(restored.path("session.vim"), session.replaceAll(nvim.dirs.base, restored.dirs.base));
          await restored.command("silent tabonly | silent only | silent %bwipeout!");
          await restored.lua("vim.cmd.source((...))", restored.path("session.vim"));
          t.same(
            ((await restored.lua(WINDOWS)) as string[]).length,
            (before as string[]).length,
            "as many windows as before",
          );
        },
      );
    }
  }
}

t.test("a saved session contains no window of the page of changes", async (t) => {
  const page = await startPage(t, { files: FILES, args: ["b.txt"], init: SAVES });
  await page.agent.write("a.txt", PROPOSED);
  await page.changed(1);
  await page.nvim.input(":GeminiChanges<CR>");
  await page.is(t, "page:2", "*a.txt:2");
  page.nvim.nvim.notify("nvim_command", ["qall"]);
  await page.nvim.exited;
  t.notMatch(readFileSync(page.nvim.path("session.vim"), "utf8"), /gemini|tabnew|tabnext 2/);
});

t.test("a cancelled :quit of Neovim leaves the review unchanged", async (t) => {
  const { reviewer, nvim } = await startReviewer(t, { files: FILES, args: ["b.txt"], init: SAVES });
  await nvim.lua("vim.api.nvim_buf_set_lines(0, 0, -1, true, { 'unsaved' })");
  const id = await reviewer.open(nvim.path("a.txt"), PROPOSED);
  await reviewer.review();
  const shown = await nvim.lua(WINDOWS);
  await nvim.input(":qall<CR>");
  t.match(await nvim.messages(), /E37|E162/, "it was cancelled");
  t.same(await reviewer.outcomes(), []);
  await nvim.waitFor(async () => (await reviewer.proposals()).length === 1, "the review");
  t.same(await nvim.lua(WINDOWS), shown);
  await nvim.command("GeminiAccept");
  t.same(await reviewer.outcome(), { name: "diff_accepted", payload: { id, content: PROPOSED } });
});

t.test("a restored session runs no command from a terminal's name, and contains no terminal", async (t) => {
  const { nvim } = await startBridge(t, {
    files: FILES,
    args: ["b.txt"],
    init: `${SAVES} require('gemini-bridge').setup({ extension = false, terminal = { cmd = { 'cat' } } })`,
  });
  for (const name of ["touch marker", "$(touch marker)", "touch marker #%"]) {
    await nvim.command(`Gemini! name=${name.replaceAll(" ", "\\ ")}`);
    await nvim.waitFor(`vim.b.gemini_terminal == '${name}'`, "the terminal");
  }
  await nvim.lua("vim.cmd.stopinsert() vim.cmd.vsplit()");
  nvim.nvim.notify("nvim_command", ["qall!"]);
  await nvim.exited;
  const session = readFileSync(nvim.path("session.vim"), "utf8");
  t.match(session, /gemini-terminal:/, "the session names the terminal");
  writeFileSync(restored.path("session.vim"), session.replaceAll(nvim.dirs.base, restored.dirs.base));
  await restored.command("silent tabonly | silent only | silent %bwipeout!");
  await restored.lua("vim.cmd.source((...))", restored.path("session.vim"));
  await restored.waitFor("vim.fn.bufnr('gemini-terminal') < 0", "the terminals to be gone");
  t.same(await restored.lua(WINDOWS), ["b.txt"]);
  t.same(await restored.lua("return vim.fn.getcompletion('term', 'buffer')"), []);
  t.notOk(existsSync(restored.path("marker")));
});
