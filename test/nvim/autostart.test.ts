/** Tests the option `autostart`. */
import t from "tap";
import { type Nvim, startNvim } from "../support/nvim.ts";

const setup = (value: string) => `require('gemini-bridge').setup({ autostart = ${value} })`;
const isPast = "vim.g.past";
const STATE = "return require('gemini-bridge').status().state";
const attach = (nvim: Nvim) => nvim.nvim.request("nvim_ui_attach", [160, 50, {}]);

for (const value of ["true", "'idle'"])
  t.test(`autostart = ${value} starts the bridge with the first UI, without a message`, async (t) => {
    const nvim = await startNvim(t, { init: setup(value) });
    t.equal(await nvim.lua(STATE), "stopped");
    await attach(nvim);
    await nvim.bridgeIs("running");
    t.equal(await nvim.messages(), "");
  });

t.test("autostart in a Neovim with a UI", async (t) => {
  const nvim = await startNvim(t);
  await attach(nvim);

  for (const [moment, enter, leave] of [
    ["a manual page", "vim.api.nvim_buf_set_name(0, 'man://ls(1)')", "vim.api.nvim_buf_set_name(0, 'a.txt')"],
    ["the pager of man", "vim.bo.filetype = 'man'", "vim.bo.filetype = ''"],
    ["a commit message", "vim.bo.filetype = 'gitcommit'", "vim.bo.filetype = ''"],
    ["a rebase", "vim.bo.filetype = 'gitrebase'", "vim.bo.filetype = ''"],
    ["VS Code's Neovim", "vim.g.vscode = 1", "vim.g.vscode = nil"],
  ] as const)
    t.equal(await nvim.lua(`${enter} ${setup("true")} ${leave} ${STATE}`), "stopped", moment);

  // Timers that are due at the same time fire in the order in which they were created.
  const later = "vim.defer_fn(function() vim.g.past = true end, 1001)";
  await nvim.lua(`${setup("'idle'")} ${setup("false")} ${later}`);
  await nvim.waitFor(isPast, "the moment to pass");
  t.equal(await nvim.lua(STATE), "stopped", "a later call of setup() replaces the option");

  await nvim.lua(`${setup("'idle'")} vim.cmd.GeminiStatus()`); // looks, but starts nothing
  await nvim.bridgeIs("running");
});

t.test("autostart does not start a bridge that the user has stopped", async (t) => {
  const later = "vim.defer_fn(function() vim.g.past = true end, 1001)";
  const nvim = await startNvim(t, { init: setup("false") });
  await attach(nvim);
  await nvim.lua(`${setup("'idle'")} vim.cmd.GeminiStart() vim.cmd.GeminiStop() ${later}`);
  await nvim.waitFor(isPast, "the moment to pass");
  await nvim.bridgeIs("stopped");
});

t.test("autostart leaves a Neovim alone that reads its text from a program", async (t) => {
  const init = `${setup("true")} vim.api.nvim_exec_autocmds('StdinReadPre', {})`;
  const nvim = await startNvim(t, { init });
  await attach(nvim);
  t.equal(await nvim.lua(STATE), "stopped");
  await nvim.command("GeminiStart");
  await nvim.bridgeIs("running");
});
