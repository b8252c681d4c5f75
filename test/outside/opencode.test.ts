/** Tests the real opencode with a scripted model. OPENCODE contains the path of the program. */
import t, { type Test } from "tap";
import { RunningBridge } from "../support/bridge.ts";
import { geminiIn } from "../support/gemini.ts";
import { startWithOpencode } from "../support/opencode.ts";
import { readLocks } from "../support/socket-client.ts";

t.test("opencode connects without a question, sees the active file, and calls tools", async (t: Test) => {
  const { nvim, model } = await startWithOpencode(t, { files: { "a.txt": "one\ntwo\nthree\n" } });
  await nvim.command("edit a.txt");
  await nvim.command("Gemini cli=opencode");
  await nvim.waitFor("#require('gemini-bridge').status().clients == 1", "the client", 30_000);
  t.match(await nvim.lua("return require('gemini-bridge').status().clients[1]"), {
    cli: "opencode",
    label: "opencode",
    name: "opencode",
  });
  t.equal(readLocks(nvim.dirs.home).length, 1, "the lock file of Claude Code's protocol");
  const cli = await geminiIn(nvim);
  await cli.waitForScreen(/a\.txt/, 20_000);
  model.say(
    [{ functionCall: { name: "neovim_read_buffer", args: { path: "a.txt" } } }],
    [{ text: "I have read it." }],
  );
  await nvim.input("<C-\\><C-n>");
  await nvim.lua("vim.api.nvim_set_current_win(vim.fn.win_findbuf(vim.fn.bufnr('a.txt'))[1])");
  await nvim.input("Gounsaved<Esc>");
  await nvim.command("GeminiSend! --text Read it.");
  await cli.waitForScreen(/I have read it/, 30_000);
  t.match(model.promptText(), /The user opened the file .*a\.txt/);
  t.match(model.promptText(), /three\\nunsaved/);

  await new RunningBridge(t, nvim).replaceHost();
  await nvim.waitFor("#require('gemini-bridge').status().clients == 1", "its return", 30_000);
});
