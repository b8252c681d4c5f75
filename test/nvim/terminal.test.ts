import type { IdeContext } from "@google/gemini-cli-core/dist/src/ide/types.js";
import t from "tap";
import { z } from "zod";
import { layout, shows, startOver, startWithAgent } from "../support/agent.ts";
import { RunningBridge } from "../support/bridge.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);

t.test(":Gemini starts the bridge, then the CLI with the variables to connect", async (t) => {
  const nvim = await startWithAgent(t, "env = { EXTRA = 'yes' }", {
    env: { no_proxy: "example.org", HTTP_PROXY: "http://example.org", SHLVL: "3" },
  });
  await nvim.input(':Gemini --first "two words"<CR>');
  t.match(await layout(nvim), { windows: { length: 2 } }, "the window is there at once");
  const text = await shows(nvim, /child <\d+>/);
  const status = z
    .object({ state: z.literal("running"), port: z.int() })
    .parse(await nvim.lua("return require('gemini-bridge').status()"));
  t.match(text, `GEMINI_CLI_IDE_SERVER_PORT=${status.port}`);
  t.match(text, `GEMINI_CLI_IDE_WORKSPACE_PATH=${nvim.dirs.workspace}`);
  t.match(text, /GEMINI_CLI_IDE_AUTH_TOKEN=\S{20}/);
  t.match(text, /GEMINI_CLI_IDE_PID=\d+/);
  t.match(text, "no_proxy=example.org,127.0.0.1,localhost");
  t.match(text, "NO_PROXY=example.org,127.0.0.1,localhost");
  t.match(text, "EXTRA=yes");
  t.match(text, /SHLVL=[34]/);
  t.match(text, `args <--first two words> in <${nvim.dirs.workspace}>`);
  const container = await nvim.lua(
    "return vim.uv.fs_stat('/.dockerenv') ~= nil or vim.uv.fs_stat('/run/.containerenv') ~= nil",
  );
  t.equal(/REMOTE_CONTAINERS=true/.test(text), container, "in a container the CLI is told to dial 127.0.0.1");
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "terminal mode");
  await nvim.input("typed");
  await shows(nvim, /typed/);
});

t.test(":Gemini does not override the variables of a remote session", async (t) => {
  const nvim = await startWithAgent(t, "", {
    env: { SSH_CONNECTION: "127.0.0.1 1 127.0.0.1 2", NO_PROXY: "*" },
  });
  await nvim.command("Gemini");
  const text = await shows(nvim, /child <\d+>/);
  t.notMatch(text, /REMOTE_CONTAINERS/);
  t.match(text, "NO_PROXY=*");
  t.match(text, /SHLVL=[12]/, "as in a shell, of which bash goes by");
});

/** A Neovim for the following cases, one after the other. */
const nvim = await startWithAgent(t, "", { files: { "a.txt": "one two three\n" } });

t.test("the buffers of terminals are named after the terminals", async (t) => {
  await startOver(nvim);
  await nvim.command("edit a.txt");
  for (const command of ["Gemini", "Gemini! name=my\\ tests"]) {
    await nvim.command(command);
    await shows(nvim, /child <\d+>/);
  }
  const list = "vim.tbl_map(function(buf) return vim.fn.bufname(buf) end, vim.api.nvim_list_bufs())";
  await nvim.waitFor(`#${list} == 3`, "no buffer to be left of the old names");
  t.same(await nvim.lua(`return ${list}`), [
    "a.txt",
    "gemini-terminal://gemini",
    "gemini-terminal://my tests",
  ]);
});

t.test(":Gemini toggles the terminal", async (t) => {
  await startOver(nvim);
  await nvim.command("edit a.txt");
  await nvim.command("Gemini");
  await shows(nvim, /child/);
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "terminal mode");
  const opened = await layout(nvim);
  t.match(opened, {
    current: "gemini",
    windows: [
      { column: 0, height: 48 },
      { terminal: "gemini", width: 64, column: 96, height: 48 },
    ],
  });

  await nvim.input("<C-\\><C-n>:Gemini<CR>");
  t.match(await layout(nvim), { windows: { length: 1 }, mode: "n" }, "hidden from within");
  t.equal(await nvim.lua("return vim.fn.expand('%:t')"), "a.txt", "the focus is back");

  await nvim.input(":Gemini<CR>");
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "terminal mode again");
  t.same(await layout(nvim), opened, "shown as it was");

  await nvim.input("<C-\\><C-n><C-w>p");
  t.match(await layout(nvim), { mode: "n" });
  await nvim.input(":Gemini<CR>");
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "terminal mode, on the way back");
  t.same(await layout(nvim), opened, "focused from outside");
  t.equal(
    await nvim.lua("return #require('gemini-bridge.terminal.terminals').list()"),
    1,
    "all the time one",
  );
});

t.test("a terminal that the user has scrolled back is shown at the same position again", async (t) => {
  // Prints after Enter, because Neovim 0.10 can lose early output of a program.
  await startOver(nvim, "cmd = { 'sh', '-c', 'read -r _; seq 1 300; exec cat' }");
  await nvim.command("Gemini");
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "terminal mode");
  await nvim.input("<CR>");
  await shows(nvim, /300/);
  await nvim.input("<C-\\><C-n>100Gzt");
  const view = 'return { vim.fn.line("w0"), vim.fn.line("."), vim.api.nvim_get_mode().mode }';
  t.same(await nvim.lua(view), [100, 100, "nt"]);
  await nvim.input(":Gemini<CR>");
  t.match(await layout(nvim), { windows: { length: 1 } });
  await nvim.input(":Gemini<CR>");
  t.same(await nvim.lua(view), [100, 100, "nt"], "after hiding and showing");
  await nvim.input("<C-w>p<C-w>p");
  t.same(await nvim.lua(view), [100, 100, "nt"], "after leaving and entering");
  await nvim.input("G<C-w>p<C-w>p");
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "terminal mode at the end of the output");
});

t.test("several terminals have different names", async (t) => {
  await startOver(nvim);
  const names =
    "return vim.tbl_map(function(terminal) return terminal.name end, require('gemini-bridge.terminal.terminals').list())";
  await nvim.command("Gemini");
  await shows(nvim, /args <>/);
  await nvim.command("Gemini!");
  await shows(nvim, /args <>/, "gemini-2");
  await nvim.command("Gemini name=review --model x");
  await shows(nvim, /args <--model x>/, "review");
  await nvim.command("Gemini --other");
  await shows(nvim, /args <--other>/, "gemini-3");
  t.same(await nvim.lua(names), ["gemini", "gemini-2", "review", "gemini-3"]);
  t.match(await layout(nvim), { current: "gemini-3", windows: { length: 2 } }, "they share a window");

  await nvim.command("Gemini name=review");
  t.match(await layout(nvim), { current: "review", windows: { length: 2 } }, "by name");
  await nvim.command("Gemini --other");
  t.match(await layout(nvim), { current: "gemini-3", windows: { length: 2 } }, "by arguments");
  await nvim.command("Gemini");
  t.match(await layout(nvim), { windows: { length: 1 } }, "without arguments the one used last");
  await nvim.command("Gemini");
  t.match(await layout(nvim), { current: "gemini-3", windows: { length: 2 } });
  t.same(await nvim.lua(names), ["gemini", "gemini-2", "review", "gemini-3"], "none was started twice");
  t.same(await nvim.lua("return vim.fn.getcompletion('Gemini name=r', 'cmdline')"), ["name=review"]);
});

t.test(":Gemini leaves Insert and Visual mode", async (t) => {
  await startOver(nvim);
  await nvim.lua("vim.keymap.set({ 'i', 'x', 't' }, '<F5>', '<Cmd>Gemini<CR>')");
  await nvim.command("edit a.txt");
  await nvim.input("A!<F5>");
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "terminal mode");
  await nvim.input("typed");
  await shows(nvim, /typed/);
  await nvim.input("<F5>");
  t.match(await layout(nvim), { windows: { length: 1 }, mode: "n" });
  await nvim.input("0vw<F5>");
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "terminal mode, from a selection");
  t.equal(await nvim.lua("return vim.fn.getbufline('a.txt', 1)[1]"), "one two three!", "no key went astray");
});

t.test(":Gemini keeps the selection for the CLI", async (t) => {
  await startOver(nvim);
  await nvim.command("edit! a.txt");
  const client = await new RunningBridge(t, nvim).client();
  await nvim.lua("vim.keymap.set({ 'n', 'x' }, '<F5>', '<Cmd>Gemini<CR>')");
  await nvim.input("0wviw<F5>");
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "terminal mode");
  await nvim.input("what is this");
  await shows(nvim, /what is this/);
  const selected = ({ workspaceState }: IdeContext) => workspaceState?.openFiles?.[0]?.selectedText === "two";
  await t.resolves(client.waitForNotification("ide/contextUpdate", selected));
  t.ok(client.received["ide/contextUpdate"].slice(-1).every(selected), "and it stays");
});
