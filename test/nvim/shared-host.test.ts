/** Tests the option `host = "shared"`: the bridge runs in the standard Node host of Neovim. */
import { join } from "node:path";
import t, { type Test } from "tap";
import { RunningBridge } from "../support/bridge.ts";
import { type Nvim, type NvimOptions, root, startNvim } from "../support/nvim.ts";
import { isAlive } from "../support/processes.ts";

/** The setup of a user: the host of the npm package `neovim`, and a manifest that :UpdateRemotePlugins has written. */
const INIT = `
  vim.g.node_host_prog = ${JSON.stringify(join(root, "node_modules/neovim/bin/cli.js"))}
  require("gemini-bridge").setup({ host = "shared" })
`;

/** Writes the manifest, and loads it as Neovim does at its start. */
async function register(nvim: Nvim): Promise<void> {
  await nvim.command("UpdateRemotePlugins");
  await nvim.command("runtime! plugin/rplugin.vim");
  await nvim.lua("vim.cmd.source(vim.fn.stdpath('data') .. '/rplugin.vim')");
}

/** Starts a Neovim with the registered plugin. The standard host does not run yet. */
async function startRegistered(t: Test, options: NvimOptions = {}) {
  const nvim = await startNvim(t, { init: INIT, ...options });
  await register(nvim);
  return { nvim, bridge: new RunningBridge(t, nvim) };
}

t.test("the bridge works in the standard Node host", async (t) => {
  const nvim = await startNvim(t, { init: INIT, files: { "a.txt": "one\n" } });
  const bridge = new RunningBridge(t, nvim);

  await t.test("a start with the shared host reports that the remote plugin is not registered", async (t) => {
    await nvim.command("GeminiStart");
    t.match(await nvim.messages(), /:UpdateRemotePlugins/);
    t.equal(await nvim.lua("return require('gemini-bridge').status().state"), "stopped");
  });

  await register(nvim);

  await t.test("the remote plugin registers only functions, so that no event starts Node", async (t) => {
    const manifest = String(await nvim.lua("return vim.fn.stdpath('data') .. '/rplugin.vim'"));
    const lines = String(await nvim.lua("return table.concat(vim.fn.readfile(...), '\\n')", manifest));
    t.match(lines, /GeminiBridgeStart/);
    t.notMatch(lines, /'type': '(autocmd|command)'/);
    t.equal(await nvim.lua("return vim.fn['remote#host#IsRunning']('node')"), 0);
  });

  await t.test("the bridge serves a client, stops and starts again in the same host process", async (t) => {
    await nvim.command("edit a.txt");
    const addresses = new Set<string>();
    for (let round = 0; round < 2; round += 1) {
      await nvim.startBridge(15_000);
      const { port, content } = bridge.file();
      addresses.add(`${port} ${content.authToken}`);
      const client = await bridge.client();
      const path = nvim.path("a.txt");
      await client.waitForNotification(
        "ide/contextUpdate",
        ({ workspaceState }) => workspaceState?.openFiles?.[0]?.path === path,
      );
      t.same(await client.openDiff(path, "two\n"), { content: [] });
      await nvim.command("GeminiAccept");
      t.same(await client.waitForNotification("ide/diffAccepted"), { filePath: path, content: "two\n" });
      await nvim.stopBridge();
      t.same(bridge.files(), []);
      await client.close();
    }
    t.equal(addresses.size, 1, "port and token stay");
    t.equal(await nvim.lua("return vim.fn['remote#host#IsRunning']('node')"), 1);
  });

  await t.test("no file and no process of the shared host is left when Neovim is killed", async (t) => {
    await nvim.startBridge(15_000);
    const host = await bridge.host();
    t.ok(isAlive(host));
    nvim.kill("SIGKILL");
    await nvim.waitFor(() => bridge.files().length === 0, "the discovery file to go", 2000);
    await nvim.waitFor(() => !isAlive(host), "the host to end", 2000);
  });
});

t.test(
  "after a crash of the shared host, a message advises the user, and no discovery file is left",
  async (t) => {
    const { nvim, bridge } = await startRegistered(t, { files: { "a.txt": "" } });
    await nvim.startBridge(15_000);
    const client = await bridge.client();
    await client.openDiff(nvim.path("a.txt"), "proposed\n");

    process.kill(await bridge.host(), "SIGKILL");
    await nvim.command("GeminiAccept");
    await nvim.bridgeIs("stopped");
    t.same(bridge.files(), []);
    t.same((await bridge.status()).diffs, []);
    t.equal(await nvim.lua("return vim.env.GEMINI_CLI_IDE_AUTH_TOKEN"), null);
    await nvim.command("edit a.txt"); // an event raises no error
    await nvim.input("ihello<Esc>");
    const messages = await nvim.messages();
    t.match(messages, /standard Node host has ended; restart Neovim, or set host = 'private'/);
    t.match(messages, /Open the accepted text of a\.txt with :edit gemini:/);
    t.notMatch(messages, /E475|E5108|stack traceback/);
  },
);

t.test("late messages of an earlier start do not end the next start", async (t) => {
  const { nvim, bridge } = await startRegistered(t);
  await nvim.startBridge(15_000);
  const host = await bridge.host();
  const token = bridge.file().content.authToken;

  // A busy host may send messages after Neovim has stopped it and has begun another start.
  await nvim.lua(`
    local rpc = require('gemini-bridge.calls')
    local carry_out = rpc.call
    late = {}
    function rpc.call(name, params, ...)
      if name == 'status' and params.state == 'stopped' then
        late[#late + 1] = vim.F.pack_len(name, params, ...)
        return { result = vim.NIL }
      end
      return carry_out(name, params, ...)
    end
    function let_go()
      rpc.call = carry_out
      for _, args in ipairs(late) do
        carry_out(vim.F.unpack_len(args))
      end
      return #late
    end`);
  await nvim.stopBridge();
  await nvim.startBridge();
  t.equal(await nvim.lua("return let_go()"), 1);
  await nvim.bridgeIs("running");
  await nvim.waitFor(() => bridge.files().length === 1, "the file of the second start alone");
  t.equal(bridge.file().content.authToken, token);
  const environment = "return { vim.env.GEMINI_CLI_IDE_AUTH_TOKEN, vim.env.GEMINI_CLI_IDE_SERVER_PORT }";
  t.same(await nvim.lua(environment), [bridge.file().content.authToken, String(bridge.file().port)]);
  await bridge.client();
  t.equal(await bridge.host(), host);
});

t.test("a stop right after the start of the shared host succeeds", async (t) => {
  const { nvim, bridge } = await startRegistered(t);
  await nvim.command("messages clear");
  await nvim.lua("local b = require('gemini-bridge') b.start() b.stop()");
  await nvim.bridgeIs("stopped");
  await nvim.lua("local b = require('gemini-bridge') b.start()");
  await nvim.bridgeIs("running");
  await bridge.client();
  t.equal(bridge.files().length, 1);
  t.equal(await nvim.messages(), "");
});

t.test("a change of the option host while the bridge runs loses no decision", async (t) => {
  for (const shared of [false, true]) {
    const files = { "a.txt": "one\n" };
    const nvim = shared ? (await startRegistered(t, { files })).nvim : await startNvim(t, { files });
    await nvim.startBridge(15_000);
    const client = await new RunningBridge(t, nvim).client();
    const path = nvim.path("a.txt");
    await client.openDiff(path, "two\n");
    await nvim.lua("require('gemini-bridge').setup({ host = ... })", shared ? "private" : "shared");
    await nvim.command("GeminiAccept");
    t.same(await client.waitForNotification("ide/diffAccepted"), { filePath: path, content: "two\n" });
    await nvim.stopBridge();
    await nvim.close();
  }
});
