import { join } from "node:path";
import t from "tap";
import { connectClient, readDiscovery } from "../support/client.ts";
import { root, startNvim } from "../support/nvim.ts";
import { isAlive } from "../support/processes.ts";

/** The setup of users: the host of the `neovim` package, and a manifest written by :UpdateRemotePlugins. */
const INIT = `
  vim.g.node_host_prog = ${JSON.stringify(join(root, "node_modules/neovim/bin/cli.js"))}
  require("gemini-bridge").setup({ host = "shared" })
`;

t.test("the bridge works in the standard Node host", async (t) => {
  const nvim = await startNvim(t, { init: INIT, files: { "a.txt": "one\n" } });
  const isRunning = "require('gemini-bridge').status().state == 'running'";

  await t.test("a message says what to do if the remote plugin is not registered", async (t) => {
    await nvim.command("GeminiStart");
    t.match(await nvim.messages(), /:UpdateRemotePlugins/);
    t.equal(await nvim.lua("return require('gemini-bridge').status().state"), "stopped");
  });

  await nvim.command("UpdateRemotePlugins");
  await nvim.command("runtime! plugin/rplugin.vim");
  await nvim.lua("vim.cmd.source(vim.fn.stdpath('data') .. '/rplugin.vim')");

  await t.test("only functions are registered, so that no event starts Node", async (t) => {
    const manifest = String(await nvim.lua("return vim.fn.stdpath('data') .. '/rplugin.vim'"));
    const lines = String(await nvim.lua("return table.concat(vim.fn.readfile(...), '\\n')", manifest));
    t.match(lines, /GeminiBridgeStart/);
    t.notMatch(lines, /'type': '(autocmd|command)'/);
    t.equal(await nvim.lua("return vim.fn['remote#host#IsRunning']('node')"), 0);
  });

  await t.test("the bridge serves a client, stops and starts again in the same host process", async (t) => {
    await nvim.command("edit a.txt");
    const addresses = new Set<string>();
    for (const round of ["first", "second"]) {
      await nvim.command("GeminiStart");
      await nvim.waitFor(isRunning, `the ${round} start`, 15_000);
      const [file, ...others] = readDiscovery(nvim.dirs.tmp);
      if (!file) throw new Error("no discovery file");
      t.same(others, []);
      addresses.add(`${file.port} ${file.content.authToken}`);
      const client = await connectClient(t, { port: file.port, token: file.content.authToken });
      const path = nvim.path("a.txt");
      await client.waitForNotification(
        "ide/contextUpdate",
        ({ workspaceState }) => workspaceState?.openFiles?.[0]?.path === path,
      );
      t.same(await client.openDiff(path, "two\n"), { content: [] });
      await nvim.command("GeminiAccept");
      t.same(await client.waitForNotification("ide/diffAccepted"), { filePath: path, content: "two\n" });
      await nvim.command("GeminiStop");
      await nvim.waitFor("require('gemini-bridge').status().state == 'stopped'", `the ${round} stop`);
      t.same(readDiscovery(nvim.dirs.tmp), []);
      await client.close();
    }
    t.equal(addresses.size, 1, "port and token stay");
    t.equal(await nvim.lua("return vim.fn['remote#host#IsRunning']('node')"), 1);
  });

  await t.test("no file and no process is left when Neovim is killed", async (t) => {
    await nvim.command("GeminiStart");
    await nvim.waitFor(isRunning, "the last start", 15_000);
    const host = Number(await nvim.lua("return require('gemini-bridge').status().pid"));
    t.ok(isAlive(host));
    nvim.kill("SIGKILL");
    await nvim.waitFor(() => readDiscovery(nvim.dirs.tmp).length === 0, "the discovery file to go", 2000);
    await nvim.waitFor(() => !isAlive(host), "the host to end", 2000);
  });
});
