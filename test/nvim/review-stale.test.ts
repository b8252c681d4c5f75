/** Tests how changes of a file affect its review, with a real host. */
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import t, { type Test } from "tap";
import { startConnected } from "../support/bridge.ts";
import { shareNvim } from "../support/reset.ts";
import { LAYOUT, WINBAR } from "../support/review.ts";

shareNvim(t);

const FILES = { "a.txt": "one\ntwo\nthree\n", "b.txt": "b\n" };
const PROPOSED = "one\n2\nthree\n";
const TEXT = `table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('a.txt'), 0, -1, true), '\\n')`;

async function start(t: Test, args = ["a.txt"], file = "a.txt") {
  const { bridge, nvim, client } = await startConnected(t, { files: FILES, args });
  const path = nvim.path(file);
  const isStale = (stale: boolean) =>
    nvim.waitFor(
      `(${WINBAR}:find('stale', 1, true) ~= nil) == ${stale}`,
      stale ? "the word stale" : "the word stale to go",
    );
  return {
    bridge,
    nvim,
    client,
    path,
    isStale,
    open: () => client.openDiff(path, PROPOSED),
    isClosed: () => nvim.waitFor("#require('gemini-bridge').diffs() == 0", "the review to close"),
  };
}

/** Writes a file as the CLI does: truncates the file first, and writes the text in pieces. */
function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "");
  for (const part of text.match(/.{1,20}/gs) ?? []) appendFileSync(path, part);
}

t.test("the winbar does not name a command that discards unsaved changes of the file", async (t) => {
  const { nvim, open, isStale } = await start(t);
  await open();
  await nvim.input("ggOmine<Esc>");
  await isStale(true);
  t.match(await nvim.lua(`return ${WINBAR}`), /stale: the file has changed · :w accepts,/);
  await nvim.input("u");
  await isStale(false);
});

for (const args of [["a.txt"], ["b.txt"]]) {
  const how = args[0] === "a.txt" ? "open" : "not open";
  t.test(`a proposal is stale while its file differs from before on disk, ${how}`, async (t) => {
    const { nvim, path, client, open, isStale } = await start(t, args);
    await open();
    t.match(await nvim.lua(`return ${WINBAR}`), /1 hunk · :w accepts,/);
    write(path, "one\ntwo\nthree\nfour\n");
    await isStale(true);
    t.match(await nvim.lua(`return ${WINBAR}`), /stale: the file has changed · :w! accepts,/);
    t.match(await nvim.messages(), /a\.txt has changed since the proposal was made: compare again/);
    await nvim.waitFor(`${WINBAR}:find('2 hunks', 1, true)`, "it to be compared with the file as it is now");
    write(path, FILES["a.txt"]);
    await isStale(false);
    write(path, "four\n");
    await isStale(true);
    await nvim.input(":GeminiAccept<CR>");
    await nvim.says(
      /a\.txt has changed since the proposal was made: compare again, then accept with :GeminiAccept!/,
    );
    t.equal(await nvim.lua("return #require('gemini-bridge').diffs()"), 1);
    await nvim.input(":GeminiAccept!<CR>");
    t.same(await client.waitForNotification("ide/diffAccepted"), { filePath: path, content: PROPOSED });
  });

  t.test(`a review closes when the file contains the proposed text, ${how}`, async (t) => {
    const { nvim, path, client, open, isClosed } = await start(t, args);
    for (const [name, bytes] of [
      ["as it is", PROPOSED],
      ["with CRLF", PROPOSED.replaceAll("\n", "\r\n")],
      ["with a byte order mark", `\uFEFF${PROPOSED}`],
    ] as const) {
      writeFileSync(path, bytes.replace("2", "two"));
      await nvim.command("edit!");
      const before = await nvim.lua(LAYOUT);
      await open();
      write(path, bytes);
      await isClosed();
      if (how === "open") await nvim.waitFor(`${TEXT}:find('2', 1, true)`, "the new text");
      t.same(await nvim.lua(LAYOUT), before, name);
      t.same([client.received["ide/diffAccepted"], client.received["ide/diffRejected"]], [[], []]);
    }
  });
}

t.test("a review closes when the file contains the edited proposal", async (t) => {
  const { nvim, path, open, isClosed } = await start(t, ["b.txt"]);
  await open();
  await nvim.command("GeminiReview");
  await nvim.input("Goand more<Esc>");
  write(path, `${PROPOSED}and more\n`);
  await isClosed();
});

t.test("edits in a proposal that the CLI does not write open a new review", async (t) => {
  const { nvim, path, client, open, isClosed } = await start(t, ["b.txt"]);
  for (const decide of ["GeminiReject", "GeminiAccept"]) {
    writeFileSync(path, "1\n");
    await open();
    await nvim.command("GeminiReview");
    await nvim.input("Goand more<Esc>");
    await nvim.command("messages clear");
    write(path, PROPOSED.replaceAll("\n", "\r\n"));
    await nvim.says(/without your edits/);
    await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the review of the edits");
    await nvim.command(decide);
    await isClosed();
  }
  await nvim.waitFor(async () => readFileSync(path, "utf8") === `${PROPOSED}and more\n`, "what was typed");
  t.same(
    [client.received["ide/diffAccepted"], client.received["ide/diffRejected"]],
    [[], []],
    "no CLI hears",
  );
});

t.test("a review of a new file closes when the file appears with the proposed text", async (t) => {
  const { nvim, path, open, isClosed } = await start(t, ["a.txt"], "x/y/new.txt");
  await open();
  mkdirSync(nvim.path("x"));
  write(path, PROPOSED);
  await isClosed();
});

t.test("a decision takes precedence over a file that contains the proposal", async (t) => {
  const { nvim, path, client, open } = await start(t);
  await nvim.lua(`
    local rpc = require('gemini-bridge.calls')
    local carry_out = rpc.call
    function rpc.call(name, params, ...)
      if name == 'diff_close' then require('gemini-bridge').reject({}) end
      return carry_out(name, params, ...)
    end`);
  await open();
  write(path, PROPOSED);
  t.same(await client.waitForNotification("ide/diffRejected"), { filePath: path });
  await nvim.waitFor("#require('gemini-bridge.review.records').decided() == 0", "the decision to be settled");
});

t.test("an edit of the file's buffer makes the review stale until it is undone", async (t) => {
  const { nvim, open, isStale } = await start(t);
  await open();
  await nvim.input("Amine<Esc>");
  await isStale(true);
  await nvim.input("u");
  await isStale(false);
});

t.test("an immediate edit of a long text makes the review stale", async (t) => {
  const { nvim, path, open, isStale } = await start(t);
  writeFileSync(path, "one line of many\n".repeat(50_000));
  await nvim.command("edit!");
  await open();
  await nvim.input("Amine<Esc>");
  await isStale(true);
});

t.test(
  "after a crash of the host, changes of the reviewed file and its buffer are still detected",
  async (t) => {
    const { bridge, nvim, path, client, open, isStale, isClosed } = await start(t);
    await open();
    await nvim.waitFor(
      "require('gemini-bridge.bridge.memory').get().diffs[1].baseline ~= nil",
      "the host to have said what a later one needs",
    );
    const first = await bridge.crash();
    write(path, "four\n");
    await bridge.nextHost(first);
    await isStale(true);
    write(path, FILES["a.txt"]);
    await isStale(false);
    const second = await bridge.crash();
    write(path, PROPOSED);
    await bridge.nextHost(second);
    await isClosed();
    t.same(client.received["ide/diffAccepted"], []);
  },
);

t.test("a replaced proposal is compared with the current file", async (t) => {
  const { path, client, open, isStale } = await start(t, ["b.txt"]);
  await open();
  write(path, "four\n");
  await isStale(true);
  await client.openDiff(path, "five\n");
  await isStale(false);
  write(path, "six\n");
  await isStale(true);
});

t.test("a link, FIFO or device in place of the reviewed file makes the review stale", async (t) => {
  const { bridge, nvim, path, open, isStale, isClosed } = await start(t, ["b.txt"]);
  await open();
  for (const replace of [
    () => execFileSync("mkfifo", [path]),
    () => symlinkSync("/dev/zero", path),
    () => symlinkSync(nvim.path("b.txt"), path),
  ]) {
    rmSync(path);
    replace();
    await isStale(true);
    writeFileSync(nvim.path("new"), FILES["a.txt"]);
    renameSync(nvim.path("new"), path);
    await isStale(false);
  }
  // The target of a link is also watched.
  mkdirSync(nvim.path("elsewhere"));
  writeFileSync(nvim.path("elsewhere/c.txt"), "");
  rmSync(path);
  symlinkSync(nvim.path("elsewhere/c.txt"), path);
  await isStale(true);
  write(nvim.path("elsewhere/c.txt"), PROPOSED);
  await isClosed();
  t.equal(bridge.files().length, 1, "and the host lives");
});

t.test("a write that the host has not noticed yet makes the proposal stale", async (t) => {
  for (const args of [["a.txt"], ["b.txt"]]) {
    const { nvim, path, open } = await start(t, args);
    await open();
    const pending = await nvim.lua(
      `vim.fn.writefile({ 'by a formatter' }, ...)
       require('gemini-bridge').accept()
       return #require('gemini-bridge').diffs()`,
      path,
    );
    t.equal(pending, 1);
    await nvim.says(/a\.txt has changed since the proposal/);
  }
});

t.test("a file that was written with the same text is not stale", async (t) => {
  for (const args of [["a.txt"], ["b.txt"]]) {
    const { nvim, client, path, open } = await start(t, args);
    await open();
    await nvim.lua(
      `vim.fn.writefile({ 'one', 'two', 'three' }, ...)
       require('gemini-bridge').accept()`,
      path,
    );
    t.same(await client.waitForNotification("ide/diffAccepted"), { filePath: path, content: PROPOSED });
  }
});

t.test("changes of the file that auto-save has written make the proposal stale", async (t) => {
  const { nvim, path, open } = await start(t);
  await nvim.command("autocmd TextChanged,InsertLeave * silent! write");
  await open();
  await nvim.input("Gomine<Esc>");
  await nvim.waitFor(() => readFileSync(path, "utf8").includes("mine"), "auto-save");
  await nvim.input(":GeminiAccept<CR>");
  await nvim.says(/a\.txt has changed since/);
  t.equal(await nvim.lua("return #require('gemini-bridge').diffs()"), 1);
});
