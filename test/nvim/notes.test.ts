/** Tests notes on lines of files: notes are shown, saved, and sent as one prompt. */
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { startBridge } from "../support/bridge.ts";
import { receives, startWithEcho } from "../support/echo.ts";
import { type Nvim, startNvim } from "../support/nvim.ts";
import { shareNvim } from "../support/reset.ts";
import { startReviewer } from "../support/review.ts";

shareNvim(t);

const SIGNS = `(function()
  local namespace = vim.api.nvim_get_namespaces()['gemini-bridge.notes']
  if not namespace then return '' end
  local marks = vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true })
  return table.concat(vim.tbl_map(function(mark)
    return ('%d-%d%s'):format(mark[2] + 1, mark[4].end_row + 1, mark[4].virt_text[1][1])
  end, marks), ', ')
end)()`;
const MAP = "vim.keymap.set({ 'n', 'x' }, 'gn', '<Plug>(gemini-note)')";

const saved = (nvim: Nvim) => join(nvim.dirs.state, "nvim/gemini-bridge-notes.json");
async function shows(t: Test, nvim: Nvim, wanted: string) {
  await nvim.waitFor(async () => (await nvim.lua(`return ${SIGNS}`)) === wanted, "the notes").catch(() => {});
  t.equal(await nvim.lua(`return ${SIGNS}`), wanted);
}

t.test(
  "notes are sent as one prompt with the quoted lines, and deleted after the prompt was typed",
  async (t) => {
    const nvim = await startWithEcho(t, "", { init: MAP });
    await nvim.command("edit a.txt");
    await nvim.input(":GeminiSend --notes<CR>");
    await nvim.says(/There are no notes/);
    await nvim.input("gnUse a number<CR>");
    await nvim.input("3GVjgnask @someone<CR>");
    await shows(t, nvim, "1-1 \u270e Use a number, 3-4 \u270e ask @someone");
    t.equal(await nvim.lua("return vim.api.nvim_get_mode().mode"), "n");
    t.equal(statSync(saved(nvim)).mode & 0o777, 0o600);
    await nvim.input("ggOtop<Esc>:silent write<CR>");
    await shows(t, nvim, "2-2 \u270e Use a number, 4-5 \u270e ask @someone");
    await nvim.input(":GeminiSend --notes please<CR>");
    await receives(
      nvim,
      "<@a.txt\nline 2:\n> one\nUse a number\nlines 4-5:\n> three\n> four\nask @someone\nplease >",
    );
    await shows(t, nvim, "");
    await nvim.waitFor(() => !existsSync(saved(nvim)), "the file to go");
  },
);

t.test(
  "notes survive a restart and can be edited and deleted, and excluded files cannot have notes",
  async (t) => {
    const first = await startNvim(t, { files: { "a.txt": "1\n2\n3\n", ".env": "KEY=1\n" }, init: MAP });
    await first.command("edit a.txt");
    await first.input("2Ggnwhy?<CR>");
    await shows(t, first, "2-2 \u270e why?");
    await first.input("ggdd:silent write<CR>");
    await first.command("edit .env");
    await first.input("gn");
    await first.says(/This file cannot have notes/);
    await first.command("qa!").catch(() => {});
    await first.exited;
    t.match(JSON.parse(readFileSync(saved(first), "utf8")).value, [{ first: 1, last: 1, text: "why?" }]);

    const { nvim: next } = await startBridge(t, { after: first, init: MAP });
    await next.says(/1 note from an earlier session/);
    await next.command("edit a.txt");
    await shows(t, next, "1-1 \u270e why?");
    await next.input("gn");
    await next.waitFor("vim.fn.getcmdline() == 'why?'", "the text of the note");
    await next.input("<C-u>because<CR>");
    await shows(t, next, "1-1 \u270e because");
    await next.input("gn<C-u><CR>");
    await shows(t, next, "");
    t.notOk(existsSync(saved(next)));
  },
);

t.test("a Neovim keeps what another Neovim has done with the same notes", async (t) => {
  const first = await startNvim(t, { files: { "a.txt": "1\n2\n3\n" }, init: MAP });
  await first.command("edit a.txt");
  for (const [index, text] of ["edited", "deleted", "moved"].entries())
    await first.input(`${index + 1}Ggn${text}<CR>`);
  await shows(t, first, "1-1 ✎ edited, 2-2 ✎ deleted, 3-3 ✎ moved");
  const second = await startNvim(t, { after: first, init: MAP });
  await second.lua("require('gemini-bridge.notes.notes').load()");
  await second.command("edit a.txt");
  await shows(t, second, "1-1 ✎ edited, 2-2 ✎ deleted, 3-3 ✎ moved");
  await second.lua("local time = os.time os.time = function() return time() + 1 end");
  await second.input("gg0gn later<CR>2Ggn<C-u><CR>");
  await shows(t, second, "1-1 ✎ edited later, 3-3 ✎ moved");
  await first.input("3Ggn<C-u><CR>");
  await shows(t, first, "1-1 ✎ edited later");
  await second.input("3Ggn again<CR>");
  await shows(t, second, "1-1 ✎ edited later, 3-3 ✎ moved again");
  await first.input("3GOnew<Esc>");
  await first.command("qa!").catch(() => {});
  await first.exited;
  const notes = () => JSON.parse(readFileSync(saved(second), "utf8")).value;
  const texts = (list: { text: string }[]) => list.map(({ text }) => text).sort();
  t.same(texts(notes()), ["edited later", "moved again"]);
  await second.command("qa!").catch(() => {});
  await second.exited;
  t.same(texts(notes()), ["edited later", "moved again"]);
});

t.test("a note stays at its lines if an agent writes the file while the user writes the note", async (t) => {
  const { reviewer, nvim } = await startReviewer(t, {
    files: { "a.txt": "1\n2\n3\n" },
    args: ["a.txt"],
    init: MAP,
  });
  await nvim.input("2Ggnwhy");
  const path = nvim.path("a.txt");
  writeFileSync(path, "new\nnew\n1\n2\n3\n");
  await reviewer.call("file_changed", { path });
  t.equal(await nvim.lua("return vim.api.nvim_buf_line_count(0)"), 5);
  await nvim.input("?<CR>");
  await shows(t, nvim, "4-4 \u270e why?");
  await nvim.input("gn<C-c>");
  await nvim.input("ggdd");
  await shows(t, nvim, "3-3 \u270e why?");
});

t.test(":saveas and :file leave the notes with the file that they were written for", async (t) => {
  const nvim = await startNvim(t, { files: { "a.txt": "1\n2\n3\n" }, args: ["a.txt"], init: MAP });
  await nvim.input("3Ggnwhy?<CR>");
  await shows(t, nvim, "3-3 \u270e why?");
  await nvim.command("silent saveas b.txt");
  await shows(t, nvim, "");
  await nvim.input("ggdd");
  await nvim.command("edit! a.txt");
  await shows(t, nvim, "3-3 \u270e why?");
  await nvim.command("silent 0file | file c.txt");
  await nvim.command("edit! a.txt");
  await shows(t, nvim, "3-3 \u270e why?");
});
