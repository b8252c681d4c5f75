/** Tests that a CLI in Neovim's terminal is reconnected after a crash or restart of the bridge. */
import t, { type Test } from "tap";
import { RunningBridge } from "../support/bridge.ts";
import { linkExtension } from "../support/extension.ts";
import { geminiIn, startWithGemini } from "../support/gemini.ts";
import { call } from "../support/model.ts";

/** Lua expression for the connected clients whose CLI does not show "Disconnected". */
const CLIENTS = `vim.tbl_filter(function(client)
  return not client.interrupted
end, require('gemini-bridge.bridge.status').get().clients)`;

async function start(t: Test, { hasHooks = false } = {}) {
  const { nvim, model } = await startWithGemini(t);
  if (hasHooks) linkExtension(nvim.dirs.home);
  await nvim.input(":Gemini<CR>");
  const gemini = await geminiIn(nvim);
  await gemini.waitForScreen(/Type your message/, 20_000);
  await nvim.waitFor(`#${CLIENTS} == 1 and ${CLIENTS}[1].terminal`, "the CLI to connect");
  // Until the CLI has the answers to its first requests, the CLI does not notice the end of a host.
  await nvim.waitFor(
    async () => /Connected to Neovim/.test(await gemini.slash("/ide status")),
    "the CLI to say so",
  );
  return { bridge: new RunningBridge(t, nvim), nvim, gemini, model };
}

t.test("a CLI in Neovim's terminal is reconnected after crashes and restarts of the bridge", async (t) => {
  const { bridge, nvim, gemini } = await start(t);
  for (const end of [undefined, () => nvim.command("GeminiRestart"), undefined]) {
    await bridge.replaceHost(end);
    await nvim.waitFor(`#${CLIENTS} == 1`, "a new session", 40_000);
    t.match(await gemini.slash("/ide status"), /Connected to Neovim/);
    t.equal((await bridge.status()).clients.length, 1, "the CLI is listed once");
  }
  t.equal(await nvim.lua("return require('gemini-bridge').statusline()"), "Gemini: connected");
});

t.test("a CLI with hooks is gated and followed in its new session", async (t) => {
  const { bridge, nvim, gemini, model } = await start(t, { hasHooks: true });
  const client = "(require('gemini-bridge.bridge.status').get().clients[1] or {})";
  await nvim.waitFor(`${client}.hooks`, "the first hook");
  await bridge.replaceHost();
  await nvim.waitFor(`#${CLIENTS} == 1`, "a new session", 40_000);
  await nvim.waitFor(`${client}.hooks and not ${client}.interrupted`, "the hooks of the new session");
  await nvim.command("GeminiGate on");
  await nvim.says(/The gate is on: .* asks before each edit\./);

  model.say([call("write_file", { file_path: nvim.path("new.txt"), content: "new\n" })]);
  await gemini.type("Write it.");
  await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the review");
  await nvim.waitFor(`${client}.activity == 'waiting'`, "the activity");
  await nvim.command("GeminiReject");
  await nvim.waitFor(`${client}.activity == 'idle'`, "the end of the turn");
});

t.test("/ide enable is not typed while the CLI's prompt contains text", async (t) => {
  const { bridge, nvim, gemini } = await start(t);
  await gemini.press("half a tho");
  await gemini.waitForScreen(/half a tho/);
  await bridge.replaceHost();
  await nvim.waitFor("require('gemini-bridge').statusline():find('/ide enable', 1, true)", "the status line");
  await gemini.press("ught");
  await gemini.waitForScreen(/> half a thought/);
  t.notMatch((await gemini.screen()).join("\n"), /ide enable/, "nothing was put into it");
  await gemini.press("\x7f".repeat(20));
  await nvim.waitFor(`#${CLIENTS} == 1`, "a new session, when the prompt is empty", 40_000);
});
