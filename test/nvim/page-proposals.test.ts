/** Tests pending proposals on the review page, and the advice to review many of them together. */
import t from "tap";
import { HookedAgent } from "../support/hooked-agent.ts";
import { startPage } from "../support/page.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);

t.test("the review page lists, accepts and rejects pending proposals", async (t) => {
  const page = await startPage(t, { files: { "a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n" } });
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
    const page = await startPage(t, { files: { "a.txt": "a\n", "c.txt": "c\n" } });
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
    const page = await startPage(t, { files: { "a.txt": "a\n" } });
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
