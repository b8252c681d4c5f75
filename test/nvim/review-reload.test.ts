import { appendFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import t, { type Test } from "tap";
import { startConnected } from "../support/bridge.ts";
import { HookedAgent } from "../support/hooked-agent.ts";
import { shareNvim } from "../support/reset.ts";
import { startReviewer } from "../support/review.ts";

shareNvim(t);

const FILES = { "a.txt": "one\ntwo\nthree\n", "b.txt": "b\n" };
const PROPOSED = "one\n2\nthree\n";
const TEXT = `table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('a.txt'), 0, -1, true), '\\n')`;

async function start(t: Test, init = "", args = ["a.txt"]) {
  const { reviewer } = await startReviewer(t, { files: FILES, args, init });
  return { reviewer, nvim: reviewer.nvim, path: reviewer.nvim.path("a.txt") };
}

/** Starts the bridge and a CLI, and accepts a proposal. */
async function startWithCli(t: Test, init = "", name = "a.txt") {
  const { bridge, nvim, client } = await startConnected(t, { files: FILES, args: [name], init });
  return {
    bridge,
    nvim,
    path: nvim.path(name),
    async accept(path = nvim.path(name), command = "GeminiAccept"): Promise<void> {
      await client.openDiff(path, PROPOSED);
      await nvim.command(command);
      await client.waitForNotification("ide/diffAccepted", ({ filePath }) => filePath === path);
      client.received["ide/diffAccepted"] = [];
    },
  };
}

/** Writes a file as the CLI does: truncates the file first, and writes the text in pieces. */
function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "");
  for (const part of text.match(/.{1,20}/gs) ?? []) appendFileSync(path, part);
}

for (const init of ["", "vim.o.autoread = false", "vim.o.undoreload = 1", "vim.o.hidden = false"]) {
  t.test(
    `the buffer is reloaded after the CLI has written the accepted text, ${init || "no options"}`,
    async (t) => {
      const { nvim, path, accept } = await startWithCli(t, init);
      await nvim.input("G");
      for (const [wait, text] of [
        [0, "one\n2\nthree\n"],
        [1000, "one\n2 and more\nthree\n"],
      ] as const) {
        await accept();
        await delay(wait); // simulates a slow CLI
        const before = await nvim.lua(
          "return { vim.o.undoreload, vim.o.autoread, vim.fn.undotree().seq_last }",
        );
        write(path, text);
        await nvim.waitFor(`${TEXT} == ${JSON.stringify(text.trim())}`, "the new text", 1000);
        t.same(
          await nvim.lua("return { vim.o.undoreload, vim.o.autoread, vim.fn.undotree().seq_last - 1 }"),
          before,
          "one undo step",
        );
        t.same(await nvim.lua("return vim.api.nvim_win_get_cursor(0)"), [3, 0], "cursor kept");
        t.equal(await nvim.lua("return vim.bo.modified"), false);
        t.equal((await nvim.nvim.mode).blocking, false, "no prompt");
      }
      await nvim.input("uu");
      t.equal(await nvim.lua(`return ${TEXT}`), "one\ntwo\nthree", "the old texts are one undo away each");
    },
  );
}

t.test(
  "a reviewed file is also reloaded if its buffer is hidden or the user is in Insert mode elsewhere",
  async (t) => {
    const { nvim, path, accept } = await startWithCli(t);
    await accept();
    for (const [number, keys] of [
      ":split b.txt<CR>",
      ":only | edit b.txt<CR>",
      ":tabedit b.txt<CR>",
      ":tabonly | edit b.txt<CR>ityping",
    ].entries()) {
      await nvim.input(keys);
      const mode = await nvim.nvim.mode;
      write(path, `write ${number}\n`);
      await nvim.waitFor(`${TEXT} == 'write ${number}'`, "the new text", 1000);
      t.same(await nvim.nvim.mode, mode);
    }
  },
);

t.test(
  "a reviewed file is reloaded without a question each time when it is written or replaced",
  async (t) => {
    const { bridge, nvim, path, accept } = await startWithCli(t);
    await accept();
    write(path, "again\n");
    await nvim.waitFor(`${TEXT} == 'again'`, "the new text", 1000);
    writeFileSync(`${path}.new`, "renamed\n");
    renameSync(`${path}.new`, path);
    await nvim.waitFor(`${TEXT} == 'renamed'`, "the new text", 1000);
    await nvim.input("u");
    t.equal(await nvim.lua(`return ${TEXT}`), "again");
    await nvim.input("<C-r>:silent write<CR>");
    await new HookedAgent(bridge).write("b.txt", "by a hook\n");
    t.equal(await nvim.lua(`return ${TEXT}`), "renamed");
  },
);

t.test("the plugin does not reload a file that no agent has changed", async (t) => {
  const { nvim, path, accept } = await startWithCli(t, "vim.o.autoread = false");
  await accept(nvim.path("b.txt"));
  write(path, "by somebody else\n");
  write(nvim.path("b.txt"), "by the CLI\n");
  await nvim.command("split b.txt");
  await nvim.waitFor("vim.fn.getline(1) == 'by the CLI'", "the file of the review", 1000);
  t.equal(await nvim.lua(`return ${TEXT}`), "one\ntwo\nthree");
});

t.test("a file that an agent changes without a review is reloaded after each tool", async (t) => {
  const { bridge, nvim } = await startWithCli(t);
  const agent = new HookedAgent(bridge);
  // The list of changes is the same for both texts.
  for (const text of ["one\nTWO\nthree", "one\n2nd\nthree"]) {
    await agent.write("a.txt", `${text}\n`);
    await nvim.waitFor(`${TEXT} == ${JSON.stringify(text)}`, "the new text", 1000);
  }
});

t.test("unsaved changes are not overwritten by unreviewed writes", async (t) => {
  const { nvim, path, accept } = await startWithCli(t);
  await accept();
  write(path, PROPOSED);
  await nvim.waitFor(`${TEXT} == ${JSON.stringify(PROPOSED.trim())}`, "the accepted text");
  await nvim.input("ggAmine<Esc>:split b.txt<CR>");
  await accept(nvim.path("b.txt"));
  write(path, "without asking\n");
  write(nvim.path("b.txt"), "seen later\n");
  await nvim.waitFor("vim.fn.getbufoneline('b.txt', 1) == 'seen later'", "the write to be noticed");
  t.equal(await nvim.lua(`return ${TEXT}`), "onemine\n2\nthree");
  t.equal((await nvim.nvim.mode).blocking, false);
});

t.test("a buffer of a new file is reloaded without asking", async (t) => {
  const { nvim, path, accept } = await startWithCli(t, "", "deep/new.txt");
  await accept();
  write(path, PROPOSED);
  await nvim.waitFor(`vim.api.nvim_buf_get_lines(0, 1, 2, false)[1] == '2'`, "the new text", 1000);
  t.equal((await nvim.nvim.mode).blocking, false);
  write(path, "again\n");
  await nvim.waitFor(`vim.api.nvim_buf_get_lines(0, 0, 1, false)[1] == 'again'`, "the newer text", 1000);
  await nvim.input("Gomine<Esc>:write<CR>");
  t.equal((await nvim.nvim.mode).blocking, false);
  t.equal(readFileSync(path, "utf8"), "again\nmine\n");
});

t.test("accepting is refused with advice if the file has unsaved changes", async (t) => {
  const { reviewer, nvim, path } = await start(t);
  for (const keys of [":GeminiAccept<CR>", "<C-w>w:w<CR>", "<C-w>w:wq<CR>", "<C-w>wZZ"]) {
    await nvim.input("ggAmine<Esc>");
    const id = await reviewer.open(path, PROPOSED);
    await nvim.command("messages clear");
    t.match(await nvim.lua(`return vim.wo[...].winbar`, (await reviewer.proposals())[0]), /unsaved changes/);
    await nvim.input(keys);
    t.same(await reviewer.outcomes(), []);
    t.match(
      await nvim.messages(),
      /a\.txt has unsaved changes: save them first, or discard them with :GeminiAccept!/,
    );
    t.equal((await reviewer.proposals()).length, 1);
    t.equal(await nvim.lua(`return ${TEXT}`), "onemine\ntwo\nthree");
    await reviewer.close(id);
    await nvim.command("only | edit! a.txt");
  }
});

t.test("unsaved changes that were made after the proposal prevent accepting the proposal", async (t) => {
  const { reviewer, nvim, path } = await start(t);
  await reviewer.open(path, PROPOSED);
  await nvim.input("Amine<Esc>:GeminiAccept<CR>");
  t.same(await reviewer.outcomes(), []);
  await nvim.input("u:GeminiAccept<CR>");
  t.equal((await reviewer.outcome()).name, "diff_accepted");
});

for (const keys of [":GeminiAccept!<CR>", "<C-w>w:w!<CR>"]) {
  t.test(`${keys} replaces unsaved changes, and one undo restores them`, async (t) => {
    const { reviewer, nvim, path } = await start(t);
    await nvim.input("Amine<Esc>");
    const id = await reviewer.open(path, PROPOSED);
    await nvim.input(keys);
    t.same(await reviewer.outcome(), { name: "diff_accepted", payload: { id, content: PROPOSED } });
    write(path, PROPOSED);
    await reviewer.call("file_changed", { path });
    t.equal(await nvim.lua(`return ${TEXT}`), "one\n2\nthree");
    t.equal((await nvim.nvim.mode).blocking, false);
    t.equal(await nvim.lua(`return vim.bo[vim.fn.bufnr('a.txt')].modified`), false);
    await nvim.input("u");
    t.equal(await nvim.lua(`return ${TEXT}`), "onemine\ntwo\nthree");
  });
}

t.test("text typed after :GeminiAccept! is not discarded", async (t) => {
  const { reviewer, nvim, path } = await start(t);
  await nvim.input("Amine<Esc>");
  await reviewer.open(path, PROPOSED);
  await nvim.input(":GeminiAccept!<CR>Amore<Esc>");
  await reviewer.outcome();
  write(path, PROPOSED);
  await reviewer.call("file_changed", { path });
  t.equal(await nvim.lua(`return ${TEXT}`), "oneminemore\ntwo\nthree");
});

t.test("watching files costs nothing while no file changes", async (t) => {
  const { reviewer, nvim, path } = await start(t);
  await reviewer.open(path, PROPOSED);
  await nvim.lua("vim.wait(100)");
  const usage = async () =>
    Number(
      await nvim.lua(
        "local u = vim.uv.getrusage() return (u.utime.sec + u.stime.sec) * 1e6 + u.utime.usec + u.stime.usec",
      ),
    );
  const before = await usage();
  await delay(1000); // the test measures an idle Neovim
  const spent = (await usage()) - before;
  t.ok(spent < 10_000, `${spent} us of processor time in an idle second`);
});
