/** Tests the option `autostart`. */
import t from "tap";
import { startNvim } from "../support/nvim.ts";

const setup = (value: string) => `require('gemini-bridge').setup({ autostart = ${value} })`;
const isPast = "vim.g.past";

for (const value of ["true", "'idle'"])
  t.test(`autostart = ${value} starts the bridge without a message`, async (t) => {
    const nvim = await startNvim(t, { init: setup(value) });
    await nvim.bridgeIs("running");
    t.equal(await nvim.messages(), "");
  });

t.test("autostart starts the bridge even if setup() runs late", async (t) => {
  const nvim = await startNvim(t);
  await nvim.lua(`${setup("'idle'")} vim.cmd.GeminiStatus()`); // looks, but starts nothing
  await nvim.bridgeIs("running");
});

t.test("autostart does not start a bridge that the user has stopped", async (t) => {
  // Timers that are due at the same time fire in the order in which they were created.
  const later = "vim.defer_fn(function() vim.g.past = true end, 1001)";
  const nvim = await startNvim(t, { init: setup("false") });
  await nvim.lua(`${setup("'idle'")} vim.cmd.GeminiStart() vim.cmd.GeminiStop() ${later}`);
  await nvim.waitFor(isPast, "the moment to pass");
  await nvim.bridgeIs("stopped");
});

t.test("a later call of setup() replaces the option", async (t) => {
  const later = `vim.api.nvim_create_autocmd('VimEnter', { callback = function()
    vim.defer_fn(function() vim.g.past = true end, 1001)
  end })`;
  for (const value of ["true", "'idle'"]) {
    const nvim = await startNvim(t, { init: `${setup(value)} ${setup("false")} ${later}` });
    await nvim.waitFor(isPast, "the moment to pass");
    t.equal(await nvim.lua("return require('gemini-bridge').status().state"), "stopped", value);
  }
});
