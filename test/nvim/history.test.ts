/** Tests the history page, which lists, shows and undoes entries. */
import { existsSync, writeFileSync } from "node:fs";
import t from "tap";
import { z } from "zod";
import { startBridge } from "../support/bridge.ts";
import { HookedAgent } from "../support/hooked-agent.ts";
import type { Nvim } from "../support/nvim.ts";
import { startPage } from "../support/page.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);

const Turns = z.array(
  z.object({
    cli: z.string(),
    prompt: z.string(),
    at: z.int(),
    entries: z.array(z.object({ path: z.string(), kind: z.string(), at: z.int() })),
  }),
);

/** Returns the lines of the history page's tree, without the blanks between columns. */
const tree = async (nvim: Nvim) =>
  z
    .array(z.string())
    .parse(
      await nvim.lua(
        "return vim.api.nvim_buf_get_lines(vim.fn.bufnr('^gemini-page://history$'), 0, -1, true)",
      ),
    )
    .map((line) => line.replace(/(?<=\S) +/g, " ").replace(/\d\d:\d\d/, "HH:MM"));

/** Lua that returns the text at the right of the page, and whether the old lines are shown beside that text. */
const RIGHT = `return (function()
  local buf = vim.fn.winbufnr(vim.fn.winnr('$'))
  local namespace = vim.api.nvim_get_namespaces()['gemini-bridge.old_lines']
  local old = {}
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, namespace, 0, -1, { details = true })) do
    for _, line in ipairs(mark[4].virt_lines or {}) do
      old[#old + 1] = '-' .. line[1][1]
    end
  end
  return table.concat(vim.list_extend(old, vim.api.nvim_buf_get_lines(buf, 0, -1, true)), ' ')
end)()`;

t.test("the history page lists proposals and changes by turn, and undoes them", async (t) => {
  const page = await startPage(t, {
    files: { "a.txt": "one\r\ncaf\u00e9\r\n", "src/b.txt": "1\n", "c.txt": "c\n" },
    args: ["c.txt"],
  });
  const { bridge, nvim, agent, read } = page;
  const client = await bridge.client();
  const shows = (wanted: string) =>
    nvim
      .waitFor(async () => (await nvim.lua(RIGHT)) === wanted, wanted)
      .catch(async () => {
        t.equal(await nvim.lua(RIGHT), wanted);
      });
  await nvim.command("GeminiHistory");
  await nvim.says(/No proposals or changes in the open directories in the last 24 hours/);

  await agent.prompt("two, please");
  await agent.write("src/b.txt", "1\n2\n");
  await agent.starts("a.txt");
  await client.openDiff(nvim.path("a.txt"), "two\ncaf\u00e9\n");
  await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the review");
  await nvim.command("GeminiAccept");
  await client.waitForNotification("ide/diffAccepted");
  writeFileSync(nvim.path("a.txt"), "two\r\ncaf\u00e9\r\n");
  await agent.ended("a.txt");
  await agent.prompt("no c");
  await agent.write("c.txt", undefined);
  await agent.starts("d.txt");
  await client.openDiff(nvim.path("d.txt"), "D\n");
  await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the review");
  await nvim.command("GeminiReject");
  await client.waitForNotification("ide/diffRejected");

  await nvim.input(":GeminiHistory<CR>");
  await page.is(t, "*page:2", "c.txt HH:MM:SS:1");
  const label = await nvim.lua("return vim.fn.pathshorten(vim.api.nvim_buf_get_name(0))");
  t.equal(label, "g//history", "the label of the tab page names the command");
  t.same(await tree(nvim), [
    "▾ no c",
    " ● c.txt HH:MM changed",
    " ✗ d.txt HH:MM rejected",
    "▾ two, please",
    " ▾ src",
    "  ● b.txt HH:MM changed",
    " ✓ a.txt HH:MM accepted",
  ]);
  await shows("c");
  t.match(
    await nvim.lua("return vim.wo[vim.fn.win_getid(2)].winbar"),
    / c\.txt · changed \(deleted\) by gemini/,
  );
  await nvim.input("j");
  await page.is(t, "*page:3", "d.txt HH:MM:SS:1");
  await shows("D");
  await nvim.input("x");
  await nvim.says(/There is nothing to undo: this proposal was not written/);
  await nvim.input("G");
  await page.is(t, "*page:7", "a.txt HH:MM:SS:1");
  await shows("-one two caf\u00e9");
  t.equal(await nvim.lua("return vim.bo[vim.fn.winbufnr(2)].modifiable"), false);

  await nvim.input("d");
  await page.is(t, "*page:7", "a.txt:1", "a.txt HH:MM:SS:1");
  t.same(await nvim.lua("return vim.fn.getbufline(vim.fn.winbufnr(2), 1, '$')"), ["one", "caf\u00e9"]);
  await shows("two caf\u00e9");
  await nvim.input("k");
  await page.is(t, "*page:6", "b.txt:1", "b.txt HH:MM:SS:2");
  await nvim.input("d");
  await page.is(t, "*page:6", "b.txt HH:MM:SS:2");

  const windows = Number(await nvim.lua("return #vim.api.nvim_list_wins()"));
  await nvim.input("g?");
  await nvim.waitFor(`#vim.api.nvim_list_wins() == ${windows + 1}`, "the list of keys");
  await nvim.input("j");
  await nvim.waitFor(`#vim.api.nvim_list_wins() == ${windows}`, "the list to close");
  await nvim.input("<CR>");
  await page.is(t, "page:7", "*a.txt HH:MM:SS:1");
  await nvim.input(":GeminiUndo<CR>");
  await nvim.says(/Undid the change of gemini in a\.txt\./);
  t.equal(read("a.txt"), "one\r\ncaf\u00e9\r\n");
  await nvim.waitFor(async () => (await tree(nvim))[6] === " ↺ a.txt HH:MM undone", "its state");
  await nvim.input("\\x");
  await nvim.says(/a\.txt no longer contains this change/);

  await nvim.input("[f");
  await page.is(t, "page:6", "*b.txt HH:MM:SS:2");
  await nvim.input("\\t");
  await nvim.input("ggVGx");
  await nvim.says(/Undid 2 changes\. .*a\.txt no longer contains this change/);
  await nvim.waitFor("#require('gemini-bridge').changes() == 0", "no change to be left");
  t.equal(read("src/b.txt"), "1\n", "what was written without a review, too");
  t.equal(read("c.txt"), "c\n");
  await nvim.input("gg<CR>");
  await nvim.waitFor(async () => (await tree(nvim))[0] === "▸ no c", "the turn to close");
  await nvim.lua("shown = vim.fn.winbufnr(2)");
  t.not(await nvim.lua("return #require('gemini-bridge.changes.signs').list(shown)"), 0);
  await nvim.input("q");
  await page.is(t, "*c.txt:1");
  t.equal(await nvim.lua("return #vim.fn.getcompletion('*://*', 'buffer')"), 0, "nothing is left");
  t.same(await nvim.lua("return require('gemini-bridge.changes.signs').list(shown)"), [], "nor in memory");
  t.notMatch(await nvim.messages(), /E\d+:|This error probably comes from/);
});

t.test(
  "undoing entries of the history reports conflicts, and asks before it undoes many files",
  async (t) => {
    const names = Array.from({ length: 11 }, (_, index) => `f${index}.txt`);
    const page = await startPage(t, { files: { "a.txt": "1\n2\n", ".env": "A=1\n" }, args: ["a.txt"] });
    const { nvim, agent, read } = page;
    await agent.prompt("first");
    for (const name of names) await agent.write(name, "new\n");
    await agent.prompt("second");
    await agent.write(".env", "A=2\n");
    await agent.write("a.txt", "1\ntwo\n");
    await page.changed(13);
    writeFileSync(nvim.path("a.txt"), "1\nTWO\n");
    await nvim.lua(`vim.ui.select = function(items, opts, choose)
    vim.g.asked = opts.prompt .. ' ' .. opts.kind
    choose(items[vim.g.answer])
  end`);
    await nvim.command("edit | vsplit | edit f0.txt | GeminiHistory");
    await page.is(t, "*page:2", ".env HH:MM:SS:1");
    t.equal(
      await nvim.lua("return vim.fn.getbufline(vim.fn.winbufnr(2), 1)[1]"),
      "The history no longer has the text of this entry, or the file is not shared",
    );
    await nvim.input("jx");
    await nvim.says(/a\.txt was not changed, because the lines of this change were edited later/);
    t.equal(read("a.txt"), "1\nTWO\n", "never forced");
    await nvim.command("let g:answer = 2");
    await nvim.input("jx");
    t.equal(await nvim.lua("return vim.g.asked"), "Undo the changes in 11 files? gemini-bridge");
    t.equal(read("f1.txt"), "new\n");
    await nvim.command("let g:answer = 1");
    await nvim.input("x");
    await nvim.says(/Undid 11 changes\./);
    t.notOk(names.some((name) => existsSync(nvim.path(name))));
    await nvim.command("GeminiHistory | tabfirst | only");
    await nvim.waitFor("#vim.api.nvim_list_tabpages() == 2", "one page");
    await nvim.input("gt");
    await nvim.command("tabclose");
    t.equal(await nvim.lua("return #vim.fn.getcompletion('*://*', 'buffer')"), 0, "nothing is left");
    t.notMatch(await nvim.messages(), /E\d+:|This error probably comes from/);
  },
);

t.test("history() groups entries by turn, also after a restart of the host", async (t) => {
  const { bridge, nvim } = await startBridge(t, { files: { "a.txt": "1\n" } });
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
  await bridge.replaceHost(() => nvim.command("GeminiRestart"));
  t.same(await history(), before);
  await agent.write("d.txt", "1\n");
  const [now, ...others] = await history();
  t.match(now, { prompt: "", entries: { length: 1 } }, "the new host does not know the turn");
  t.same(others, before);
  await nvim.stopBridge();
  t.equal(await nvim.lua("return require('gemini-bridge').history()"), null, "no host");
});

t.test("changes and history are two tabs of one page", async (t) => {
  const page = await startPage(t, { files: { "a.txt": "1\n", "b.txt": "b\n" }, args: ["b.txt"] });
  const { nvim, agent } = page;
  await agent.write("a.txt", "2\n");
  await page.changed(1);
  await nvim.input(":GeminiChanges<CR>");
  await page.is(t, "page:2", "*a.txt:1");
  await nvim.input("\\tgh");
  await page.is(t, "*page:2", "a.txt HH:MM:SS:1");
  t.equal(await nvim.lua("return vim.bo.filetype"), "gemini_history");
  await nvim.input("gh");
  await page.is(t, "page:2", "*a.txt:1");
  await nvim.input(":edit b.txt<CR>:GeminiHistory<CR>");
  await page.is(t, "*page:2", "a.txt HH:MM:SS:1", "b.txt:1");
  t.same(await nvim.lua("return { vim.fn.tabpagenr('$'), vim.wo[vim.fn.win_getid(3)].winbar }"), [2, ""]);
  await nvim.input("q");
  await page.is(t, "*b.txt:1");
  t.notMatch(await nvim.messages(), /E\d+:/);
});

t.test("history entries of a file are sorted by time, also within a second", async (t) => {
  const { nvim } = await startBridge(t);
  const order = `
    local function entry(id)
      return { id = id, at = 100, cli = "gemini", turn = 1, prompt = "Digits.", path = "/a.txt", kind = "accepted" }
    end
    local groups = require("gemini-bridge.changes.history.history_tab").groups({ entry("a"), entry("c"), entry("b") })
    local nodes = require("gemini-bridge.changes.page.tree").build(groups, {})
    return vim.tbl_map(function(item) return item.entry.id end,
      require("gemini-bridge.changes.page.tree").items({ nodes[1] }))`;
  t.same(await nvim.lua(order), ["b", "c", "a"]);
});

for (const death of ["qa!", "SIGKILL"] as const)
  t.test(`a review that ends just before ${death} is in the history of the next Neovim`, async (t) => {
    const { bridge, nvim } = await startBridge(t, { files: { "a.txt": "1\n" } });
    const client = await bridge.client();
    await client.openDiff(nvim.path("a.txt"), "2\n");
    await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the review");
    await nvim.command("GeminiAccept");
    await client.waitForNotification("ide/diffAccepted");
    if (death === "qa!") nvim.nvim.notify("nvim_command", [death]);
    else process.kill(nvim.pid, death);
    await nvim.exited;
    await nvim.waitFor(() => bridge.files().length === 0, "the host to end");
    const next = await startBridge(t, { after: nvim });
    const [turn] = Turns.parse(await next.nvim.lua("return require('gemini-bridge').history()"));
    t.match(turn?.entries, [{ kind: "accepted", path: nvim.path("a.txt") }]);
  });
