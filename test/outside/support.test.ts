/**
 * Tests the helper that starts Neovims for tests: isolation, input, end, and the check of messages against
 * src/contract.
 */
import { existsSync } from "node:fs";
import t, { type Test } from "tap";
import { type Nvim, startNvim } from "../support/nvim.ts";
import { isAlive } from "../support/processes.ts";
import { waitFor } from "../support/wait.ts";

t.test("a headless Neovim is isolated", async (t) => {
  const nvim = await startNvim(t, { files: { "src/a.txt": "one\ntwo\n" }, args: ["src/a.txt"] });
  t.equal(await nvim.lua("return vim.fn.getpid()"), nvim.pid);
  t.equal(await nvim.lua("return vim.api.nvim_buf_get_name(0)"), nvim.path("src/a.txt"));
  t.same(await nvim.lua("return { vim.o.columns, vim.o.lines }"), [160, 50]);
  t.equal(await nvim.lua("return vim.env.HOME"), nvim.dirs.home);
  t.same(await nvim.lua("return { vim.env.NODE_OPTIONS, vim.env.NVIM }"), []);
  await nvim.command('echomsg "hello"');
  t.match(await nvim.messages(), "hello");
  await t.rejects(nvim.command("nosuchcommand"), { message: /E492/ });
});

t.test("the test helper's input() returns after the keys have taken effect", async (t) => {
  const nvim = await startNvim(t);
  for (let round = 1; round <= 20; round++) {
    await nvim.input(`o${"ä<lt>x".repeat(20)}<Esc>`);
    t.equal(await nvim.lua("return vim.api.nvim_get_current_line()"), "ä<x".repeat(20));
    t.equal(await nvim.lua('return vim.fn.line(".")'), round + 1);
  }
});

t.test("the test helper's input() returns when Neovim waits for a key", async (t) => {
  const nvim = await startNvim(t);
  await nvim.input("ihello<Esc>r");
  t.same(await nvim.nvim.mode, { mode: "R", blocking: true });
  await nvim.input("x");
  t.equal(await nvim.lua("return vim.api.nvim_get_current_line()"), "hellx");
});

t.test("a terminal UI shows typed text", async (t) => {
  const nvim = await startNvim(t, { tui: true, env: { EXTRA: "yes" } });
  t.same(await nvim.lua("return { vim.o.columns, vim.o.lines }"), [120, 40]);
  t.equal(await nvim.lua("return vim.env.EXTRA"), "yes");
  t.equal(await nvim.lua("return vim.env.NVIM"), null);
  await nvim.type("ihello\x1b");
  await waitFor(async () => (await nvim.screen())[0]?.startsWith("hello"), "the text on the screen");
  t.equal((await nvim.screen()).length, 40);
  // A terminal treats a key directly after Escape as a key with Alt, so this waits for Normal mode.
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 'n'", "Normal mode");
  await nvim.type(":qa!\r");
  t.same(await nvim.exited, { code: 0, signal: null });
});

t.test("requests to a dead Neovim are rejected", async (t) => {
  const nvim = await startNvim(t);
  const pending = nvim.lua("vim.wait(60000)");
  nvim.kill();
  await t.rejects(pending, { message: "Neovim has ended (SIGKILL)" });
  t.same(await nvim.exited, { code: null, signal: "SIGKILL" });
});

for (const tui of [false, true]) {
  t.test(`nothing is left of a Neovim ${tui ? "with a terminal UI" : "that is headless"}`, async (t) => {
    const nvim = await startNvim(t, { tui });
    const job = Number(
      await nvim.lua(
        'return vim.fn.jobpid(vim.fn.jobstart({ "sh", "-c", "trap \'\' HUP TERM; sleep 60; :" }))',
      ),
    );
    await nvim.input("r"); // blocks Neovim, so that it cannot process `:qa!`
    await nvim.close();
    t.notOk([nvim.proc.pid ?? 0, nvim.pid, job].some(isAlive), "no process");
    t.notOk(existsSync(nvim.dirs.base), "no folder");
  });
}

t.test("a Neovim that cannot start reports the reason", async (t) => {
  await t.rejects(startNvim(t, { args: ["--no-such-option"] }), { message: /no-such-option/ });
  await t.rejects(startNvim(t, { cwd: "/no/such/folder" }), { message: /did not start/ });
});

/** Starts a bridge that the test must close itself. */
async function startToClose(t: Test): Promise<Nvim> {
  const nvim = await startNvim({
    teardown: (dispose) => t.teardown(() => Promise.resolve(dispose()).catch(() => {})),
  });
  await nvim.startBridge();
  return nvim;
}

const notify = (nvim: Nvim, event: string, payload: string) =>
  nvim.lua(`require('gemini-bridge.bridge.channel').notify('${event}', ${payload})`);

t.test("the contract check reports an event with an invalid value", async (t) => {
  const nvim = await startToClose(t);
  await notify(nvim, "log", "{ level = 'loud', text = 'a' }");
  await t.rejects(nvim.close(), /event log level: /);
});

t.test("the contract check reports an event with an undeclared field", async (t) => {
  const nvim = await startToClose(t);
  await notify(nvim, "terminals", "{ terminals = {}, count = 0 }");
  await t.rejects(nvim.close(), /event terminals has an undeclared field count/);
});

t.test("the contract check reports an undeclared event", async (t) => {
  const nvim = await startToClose(t);
  await notify(nvim, "undeclared", "{}");
  await t.rejects(nvim.close(), /event undeclared is not declared/);
});

t.test("the contract check reports invalid calls and invalid answers of Lua", async (t) => {
  const nvim = await startToClose(t);
  const call = (name: string, params: string) =>
    nvim.lua(`return require('gemini-bridge.calls').call('${name}', ${params})`);
  await call("message", "{ level = 'info', text = 'a', since = 1 }");
  await nvim.lua(`require('gemini-bridge.prompt.outbox').places = function()
    return { cmd = 1, buffers = {}, directories = {} }
  end`);
  await call("prompt_places", "vim.empty_dict()");
  await t.rejects(nvim.close(), /call message has an undeclared field since\nresult prompt_places cmd: /);
});

t.test("the contract check reports no valid message", async (t) => {
  const nvim = await startToClose(t);
  await notify(nvim, "log", "{ level = 'info', text = 'a' }");
  await t.resolves(nvim.close());
});
