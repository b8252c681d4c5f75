import t from "tap";
import { childPid, layout, shows, startWithAgent } from "../support/agent.ts";
import type { Nvim } from "../support/nvim.ts";
import { reload } from "../support/plugin.ts";
import { isAlive } from "../support/processes.ts";
import { shareNvim } from "../support/reset.ts";
import { waitFor } from "../support/wait.ts";

shareNvim(t);

t.test("the terminal's window closes when the CLI ends, and stays after a failure", async (t) => {
  const nvim = await startWithAgent(t, "cmd = { 'sh', '-c', 'read code; echo ends; exit $code' }");
  await nvim.command("Gemini");
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "terminal mode");
  await nvim.input("3<CR>");
  await nvim.waitFor("#require('gemini-bridge.terminal.terminals').list() == 0", "the failure");
  t.equal((await layout(nvim)).windows.length, 2);
  await nvim.input("<C-\\><C-n>");
  await nvim.command("Gemini");
  t.equal((await layout(nvim)).windows.length, 2, "the next one takes its place");
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "terminal mode");
  await nvim.input("0<CR>");
  await nvim.waitFor("#vim.api.nvim_list_wins() == 1", "the window to close");
  t.equal(
    await nvim.lua(
      "return #vim.tbl_filter(function(buf) return vim.bo[buf].buftype == 'terminal' end, vim.api.nvim_list_bufs())",
    ),
    0,
  );
});

t.test("closing the terminal ends the CLI and its children", async (t) => {
  const nvim = await startWithAgent(t);
  await nvim.command("Gemini");
  const child = childPid(await shows(nvim, /child <\d+>/));
  const cli = Number(await nvim.lua("return require('gemini-bridge.terminal.terminals').last().pid"));
  t.ok(isAlive(child) && isAlive(cli));
  await nvim.command("bwipeout!");
  await nvim.waitFor(() => !isAlive(child) && !isAlive(cli), "the processes to end");
  t.equal(await nvim.lua("return #require('gemini-bridge.terminal.terminals').list()"), 0);
});

t.test("a CLI ends with Neovim, even if lazy.nvim has reloaded the plugin meanwhile", async (t) => {
  const nvim = await startWithAgent(t);
  await nvim.command("Gemini");
  const child = childPid(await shows(nvim, /child <\d+>/));
  const cli = Number(await nvim.lua("return require('gemini-bridge.terminal.terminals').last().pid"));
  await reload(nvim);
  t.ok([child, cli].every(isAlive), "a reload does not end the CLI");
  await nvim.command("GeminiStatus");
  nvim.nvim.notify("nvim_command", ["qa"]);
  await nvim.exited;
  t.notOk([child, cli].some(isAlive), "nothing is left when Neovim has ended");
});

const ends: [how: string, end: (nvim: Nvim) => Promise<void> | void][] = [
  [":qa!", (nvim) => nvim.nvim.notify("nvim_command", ["qa!"])],
  [":qa", (nvim) => nvim.nvim.notify("nvim_command", ["qa"])],
  ["SIGTERM", (nvim) => nvim.kill("SIGTERM")],
  ["SIGHUP", (nvim) => nvim.kill("SIGHUP")],
  ["SIGKILL", (nvim) => nvim.kill("SIGKILL")],
];
for (const [how, end] of ends) {
  t.test(`${how} ends the CLI and its children`, async (t) => {
    const nvim = await startWithAgent(t);
    await nvim.command("Gemini");
    const child = childPid(await shows(nvim, /child <\d+>/));
    const cli = Number(await nvim.lua("return require('gemini-bridge.terminal.terminals').last().pid"));
    await nvim.command("Gemini");
    await end(nvim);
    await nvim.exited;
    if (how === "SIGKILL") await waitFor(() => ![child, cli].some(isAlive), "the guard to end them");
    t.notOk([child, cli].some(isAlive), "nothing is left when Neovim has ended");
  });
}
