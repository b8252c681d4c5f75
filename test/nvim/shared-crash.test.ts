import { join } from "node:path";
import t from "tap";
import { RunningBridge } from "../support/bridge.ts";
import { root, startNvim } from "../support/nvim.ts";

t.test(
  "after a crash of the standard Node host the user is told what to do, and nothing is left",
  async (t) => {
    const init = `
    vim.g.node_host_prog = ${JSON.stringify(join(root, "node_modules/neovim/bin/cli.js"))}
    require("gemini-bridge").setup({ host = "shared" })`;
    const nvim = await startNvim(t, { init, files: { "a.txt": "" } });
    await nvim.command("UpdateRemotePlugins");
    await nvim.command("runtime! plugin/rplugin.vim");
    await nvim.lua("vim.cmd.source(vim.fn.stdpath('data') .. '/rplugin.vim')");
    const bridge = new RunningBridge(t, nvim);
    await nvim.command("GeminiStart");
    await bridge.is("running", 15_000);
    const client = await bridge.client();
    await client.openDiff(nvim.path("a.txt"), "proposed\n");

    process.kill(await bridge.host(), "SIGKILL");
    await nvim.command("GeminiAccept");
    await bridge.is("stopped");
    t.same(bridge.files(), []);
    t.same((await bridge.status()).diffs, []);
    t.equal(await nvim.lua("return vim.env.GEMINI_CLI_IDE_AUTH_TOKEN"), null);
    await nvim.command("edit a.txt"); // nothing raises an error for every event from now on
    await nvim.input("ihello<Esc>");
    const messages = await nvim.messages();
    t.match(messages, /standard Node host has ended; restart Neovim, or set host = 'private'/);
    t.match(messages, /a\.txt that you accepted is kept: :edit gemini:/);
    t.notMatch(messages, /E475|E5108|stack traceback/);
  },
);
