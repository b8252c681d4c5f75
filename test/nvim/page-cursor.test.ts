/** Tests the position of the cursor on the review page, and the tree and bars of the page on a narrow screen. */
import t from "tap";
import { z } from "zod";
import { sharePage, startPage } from "../support/page.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);
const open = sharePage(t);

const text = Array.from({ length: 40 }, (_, index) => `${index + 1}\n`).join("");
/** A text with three hunks. */
const changed = text
  .replace("5\n", "five\n")
  .replace("20\n", "20\nnew\nlines\nhere\n")
  .replace("30\n", "thirty\n");

t.test("after a decision on selected lines, the cursor goes to the next undecided hunk", async (t) => {
  const page = await open(t, { files: { "a.txt": text, "b.txt": "b\n" } });
  const { nvim, agent, read } = page;
  await agent.write("a.txt", changed);
  await agent.write("b.txt", "B\n");
  await page.changed(2);
  await nvim.input(":GeminiChanges<CR>");
  await page.is(t, "*page:2", "a.txt:5");
  await nvim.input("\\t]h");
  await page.is(t, "page:2", "*a.txt:21");
  await nvim.input("V\\x");
  await nvim.says(/Undid 1 hunk in a\.txt/);
  await page.is(t, "page:2", "*a.txt:21");
  t.equal(read("a.txt"), changed.replace("new\n", ""));
  await nvim.input("Vj\\s");
  await nvim.says(/Kept 1 hunk in a\.txt/);
  await page.is(t, "page:2", "*a.txt:32");
  await nvim.input("V\\s");
  await page.is(t, "page:3", "*b.txt:1");
  await nvim.input("V\\s");
  await page.is(t, "page:2", "*a.txt:5");
  await nvim.input("V\\s");
  await nvim.says(/No unreviewed changes are left/);
});

t.test("the user reverts one decision at a time, and goes to the hunk that is undecided again", async (t) => {
  const page = await open(t, { files: { "a.txt": text, "b.txt": "b\n" }, args: ["b.txt"] });
  const { nvim, agent, read } = page;
  await agent.prompt("count");
  await agent.write("a.txt", changed);
  await agent.write("b.txt", "B\n");
  await page.changed(2);
  await nvim.input(":GeminiChanges<CR>");
  await page.is(t, "*page:2", "a.txt:5");
  await nvim.input("\\t\\x");
  await page.is(t, "page:2", "*a.txt:21");
  await nvim.input("\\s");
  await page.is(t, "page:2", "*a.txt:33");
  await nvim.input("\\x");
  await page.is(t, "page:3", "*b.txt:1");
  await page.changed(1);
  await nvim.input("\\u");
  await page.is(t, "page:2", "*a.txt:33");
  await nvim.input("\\u");
  await page.is(t, "page:2", "*a.txt:21");
  await nvim.input("\\u");
  await page.is(t, "page:2", "*a.txt:5");
  await page.shows(t, "▾ count +6 -3 0/4", " ● a.txt +5 -2 0/3", " ● b.txt +1 -1 0/1");
  t.equal(read("a.txt"), changed);
  t.equal(await nvim.lua("return vim.bo.modified"), false);

  await nvim.input("\\t");
  await nvim.input("X");
  await page.is(t, "*page:3", "b.txt:1");
  await page.changed(1);
  await nvim.input("u");
  await page.is(t, "*page:2", "a.txt:5");
});

t.test("the cursor of the review page stays when the user or an agent writes the file", async (t) => {
  const page = await open(t, { files: { "a.txt": text } });
  const { nvim, agent } = page;
  await agent.write("a.txt", changed);
  await page.changed(1);
  await nvim.input(":GeminiChanges<CR>");
  await page.is(t, "page:2", "*a.txt:5");
  await nvim.input("]h");
  await page.is(t, "page:2", "*a.txt:21");
  const hunks = (count: number) =>
    nvim.waitFor(`require('gemini-bridge').changes()[1].hunks == ${count}`, `${count} hunks`);
  await nvim.input("GAmine<Esc>:silent write<CR>");
  await agent.write("a.txt", changed.replace("40\n", "40mine\n").replace("12\n", "twelve\n"));
  await hunks(4);
  await page.is(t, "page:2", "*a.txt:43");
});

t.test("the cursor stays on a hunk that cannot be undone because of the user's edits", async (t) => {
  const page = await open(t, { files: { "a.txt": text, "src/b.txt": "b\n" }, args: ["a.txt"] });
  const { nvim, agent, read } = page;
  await agent.write("a.txt", changed);
  await agent.write("src/b.txt", "B\n");
  await page.changed(2);
  await nvim.input(":GeminiChanges<CR>");
  await page.is(t, "*page:3", "b.txt:1");
  t.equal(await nvim.lua("return vim.fn.bufname(vim.fn.winbufnr(2))"), "src/b.txt");
  await nvim.input("]h");
  await nvim.input("\\tAmine<Esc>:silent write<CR>");
  await nvim.waitFor("require('gemini-bridge').changes()[1].ranges[1].conflict", "the conflict");
  await nvim.input("\\x");
  await nvim.says(/1 hunk in a\.txt was not undone, because you have edited it/);
  await page.is(t, "page:4", "*a.txt:5");
  await nvim.input("\\X");
  await nvim.says(/Undid 2 hunks in a\.txt\. 1 hunk in a\.txt was not undone/);
  await page.is(t, "page:3", "*b.txt:1");
  t.equal(read("a.txt"), text.replace("5\n", "fivemine\n"));
});

t.test(
  "the page goes on after a restart of the host, and the cursor of the tree stays on a file that joins another turn",
  async (t) => {
    const page = await startPage(t, { files: { "a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n" } });
    const { nvim, agent } = page;
    await agent.prompt("first");
    for (const name of ["a", "b", "c"]) await agent.write(`${name}.txt`, "agent\n");
    await page.changed(3);
    await nvim.input(":GeminiChanges<CR>");
    await page.is(t, "*page:2", "a.txt:1");
    await nvim.input("]h");
    await page.is(t, "*page:3", "b.txt:1");
    await nvim.waitFor(() => page.storedLists().includes("c.txt"), "the changes to be stored");
    const host = await page.bridge.host();
    process.kill(host, "SIGKILL");
    await page.bridge.nextHost(host);
    await page.changed(3);
    await page.shows(
      t,
      "▾ first +3 -3 0/3",
      " ● a.txt +1 -1 0/1",
      " ● b.txt +1 -1 0/1",
      " ● c.txt +1 -1 0/1",
    );
    await nvim.input("3G");
    await page.is(t, "*page:3", "b.txt:1");
    await agent.prompt("second");
    await agent.write("b.txt", "agent\nagain\n");
    await page.shows(
      t,
      "▾ second +2 -1 0/1",
      " ● b.txt +2 -1 0/1",
      "▾ first +2 -2 0/2",
      " ● a.txt +1 -1 0/1",
      " ● c.txt +1 -1 0/1",
    );
    await page.is(t, "*page:2", "b.txt:1");
    await nvim.command("GeminiStop");
    await page.shows(t, "");
    await nvim.input("s");
    await nvim.says(/No unreviewed changes here/);
  },
);

t.test("the counts on the review page form columns if there is enough room", async (t) => {
  const page = await open(t, { files: { "a.txt": text, "long.txt": "x\n" }, args: ["a.txt"] });
  const { nvim, agent } = page;
  await agent.prompt("columns");
  await agent.write("a.txt", "");
  await agent.write("long.txt", "y\n");
  await agent.write("empty.txt", "");
  await agent.write("a-name-that-needs-almost-the-whole-line.c", "new\n");
  await page.changed(4);
  await nvim.input(":GeminiChanges<CR>");
  const lines = async () =>
    z.array(z.string()).parse(await nvim.lua("return vim.fn.getbufline('gemini-page://changes', 1, '$')"));
  await nvim.waitFor(async () => (await lines()).length === 5, "the tree");
  t.same(await lines(), [
    "▾ columns                             +2 -41 0/4",
    " ● a-name-that-needs-almost-the-whol… +1  -0 0/1",
    " ● a.txt                              +0 -40 0/1",
    " ● empty.txt                          +0  -0 0/1",
    " ● long.txt                           +1  -1 0/1",
  ]);
  await nvim.input("3GS");
  await nvim.input("4GS");
  await page.changed(2);
  await nvim.waitFor(async () => (await lines())[3]?.includes("✓") === true, "the decisions");
  t.same((await lines()).slice(2, 4), [
    " ✓ a.txt                                     1/1",
    " ✓ empty.txt                                 1/1",
  ]);
});

t.test(
  "on a narrow screen, the bar shows the path and the status of the file instead of key hints",
  async (t) => {
    const name = "a-folder/with-a-long-name/and-a-file.txt";
    const page = await startPage(t, { files: { [name]: text, "b.txt": "b\n" }, args: ["b.txt"] });
    const { nvim, agent } = page;
    await nvim.command("set columns=80");
    await agent.prompt("remove b and change all others");
    await agent.write(name, changed);
    await agent.write("b.txt", undefined);
    await page.changed(2);
    await nvim.input(":GeminiChanges<CR>");
    const bar = () =>
      nvim.lua(`local win = vim.fn.win_getid(2)
      return vim.trim(vim.api.nvim_eval_statusline(vim.wo[win].winbar, { winid = win, use_winbar = true }).str)`);
    await page.is(t, "*page:3", "and-a-file.txt:5");
    t.equal(await bar(), "…/with-a-long-name/and-a-file.txt · 0/3 · g? keys");
    await nvim.input("S");
    await page.is(t, "*page:4", "b.txt:1");
    t.equal(await bar(), "b.txt (deleted) · 0/1 · g? keys");
    t.notMatch(await nvim.messages(), /deleted/, "the page needs no message for this");
    const lines = async () =>
      z.array(z.string()).parse(await nvim.lua("return vim.fn.getbufline('gemini-page://changes', 1, '$')"));
    await nvim.waitFor(async () => (await lines())[0]?.endsWith("3/4") === true, "the counts");
    const tree = await lines();
    t.equal(tree[0], "▾ remove b and change… 3/4", "the title needs more room than the counts");
    t.equal(tree.at(-1), " ● b.txt         +0 -1 0/1");
    await nvim.input("gg<CR>");
    await nvim.input("]h");
    await nvim.says(/Only a closed group in the tree still has unreviewed changes/);
  },
);
