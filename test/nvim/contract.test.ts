/** Every test fails if a message between Lua and the host does not match src/contract: see test/support/contract.ts. */
import t, { type Test } from "tap";
import { RunningBridge } from "../support/bridge.ts";
import { type Nvim, startNvim } from "../support/nvim.ts";

/** A running bridge that the test closes itself. */
async function start(t: Test): Promise<Nvim> {
  const nvim = await startNvim({
    teardown: (dispose) => t.teardown(() => Promise.resolve(dispose()).catch(() => {})),
  });
  await nvim.command("GeminiStart");
  await new RunningBridge(t, nvim).is("running");
  return nvim;
}

const notify = (nvim: Nvim, event: string, payload: string) =>
  nvim.lua(`require('gemini-bridge.bridge.channel').notify('${event}', ${payload})`);

t.test("an event with a wrong value is reported", async (t) => {
  const nvim = await start(t);
  await notify(nvim, "log", "{ level = 'loud', text = 'a' }");
  await t.rejects(nvim.close(), /event log level: /);
});

t.test("an event with an undeclared field is reported", async (t) => {
  const nvim = await start(t);
  await notify(nvim, "terminals", "{ terminals = {}, count = 0 }");
  await t.rejects(nvim.close(), /event terminals has an undeclared field count/);
});

t.test("an undeclared event is reported", async (t) => {
  const nvim = await start(t);
  await notify(nvim, "undeclared", "{}");
  await t.rejects(nvim.close(), /event undeclared is not declared/);
});

t.test("calls and Lua's answers are checked", async (t) => {
  const nvim = await start(t);
  const call = (name: string, params: string) =>
    nvim.lua(`return require('gemini-bridge.host.rpc').call('${name}', ${params})`);
  await call("message", "{ level = 'info', text = 'a', since = 1 }");
  await nvim.lua(`require('gemini-bridge.model').consent = function()
    return { paused = 'no', exclude = {}, directories = {} }
  end`);
  await call("consent", "vim.empty_dict()");
  await t.rejects(nvim.close(), /call message has an undeclared field since\nresult consent paused: /);
});

t.test("messages that match are not reported", async (t) => {
  const nvim = await start(t);
  await notify(nvim, "log", "{ level = 'info', text = 'a' }");
  await t.resolves(nvim.close());
});
