import { readFileSync, rmSync } from "node:fs";
import { ideContextStore } from "@google/gemini-cli-core/dist/src/ide/ideContext.js";
import t from "tap";
import { startBridge } from "../support/bridge.ts";

const files = { "a.txt": "one two\nthree\n", ".env": "SECRET=1\n", "b.txt": "b\n" };

t.test("the status line and :GeminiStatus show what is shared and what is not", async (t) => {
  const bridge = await startBridge(t, { files, args: ["a.txt"] });
  const { nvim } = bridge;
  const says = (text: string) =>
    nvim.waitFor(
      `require('gemini-bridge').statusline() == 'Gemini: ${text}'`,
      `the status line to say ${text}`,
    );
  const view = async () =>
    String(await nvim.lua("return table.concat(require('gemini-bridge.report.status_view').lines(), '\\n')"));
  const shows = (pattern: RegExp) =>
    nvim.waitFor(async () => pattern.test(await view()), `${pattern} in :GeminiStatus`);
  await says("waiting");
  const client = await bridge.client();
  await says("connected");
  await nvim.input("ve");
  await shows(/a\.txt, 3 characters selected/);
  await nvim.input("<Esc>");
  await nvim.command("edit .env");
  await says("connected, file not shared");
  await shows(/\.env is not shared/);
  await nvim.command("edit b.txt");
  await says("connected");
  await nvim.command("GeminiShare off");
  await says("connected, paused");
  await shows(/nothing, because sharing is paused/);
  await client.waitForNotification(
    "ide/contextUpdate",
    ({ workspaceState }) => workspaceState?.openFiles?.length === 0,
  );
  await nvim.command("GeminiShare on");
  await says("connected");
  await client.close();
  await says("waiting");
  t.notMatch(JSON.stringify(client.received), /SECRET|\.env/);
});

t.test("a file deleted on disk is removed from the context without an event in Neovim", async (t) => {
  const bridge = await startBridge(t, { files, args: ["a.txt", "b.txt"] });
  const client = await bridge.client();
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
  const bridge = await startBridge(t, { files, args: ["a.txt"] });
  const { nvim } = bridge;
  const client = await bridge.client();
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
    const bridge = await startBridge(t, { files, args: ["a.txt"] });
    const { nvim } = bridge;
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
  await nvim.lua("require('gemini-bridge.host.rpc').tell('diff_read', { id = 99 })");
  const log = () => readFileSync(`${nvim.dirs.state}/nvim/gemini-bridge.log`, "utf8");
  await nvim.waitFor(() => log().includes("diff_read failed: "), "the log");
});
