/** Tests that a stop succeeds at any stage of a start or publication. The test itself is the host. */
import { join } from "node:path";
import t, { type Test } from "tap";
import { workspacePaths } from "../../src/discovery/workspace.ts";
import { createCompanion } from "../../src/host.ts";
import { RunningBridge } from "../support/bridge.ts";
import { type Nvim, root, startNvim } from "../support/nvim.ts";
import { waitFor } from "../support/wait.ts";

/** Attaches a companion in this process to a real Neovim. The call named `when` is blocked until it is released. */
async function attach(t: Test, when = "") {
  const nvim = await startNvim(t);
  const before = process.env["TMPDIR"];
  process.env["TMPDIR"] = nvim.dirs.tmp;
  t.teardown(() => {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
  });
  const held: (() => void)[] = [];
  const client = nvim.nvim;
  const companion = createCompanion({
    version: "0",
    nvim: {
      on: () => client,
      request: (name, args) => client.request(name, args),
      async executeLua(code, args) {
        const answer = client.executeLua(code, args);
        if (args?.[0] === when) await new Promise<void>((letGo) => held.push(letGo));
        return answer;
      },
    } as Parameters<typeof createCompanion>[0]["nvim"],
    stopped() {},
  });
  return { nvim, bridge: new RunningBridge(t, nvim), companion, held };
}

/** Starts a Neovim with `host = "shared"`, whose standard host is not running yet. */
async function startShared(t: Test) {
  const init = `
    vim.g.node_host_prog = ${JSON.stringify(join(root, "node_modules/neovim/bin/cli.js"))}
    require("gemini-bridge").setup({ host = "shared" })`;
  const nvim = await startNvim(t, { init });
  await nvim.command("UpdateRemotePlugins");
  await nvim.command("runtime! plugin/rplugin.vim");
  await nvim.lua("vim.cmd.source(vim.fn.stdpath('data') .. '/rplugin.vim')");
  const bridge = new RunningBridge(t, nvim);
  return { nvim, bridge };
}

/** Returns everything that a CLI could find, after Neovim has processed all earlier messages. */
async function traces(nvim: Nvim, bridge: RunningBridge) {
  const variables = await nvim.lua(
    "return vim.tbl_filter(function(name) return vim.startswith(name, 'GEMINI_CLI_IDE') end, vim.tbl_keys(vim.fn.environ()))",
  );
  return { variables, files: bridge.files(), state: (await bridge.status()).state };
}

const NOTHING = { variables: [], files: [], state: "stopped" };

for (const call of ["attach", "set_environment"]) {
  t.test(`a stop while the start waits for ${call}`, async (t) => {
    const { nvim, bridge, companion, held } = await attach(t, call);
    const started = companion.start();
    await waitFor(() => held.length > 0, "the call");
    await companion.stop();
    held[0]?.();
    await started;
    t.same(await traces(nvim, bridge), NOTHING);
  });
}

t.test("a stop succeeds while the directories are read", async (t) => {
  const { nvim, bridge, companion } = await attach(t);
  await companion.start();
  t.equal((await bridge.status()).state, "running");
  // Each parent folder is checked, so that this takes longer than the stop.
  const directories = Array.from({ length: 50 }, (_, i) => join("/nowhere", String(i), "x/".repeat(200)));
  companion.dispatch("workspace", { directories });
  await new Promise(setImmediate); // it has begun
  await companion.stop();
  await workspacePaths(directories); // begun later, it ends later
  t.same(await traces(nvim, bridge), NOTHING);
});

t.test("in the standard host, messages of an earlier start do not end the next one", async (t) => {
  const { nvim, bridge } = await startShared(t);
  await nvim.command("GeminiStart");
  await bridge.is("running", 15_000);
  const host = await bridge.host();
  const token = bridge.file().content.authToken;

  // Messages of a busy host arrive after Neovim has stopped it and has begun another start.
  await nvim.lua(`
    local rpc = require('gemini-bridge.host.rpc')
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
  await nvim.command("GeminiStop");
  await bridge.is("stopped");
  await nvim.command("GeminiStart");
  await bridge.is("running");
  t.equal(await nvim.lua("return let_go()"), 1);
  await bridge.is("running");
  await nvim.waitFor(() => bridge.files().length === 1, "the file of the second start alone");
  t.equal(bridge.file().content.authToken, token);
  const environment = "return { vim.env.GEMINI_CLI_IDE_AUTH_TOKEN, vim.env.GEMINI_CLI_IDE_SERVER_PORT }";
  t.same(await nvim.lua(environment), [bridge.file().content.authToken, String(bridge.file().port)]);
  await bridge.client();
  t.equal(await bridge.host(), host);
});

t.test("in the standard host, a stop right after the start succeeds", async (t) => {
  const { nvim, bridge } = await startShared(t);
  await nvim.command("messages clear");
  await nvim.lua("local b = require('gemini-bridge') b.start() b.stop()");
  await bridge.is("stopped");
  await nvim.lua("local b = require('gemini-bridge') b.start()");
  await bridge.is("running", 15_000);
  await bridge.client();
  t.equal(bridge.files().length, 1);
  t.equal(await nvim.messages(), "");
});
