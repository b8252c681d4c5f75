/**
 * Tests keys of the review page: decisions on files, folders, turns and proposals, and notes. Also tests what the agent
 * is told.
 */
import { existsSync } from "node:fs";
import t from "tap";
import { z } from "zod";
import { HookedAgent } from "../support/hooked-agent.ts";
import { sharePage, startPage } from "../support/page.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);
const open = sharePage(t);

const FILES = { "a.txt": "a\n", "b.txt": "b\n", "src/c.ts": "c\n", "src/d.ts": "d\n" };

t.test("keys of the review page's tree decide on files, folders, turns and all changes", async (t) => {
  const page = await open(t, { files: FILES, args: ["a.txt"] });
  const { nvim, agent, read } = page;
  await agent.prompt("first");
  await agent.write("a.txt", "A\n");
  await agent.write("b.txt", "B\n");
  await agent.prompt("second");
  await agent.write("src/c.ts", "C\n");
  await agent.write("src/d.ts", "D\n");
  await page.changed(4);
  await nvim.input(":GeminiChanges<CR>");
  await page.shows(
    t,
    "▾ second +2 -2 0/2",
    " ▾ src +2 -2 0/2",
    "  ● c.ts +1 -1 0/1",
    "  ● d.ts +1 -1 0/1",
    "▾ first +2 -2 0/2",
    " ● a.txt +1 -1 0/1",
    " ● b.txt +1 -1 0/1",
  );
  await nvim.input("g?");
  const float = `(function()
    local win = vim.iter(vim.api.nvim_list_wins()):find(function(win)
      return vim.api.nvim_win_get_config(win).relative ~= ''
    end)
    return win and vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, -1, true)
  end)()`;
  await nvim.waitFor(`${float} ~= nil`, "the list of keys");
  const listed = z.array(z.string()).parse(await nvim.lua(`return ${float}`));
  for (const row of [
    /^ \\s, s +Keep the hunk/,
    /^ gx +Undo the turn/,
    /^ \\u, u +Revert/,
    /^ ● ✓ ↺ +undecided, kept/,
  ])
    t.ok(
      listed.some((line) => row.test(line)),
      `${row}`,
    );
  await nvim.input("q");
  await nvim.waitFor(`${float} == nil`, "the list of keys to close");
  await page.is(t, "*page:3", "c.ts:1");

  await nvim.input("]f");
  await page.is(t, "*page:4", "d.ts:1");
  await nvim.input("[f");
  await page.is(t, "*page:3", "c.ts:1");
  await nvim.input("k");
  await nvim.input("X");
  await nvim.says(/Undid 2 hunks in 2 files/);
  t.same([read("src/c.ts"), read("src/d.ts")], ["c\n", "d\n"], "the folder");
  await page.is(t, "*page:6", "a.txt:1");
  await nvim.input("VjS");
  await page.changed(0);
  await nvim.says(/Kept 2 hunks in 2 files/);
  await nvim.input("u");
  await page.changed(2);
  await nvim.input("u");
  await page.changed(4);
  t.same([read("src/c.ts"), read("src/d.ts")], ["C\n", "D\n"], "both decisions are reverted");
  await nvim.input("G");
  await nvim.input("gx");
  await page.changed(2);
  t.same(
    [read("a.txt"), read("b.txt"), read("src/c.ts")],
    ["a\n", "b\n", "C\n"],
    "the turn under the cursor",
  );
  await nvim.input("gg");
  await nvim.input("gs");
  await page.changed(0);
  await nvim.input("u");
  await page.changed(2);
  await nvim.input("gX");
  await page.changed(0);
  t.same([read("src/c.ts"), read("src/d.ts")], ["c\n", "d\n"], "all");
  t.notMatch(await nvim.messages(), /E\d+:/);
});

t.test("generated files are folded, and decided as a group", async (t) => {
  const page = await open(t, {
    files: { ...FILES, "vendor/x.min.js": "x\n", "yarn.lock": "y\n" },
    args: ["a.txt"],
  });
  const { nvim, agent, read } = page;
  await agent.prompt("generate");
  await agent.write("vendor/x.min.js", "X\n");
  await agent.write("yarn.lock", "Y\n");
  await agent.write("package.json", "{}\n");
  await page.changed(3);
  await nvim.input(":GeminiChanges<CR>");
  await page.shows(
    t,
    "▾ generate +3 -2 0/3",
    " ● package.json +1 -0 0/1",
    " ▸ Generated files (2) +2 -2 0/2",
  );
  await nvim.input("S");
  await page.changed(2);
  t.equal(await nvim.lua("return vim.fn.line('.')"), 3, "the cursor is on the group");
  await nvim.input("]h");
  await nvim.says(/Only a closed group in the tree still has unreviewed changes/);
  await nvim.input("<CR>");
  await page.shows(
    t,
    "▾ generate +2 -2 1/3",
    " ✓ package.json 1/1",
    " ▾ Generated files (2) +2 -2 0/2",
    "  ● vendor/x.min.js +1 -1 0/1",
    "  ● yarn.lock +1 -1 0/1",
  );
  await nvim.input("<CR>");
  await nvim.input("X");
  await nvim.says(/Undid 2 hunks in 2 files\. No unreviewed changes are left\./);
  t.same([read("vendor/x.min.js"), read("yarn.lock")], ["x\n", "y\n"]);
  t.ok(existsSync(nvim.path("package.json")));
});

t.test("the key for notes on the review page adds a note to lines of the file", async (t) => {
  const page = await startPage(t, { files: { "a.txt": "1\n2\n3\n4\n" } });
  const { nvim, agent } = page;
  await agent.write("a.txt", "1\ntwo\n3\n4\n");
  await page.changed(1);
  await nvim.input(":GeminiChanges<CR>");
  await page.is(t, "page:2", "*a.txt:2");
  await nvim.input("\\t");
  await nvim.input("gn");
  await nvim.says(/There are no notes/);
  await nvim.input("\\t");
  await nvim.input("Vj\\nwhy not 2?<CR>");
  const notes = "return require('gemini-bridge.notes.notes').list()";
  t.match(await nvim.lua(notes), [{ first: 2, last: 3, text: "why not 2?" }]);
  const sign = "return vim.api.nvim_eval_statusline('%s', { use_statuscol_lnum = 2 }).str";
  t.match(await nvim.lua(sign), /\u270e/, "in place of the sign of the change");
});

t.test(
  "the next prompt tells the agent which changes were undone, and :GeminiStatus shows the text",
  async (t) => {
    const page = await startPage(t, { files: { "a.txt": "1\n" } });
    const { nvim, agent } = page;
    const undo = async () => {
      await agent.write("a.txt", "2\n");
      await page.changed(1);
      await nvim.command("GeminiUndo all");
      await page.changed(0);
    };
    await agent.prompt("count");
    await undo();
    await nvim.command("GeminiShare off");
    t.equal(await agent.prompt("go on"), "", "nothing while sharing is paused");
    await nvim.command("GeminiShare on");
    const text = 'The user undid your changes in "a.txt" (1 hunk); do not redo them unless asked.';
    const answer = JSON.parse(await agent.prompt("go on"));
    t.same(answer, { hookSpecificOutput: { hookEventName: "BeforeAgent", additionalContext: text } });
    t.equal(await agent.prompt("go on"), "", "only once");
    await nvim.command("GeminiStatus");
    await nvim.waitFor(
      async () => String(await nvim.lua("return vim.fn.getline(vim.fn.search('Told agent'))")).endsWith(text),
      "the text",
    );
    t.match(
      await nvim.lua("return vim.fn.getline(vim.fn.search('Told agent'))"),
      /^Told agent +gemini, .* ago: The user undid/,
    );
  },
);

t.test("with changes.tell_agent off, the agent is told nothing", async (t) => {
  const init = "require('gemini-bridge').setup({ changes = { tell_agent = false } })";
  const page = await startPage(t, { files: { "a.txt": "1\n" }, init });
  await page.agent.prompt("count");
  await page.agent.write("a.txt", "2\n");
  await page.changed(1);
  await page.nvim.command("GeminiUndo all");
  await page.changed(0);
  t.equal(await page.agent.prompt("go on"), "");
});

t.test("the review page lists, accepts and rejects pending proposals", async (t) => {
  const page = await open(t, { files: { "a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n" } });
  const { nvim, agent, bridge } = page;
  await agent.write("c.txt", "C\n");
  const client = await bridge.client();
  await client.openDiff(nvim.path("a.txt"), "A\n");
  await client.openDiff(nvim.path("b.txt"), "B\n");
  await nvim.waitFor("#require('gemini-bridge').diffs() == 2", "the proposals");
  await nvim.command("GeminiChanges");
  await page.is(t, "*page:5", "c.txt:1");
  t.match(await page.tree(), [
    "▾ Proposals",
    " ? a.txt",
    " ? b.txt",
    /^▾ gemini, \d\d:\d\d \+1 -1 0\/1$/,
    " ● c.txt +1 -1 0/1",
  ]);
  await nvim.input("gg");
  await nvim.input("jS");
  await client.waitForNotification("ide/diffAccepted");
  await nvim.waitFor(async () => (await page.tree()).length === 4, "the proposal to go");
  await nvim.input("gg");
  await nvim.input("X");
  await client.waitForNotification("ide/diffRejected");
  await nvim.waitFor(async () => (await page.tree()).length === 2, "the group to go");
});

t.test(
  "the cursor of the review page's tree does not follow a later proposal of the same file",
  async (t) => {
    const page = await open(t, { files: { "a.txt": "a\n", "c.txt": "c\n" } });
    const { nvim, agent, bridge } = page;
    await agent.write("c.txt", "C\n");
    const client = await bridge.client();
    const propose = async () => {
      await client.openDiff(nvim.path("a.txt"), "A\n");
      await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the proposal");
    };
    const goesTo = (lines: number, row: number) =>
      nvim.waitFor(
        async () =>
          (await page.tree()).length === lines && (await nvim.lua("return vim.fn.line('.')")) === row,
        `a tree of ${lines} lines with the cursor in line ${row}`,
      );
    await propose();
    await nvim.command("GeminiChanges");
    await goesTo(4, 4);
    await nvim.input("gg");
    await nvim.input("j");
    await nvim.lua("require('gemini-bridge').reject()");
    await goesTo(2, 2);
    await propose();
    await goesTo(4, 4);
  },
);

t.test(
  "the fifth proposal in a turn shows a hint, only once, about reviewing all changes together",
  async (t) => {
    const page = await open(t, { files: { "a.txt": "a\n" } });
    const { nvim, bridge } = page;
    const agent = new HookedAgent(bridge, "of the client", process.pid);
    const client = await bridge.client();
    const advice = async () => (await nvim.messages()).match(/Tip: Shift\+Tab in the CLI/g)?.length ?? 0;
    const propose = async (from: number, to: number) => {
      for (let index = from; index <= to; index += 1)
        await client.openDiff(nvim.path(`f${index}.txt`), "new\n");
      await nvim.waitFor(`#require('gemini-bridge').diffs() == ${to}`, "the proposals");
    };
    await agent.prompt("write a lot");
    await nvim
      .waitFor("require('gemini-bridge').status().clients[1].hooks", "the hook to be known")
      .catch(() => {});
    await propose(1, 4);
    await agent.prompt("and more");
    await propose(5, 8);
    t.equal(await advice(), 0, "none of the turns has five");
    await propose(9, 9);
    await nvim.waitFor(async () => (await advice()) === 1, "the advice");
    await propose(10, 16);
    t.equal(await advice(), 1);
  },
);
