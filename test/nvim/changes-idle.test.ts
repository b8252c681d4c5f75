/** Tests that the review of changes needs no resources while there are no changes. */
import t from "tap";
import { startBridge } from "../support/bridge.ts";
import { HookedAgent } from "../support/hooked-agent.ts";

const LOADED = `return vim.tbl_filter(function(name)
  return vim.startswith(name, 'gemini-bridge.changes.page.')
end, vim.tbl_keys(package.loaded))`;

const WATCHED = `local ok, found = pcall(vim.api.nvim_get_autocmds, { group = 'gemini-bridge.changes' })
return ok and #found or 0`;

t.test("without changes, the page is not loaded and writes are not watched", async (t) => {
  const bridge = await startBridge(t, { files: { "a.txt": "1\n" }, args: ["a.txt"] });
  const { nvim } = bridge;
  t.same(await nvim.lua(LOADED), []);
  t.equal(await nvim.lua(WATCHED), 0);
  const agent = new HookedAgent(bridge);
  await agent.prompt("change it");
  await agent.write("a.txt", "2\n");
  await agent.done();
  await nvim.waitFor("#require('gemini-bridge').changes() == 1", "the change");
  t.not(await nvim.lua(WATCHED), 0);
  await nvim.command("GeminiKeep a.txt");
  await nvim.waitFor("#require('gemini-bridge').changes() == 0", "the decision");
  const ended = nvim.waitFor(async () => (await nvim.lua(WATCHED)) === 0, "the end of watching");
  await t.resolves(ended, "and no longer than that");
});
