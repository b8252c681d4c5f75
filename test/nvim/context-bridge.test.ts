import { readFileSync, rmSync } from "node:fs";
import { ideContextStore } from "@google/gemini-cli-core/dist/src/ide/ideContext.js";
import t from "tap";
import { startBridge, startConnected } from "../support/bridge.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);

const files = { "a.txt": "one two\nthree\n", "b.txt": "b\n" };

t.test("a file deleted on disk is removed from the context without an event in Neovim", async (t) => {
  const { bridge, client } = await startConnected(t, { files, args: ["a.txt", "b.txt"] });
  const names = (wanted: string[]) =>
    client.waitForNotification("ide/contextUpdate", (context) => {
      ideContextStore.set(structuredClone(context));
      const paths = ideContextStore.get()?.workspaceState?.openFiles?.map(({ path }) => path) ?? [];
      return JSON.stringify(paths) === JSON.stringify(wanted.map((name) => bridge.nvim.path(name)));
    });
  await names(["a.txt", "b.txt"]);
  rmSync(bridge.nvim.path("a.txt"));
  await names(["b.txt"]);
  t.same(client.errors, []);
});

t.test("a context that the CLI's schema would refuse is logged and not sent", async (t) => {
  const { nvim, client } = await startConnected(t, { files, args: ["a.txt"] });
  await client.waitForNotification("ide/contextUpdate");
  const before = client.received["ide/contextUpdate"].length;
  await nvim.lua(
    `require('gemini-bridge.bridge.channel').notify('context', {
      reset = true, more = false, buffers = { { bufnr = 1, path = ... } }, focus = { { bufnr = 1, time = -5 } },
    })`,
    nvim.path("a.txt"),
  );
  const log = () => readFileSync(`${nvim.dirs.state}/nvim/gemini-bridge.log`, "utf8");
  await nvim.waitFor(() => log().includes("a context was not sent"), "the log");
  t.equal(client.received["ide/contextUpdate"].length, before);
  await nvim.command("edit b.txt");
  await nvim.input("l");
  await client.mcp.ping();
  t.same(client.errors, []);
});

t.test(
  "no context is read before the first CLI connects and after the last CLI has disconnected",
  async (t) => {
    const { bridge, nvim } = await startBridge(t, { files, args: ["a.txt"] });
    const subscribed =
      "#vim.api.nvim_get_autocmds({ group = 'gemini-bridge.context.snapshot_debounce' }) > 0";
    t.equal(
      await nvim.lua(
        `return pcall(vim.api.nvim_get_autocmds, { group = 'gemini-bridge.context.snapshot_debounce' })`,
      ),
      false,
    );
    const client = await bridge.client();
    await nvim.waitFor(subscribed, "the subscription");
    const other = await bridge.client("other");
    await client.close();
    await nvim.waitFor("#require('gemini-bridge').status().clients == 1", "one to be left");
    t.equal(await nvim.lua(`return ${subscribed}`), true);
    await other.close();
    await nvim.waitFor(
      "not pcall(vim.api.nvim_get_autocmds, { group = 'gemini-bridge.context.snapshot_debounce' })",
      "the end of the subscription",
    );
  },
);

t.test("a call without an answer that Lua refuses is logged", async (t) => {
  const { nvim } = await startBridge(t);
  await nvim.lua("require('gemini-bridge.calls').tell('diff_read', { id = 99 })");
  const log = () => readFileSync(`${nvim.dirs.state}/nvim/gemini-bridge.log`, "utf8");
  await nvim.waitFor(() => log().includes("diff_read failed: "), "the log");
});
