/** What was proposed and written: listed, looked at, taken back. */
import { readFileSync, writeFileSync } from "node:fs";
import t from "tap";
import { z } from "zod";
import { startBridge } from "../support/bridge.ts";
import { HookedAgent } from "../support/hooked-agent.ts";

const Turns = z.array(
  z.object({
    cli: z.string(),
    prompt: z.string(),
    at: z.int(),
    entries: z.array(z.object({ path: z.string(), kind: z.string(), at: z.int() })),
  }),
);

t.test("an accepted proposal is in the history, opens as a diff and is taken back", async (t) => {
  const bridge = await startBridge(t, {
    files: { "a.txt": "one\r\ncaf\u00e9\r\n", "b.txt": "1\n" },
    args: ["b.txt"],
  });
  const { nvim } = bridge;
  const agent = new HookedAgent(bridge);
  const client = await bridge.client();
  await nvim.lua(`vim.ui.select = function(items, opts, choose)
    vim.g.offered = vim.tbl_map(opts.format_item, items)
    vim.g.wanted = vim.g.wanted or 1
    choose(items[vim.g.wanted])
  end`);
  await nvim.command("GeminiHistory");
  await nvim.waitFor(
    async () => /No CLI has proposed/.test(await nvim.messages()),
    "that there is nothing yet",
  );

  await agent.prompt("two, please");
  await agent.write("b.txt", "1\n2\n");
  await agent.starts("a.txt");
  await client.openDiff(nvim.path("a.txt"), "two\ncaf\u00e9\n");
  await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the review");
  await nvim.command("GeminiAccept");
  await client.waitForNotification("ide/diffAccepted");
  writeFileSync(nvim.path("a.txt"), "two\r\ncaf\u00e9\r\n");
  await agent.ended("a.txt");

  const tabs = "#vim.api.nvim_list_tabpages()";
  await nvim.input(":GeminiHistory<CR>");
  await nvim.waitFor(`${tabs} == 2`, "the tab");
  t.match(await nvim.lua("return vim.g.offered"), [
    /^\d\d:\d\d:\d\d {2}accepted {2}a\.txt {2}gemini: two, please$/,
    /written {3}b\.txt {2}gemini: two, please$/,
  ]);
  const shown = z.array(z.string()).parse(
    await nvim.lua(`return vim.tbl_map(function(win)
      local lines = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, -1, true)
      return table.concat(lines, ' ') .. (vim.wo[win].diff and '' or ' no diff')
    end, vim.api.nvim_tabpage_list_wins(0))`),
  );
  t.same(shown, ["one caf\u00e9", "two caf\u00e9"]);
  const names = z.array(z.string()).parse(
    await nvim.lua(`return vim.tbl_map(function(win)
      return vim.fn.bufname(vim.api.nvim_win_get_buf(win)) .. '|' .. vim.wo[win].winbar
    end, vim.api.nvim_tabpage_list_wins(0))`),
  );
  t.match(names, [
    /^gemini-history:\/\/a\.txt before [\d:]{8}\| a\.txt · before $/,
    /^gemini-history:\/\/a\.txt after [\d:]{8}\| a\.txt · accepted by gemini at [\d:]{8} · :GeminiUndo undoes it · q closes $/,
  ]);
  const windows = Number(await nvim.lua("return #vim.api.nvim_list_wins()"));
  await nvim.input("g?");
  await nvim.waitFor(`#vim.api.nvim_list_wins() == ${windows + 1}`, "the list of keys");
  await nvim.input("j");
  await nvim.waitFor(`#vim.api.nvim_list_wins() == ${windows}`, "the list to close");
  await nvim.input(":GeminiUndo<CR>");
  await nvim.waitFor(
    () => readFileSync(nvim.path("a.txt"), "utf8").startsWith("one"),
    "the bytes from before",
  );
  t.equal(readFileSync(nvim.path("a.txt"), "utf8"), "one\r\ncaf\u00e9\r\n");
  await nvim.waitFor(
    async () => /Undid this change of gemini in a\.txt\./.test(await nvim.messages()),
    "the result",
  );
  await nvim.input("q");
  await nvim.waitFor(`${tabs} == 1`, "q to close the tab page");
  t.equal(await nvim.lua("return vim.fn.expand('%:t')"), "b.txt", "and to go back");

  await nvim.lua("vim.g.wanted = 2");
  await nvim.input(":GeminiHistory<CR>");
  await nvim.waitFor(`${tabs} == 2`, "the tab");
  await nvim.input(":GeminiUndo<CR>");
  await nvim.waitFor("#require('gemini-bridge').changes() == 0", "no change to be left");
  t.equal(readFileSync(nvim.path("b.txt"), "utf8"), "1\n", "what was written without a review, too");
  await nvim.command("tabclose");
  await nvim.waitFor("vim.api.nvim_buf_get_lines(0, 0, -1, true)[2] == nil", "the buffer to follow");
  t.notMatch(await nvim.messages(), /E\d+:|conflict|caused an error/);
});

t.test("history() groups entries by turn, also after a crash of the host", async (t) => {
  const bridge = await startBridge(t, { files: { "a.txt": "1\n" } });
  const { nvim } = bridge;
  const agent = new HookedAgent(bridge);
  const history = async () => Turns.parse(await nvim.lua("return require('gemini-bridge').history()"));
  t.same(await nvim.lua("return require('gemini-bridge').history()"), []);
  await agent.prompt("go on");
  await agent.write("a.txt", "1\n2\n");
  await agent.write("b.txt", "1\n");
  await agent.prompt("go on");
  await agent.write("a.txt", "1\n2\n3\n");
  const client = await bridge.client();
  await agent.starts("c.txt");
  await client.openDiff(nvim.path("c.txt"), "1\n");
  await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the review");
  await nvim.command("GeminiReject");
  await client.waitForNotification("ide/diffRejected");
  const before = await history();
  const names = before.map(({ prompt, cli, entries }) => [
    `${cli}: ${prompt}`,
    ...entries.map(({ kind, path }) => `${kind} ${path.slice(nvim.dirs.workspace.length + 1)}`).sort(),
  ]);
  t.same(names, [
    ["gemini: go on", "rejected c.txt", "written a.txt"],
    ["gemini: go on", "written a.txt", "written b.txt"],
  ]);
  const host = await bridge.host();
  process.kill(host, "SIGKILL");
  await bridge.nextHost(host);
  t.same(await history(), before);
  await agent.write("d.txt", "1\n");
  const [now, ...others] = await history();
  t.match(now, { prompt: "go on", entries: { length: 3 } }, "its turn goes on");
  t.same(others, before.slice(1));
  await nvim.command("GeminiStop");
  await bridge.is("stopped");
  t.equal(await nvim.lua("return require('gemini-bridge').history()"), null, "no host");
});
