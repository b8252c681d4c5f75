/** Tests that no prompt is lost when the host ends, and that the host gets only necessary data. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { RunningBridge } from "../support/bridge.ts";
import { receives, startWithEcho as start } from "../support/echo.ts";
import type { Nvim } from "../support/nvim.ts";

/** A program that prints nothing, so that prompts have to wait. */
const MUTE = { "agent.sh": "stty raw -echo; exec cat >keys\n" };

const past = (nvim: Nvim): { text: string }[] =>
  JSON.parse(readFileSync(join(nvim.dirs.state, "nvim/gemini-bridge-prompts.json"), "utf8")).value;

/** Sends prompts to a CLI that prints nothing. */
async function wait(nvim: Nvim, ...texts: string[]): Promise<void> {
  for (const text of texts) await nvim.input(`:GeminiSend! --text ${text}<CR>`);
  await nvim.says(/The prompt waits until gemini is ready for input/);
}

async function areKept(t: Test, nvim: Nvim, why: RegExp): Promise<void> {
  const count = async () => (await nvim.messages()).match(why)?.length;
  await nvim.waitFor(async () => (await count()) === 2, "a message for each prompt");
  t.match(past(nvim), [{ text: "second" }, { text: "first" }]);
  t.same(await nvim.lua("return require('gemini-bridge.prompt.outbox').list()"), []);
}

t.test("waiting prompts are kept when the host crashes", async (t) => {
  const nvim = await start(t, "", { files: MUTE });
  const bridge = new RunningBridge(t, nvim);
  await wait(nvim, "first", "second");
  const host = await bridge.crash();
  await areKept(
    t,
    nvim,
    /The prompt was not sent: the bridge has stopped\. :GeminiPrompt! restores the text/g,
  );
  await bridge.nextHost(host);

  await t.test("waiting prompts are kept when the user stops the bridge", async (t) => {
    await nvim.command("messages clear");
    await wait(nvim, "first", "second");
    await nvim.command("GeminiStop");
    await areKept(
      t,
      nvim,
      /The prompt was not sent: the bridge has stopped\. :GeminiPrompt! restores the text/g,
    );
  });
});

t.test("waiting prompts are kept when Neovim ends", async (t) => {
  const nvim = await start(t, "", { files: MUTE });
  await wait(nvim, "first", "second");
  nvim.nvim.notify("nvim_command", ["qa!"]);
  await nvim.exited;
  t.match(past(nvim), [{ text: "second" }, { text: "first" }]);
});

t.test("prompts are kept when the host does not start", async (t) => {
  const nvim = await start(t, "node = '/no/such/node'");
  await nvim.input(":GeminiSend --text first<CR>:GeminiSend --text second<CR>");
  await areKept(
    t,
    nvim,
    /The prompt was not sent: the bridge has stopped\. :GeminiPrompt! restores the text/g,
  );
});

t.test(
  "a terminal's screen is sent only while a prompt waits, and a changed screen prevents typing",
  async (t) => {
    const nvim = await start(t);
    await nvim.input(":GeminiSend --text hello<CR>");
    await receives(nvim, "<hello >");
    await nvim.waitFor("#require('gemini-bridge.prompt.outbox').list() == 0", "the delivery");
    await nvim.lua(`
    screens = {}
    local channel = require('gemini-bridge.bridge.channel')
    local notify = channel.notify
    function channel.notify(event, payload)
      if event == 'screen' then table.insert(screens, payload) end
      return notify(event, payload)
    end
    terminal = require('gemini-bridge.terminal.terminals').last()
    function type_into(text) vim.fn.chansend(vim.bo[terminal.buf].channel, text) end
    screen = require('gemini-bridge.prompt.screen')`);
    const shows = (text: string) =>
      `table.concat(vim.api.nvim_buf_get_lines(terminal.buf, 0, -1, false)):find('${text}', 1, true)`;
    await nvim.lua("type_into('unasked')");
    await nvim.waitFor(shows("unasked"), "the text");
    t.equal(await nvim.lua("return #screens"), 0, "no screen is sent for nothing");

    await nvim.lua("screen.watch({ buf = terminal.buf, on = true })");
    await nvim.waitFor("#screens == 1", "the screen");
    const typed = await nvim.lua(`
    type_into('more')
    assert(vim.wait(5000, function() return ${shows("more")} ~= nil end, 1))
    return screen.type({ buf = terminal.buf, tick = screens[1].tick, keys = 'late' }).typed`);
    t.equal(typed, false, "its reader has not seen what is on it now");
    await nvim.waitFor("#screens == 2", "the next screen");
    t.match(await nvim.lua("return table.concat(screens[2].lines)"), /more/);
    const now = await nvim.lua(
      "return screen.type({ buf = terminal.buf, tick = screens[2].tick, keys = '!' })",
    );
    t.same(now, { typed: true });
    await receives(nvim, "more!");
  },
);
