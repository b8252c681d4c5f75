import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { startConnected } from "../support/bridge.ts";
import { nvimBinary } from "../support/nvim.ts";
import { shareNvim } from "../support/reset.ts";
import { type Reviewer, startReviewer } from "../support/review.ts";
import { makeDirectory } from "../support/sandbox.ts";

shareNvim(t);

const FILES = { "a.txt": "one\ntwo\nthree\n", "d/e.txt": "one\n", "b.txt": "b\n" };
const TEXT = (name: string) =>
  `table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('${name}'), 0, -1, true), ' ')`;
/** Writes a.txt as an agent, and tells Neovim about the write. */
async function write(reviewer: Reviewer, text: string): Promise<void> {
  const path = reviewer.nvim.path("a.txt");
  writeFileSync(path, text);
  await reviewer.call("file_changed", { path });
}

/** Starts the bridge in a Neovim that shows a file after a review. */
async function afterReview(t: Test, name: string, own = false) {
  const { bridge, client } = await startConnected(t, { files: FILES, args: [name], own });
  await client.openDiff(bridge.nvim.path(name), "proposed\n");
  await bridge.nvim.command("GeminiReject");
  await client.waitForNotification("ide/diffRejected");
  return bridge;
}

const WAITS = `vim.keymap.set({ 'n', 'o', 'i' }, '<F2>', function() vim.fn.getcharstr() return '' end, { expr = true })`;

for (const [moment, enter, leave] of [
  ["text lock", "<F2>", "x"],
  ["text lock in Insert mode", "i<F2>", "x<Esc>"],
  ["the command-line window", "q:", ":q<CR>"],
  ["Ex mode", "gQ", "visual<CR>"],
] as const) {
  t.test(`${moment}: a file that a CLI has written is reloaded later`, async (t) => {
    const { reviewer, nvim } = await startReviewer(t, { files: FILES, args: ["a.txt"], init: WAITS });
    await nvim.input(enter);
    await write(reviewer, "one\n2\nthree\n");
    t.equal(await nvim.lua(`return ${TEXT("a.txt")}`), "one two three");
    await nvim.input(leave);
    await nvim.waitFor(`${TEXT("a.txt")} == 'one 2 three'`, "the new text");
    t.notMatch(await nvim.messages(), /E\d+:|traceback/);
  });
}

for (const [moment, enter, leave, wanted] of [
  ["an operator waits for its motion", "2ggd", "w", "one  three"],
  ["an operator waits for a search", "2ggd/", "thr<CR>", "one three"],
  ["a completion is active", "2ggi<C-x><C-n>", "<C-n><Esc>", "one twotwo three"],
] as const) {
  t.test(`while ${moment}, the buffer is not reloaded`, async (t) => {
    const { reviewer, nvim } = await startReviewer(t, { files: FILES, args: ["a.txt"] });
    await nvim.command("set completeopt=menuone,noselect");
    await nvim.input(enter);
    await write(reviewer, "NEW\none\ntwo\nthree\n");
    await nvim.input(leave);
    t.equal(await nvim.lua(`return ${TEXT("a.txt")}`), wanted, "only the text that the keys mean is changed");
    await nvim.input("u");
    await reviewer.call("file_changed", { path: nvim.path("a.txt") });
    await nvim.waitFor(`${TEXT("a.txt")} == 'NEW one two three'`, "the new text");
  });
}

for (const [keys, wanted] of [
  ["l<C-v>jjI", "oxne txwo txhree"],
  ["l<C-v>jjA", "onxe twxo thxree"],
  ["l<C-v>jjc", "oxe txo txree"],
] as const) {
  t.test(`while ${keys} inserts text in a block, the buffer is not reloaded`, async (t) => {
    const { reviewer, nvim } = await startReviewer(t, { files: FILES, args: ["a.txt"] });
    await nvim.input(keys);
    await write(reviewer, "NEW\none\ntwo\nthree\n");
    await nvim.input("x<Esc>");
    t.equal(await nvim.lua(`return ${TEXT("a.txt")}`), wanted);
    await nvim.input("u");
    await nvim.waitFor(`${TEXT("a.txt")} == 'NEW one two three'`, "the new text");
  });
}

t.test("after a selection of a block, cw elsewhere delays nothing", async (t) => {
  const { nvim } = await startReviewer(t, { files: FILES, args: ["a.txt"] });
  await nvim.input("<C-v>j<Esc>GcwX");
  await nvim.lua("require('gemini-bridge.editor.scheduler').next(function() vim.g.mode = vim.fn.mode() end)");
  await nvim.waitFor("vim.g.mode == 'i'", "a step during the insertion");
});

t.test("while :s///c asks, the buffer is not reloaded", async (t) => {
  const { reviewer, nvim } = await startReviewer(t, { files: FILES, args: ["a.txt"] });
  await nvim.input(":%s/o/0/c<CR>");
  await nvim.waitFor(async () => (await nvim.nvim.mode).mode === "r?", "the question");
  const told = write(reviewer, "the CLI's own\ntwo\nthree\n"); // the answer comes after the answer to the question
  await nvim.input("q");
  await told;
  await nvim.waitFor(`${TEXT("a.txt")} == "the CLI's own two three"`, "the new text");
});

t.test("a watched directory that is replaced by another directory stays watched", async (t) => {
  const { nvim } = await afterReview(t, "d/e.txt");
  for (const round of [1, 2, 3]) {
    renameSync(nvim.path("d"), nvim.path(`old${round}`));
    mkdirSync(nvim.path("d"));
    writeFileSync(nvim.path("d/e.txt"), `round ${round}\n`);
    await nvim.waitFor(`${TEXT("e.txt")} == 'round ${round}'`, "the file of the new directory");
    writeFileSync(nvim.path("d/e.txt"), `round ${round} again\n`);
    await nvim.waitFor(`${TEXT("e.txt")} == 'round ${round} again'`, "what is written there");
  }
  mkdirSync(nvim.path("next"));
  writeFileSync(nvim.path("next/e.txt"), "by one rename\n");
  renameSync(nvim.path("d"), nvim.path("gone"));
  renameSync(nvim.path("next"), nvim.path("d"));
  await nvim.waitFor(`${TEXT("e.txt")} == 'by one rename'`, "the file of the new directory");
});

if (process.platform === "linux") {
  t.test("reviewed files are polled if the system has no free file watches", async (t) => {
    const limited = join(makeDirectory(t), "nvim");
    writeFileSync(
      limited,
      `#!/bin/sh
exec unshare --user --map-root-user sh -c 'echo 0 >/proc/sys/user/max_inotify_watches; exec "$@"' sh '${nvimBinary()}' "$@"
`,
      { mode: 0o755 },
    );
    const before = process.env["NVIM_BIN"];
    process.env["NVIM_BIN"] = limited;
    t.teardown(() => {
      if (before === undefined) delete process.env["NVIM_BIN"];
      else process.env["NVIM_BIN"] = before;
    });
    const { nvim } = await afterReview(t, "a.txt", true);
    t.equal(
      await nvim.lua("return (select(3, vim.uv.new_fs_event():start('/', {}, function() end)))"),
      "ENOSPC",
      "there is no room",
    );
    writeFileSync(nvim.path("a.txt"), "polled text\n");
    await nvim.waitFor(`${TEXT("a.txt")} == 'polled text'`, "the new text");
  });
}
