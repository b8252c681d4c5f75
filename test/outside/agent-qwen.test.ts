/**
 * The real Qwen Code, which has hooks of its own kind: what the bridge knows of its turns. It has them twice, by its
 * settings in a terminal of Neovim's and by the extension, and tells everything twice.
 */
import { join } from "node:path";
import t from "tap";
import { z } from "zod";
import { geminiIn } from "../support/gemini.ts";
import type { Turn } from "../support/model.ts";
import { type Nvim, root } from "../support/nvim.ts";
import { startWithQwen } from "../support/qwen.ts";

const EVENTS = `
_G.told = {}
vim.api.nvim_create_autocmd('User', {
  pattern = { 'GeminiTurnStarted', 'GeminiTurnEnded', 'GeminiWaiting' },
  callback = function(event)
    local what = event.data.prompt or (event.data.tool or {}).filePath
    local who = event.data.terminal and event.data.cli
    table.insert(_G.told, event.match:sub(#'Gemini' + 1) .. ' ' .. who .. (what and ': ' .. what or ''))
  end,
})`;

const CLIENTS = "#require('gemini-bridge').status().clients";

/** Waits until all of this has been told, and no more. */
async function tells(nvim: Nvim, expected: string[]): Promise<void> {
  await nvim.waitFor(`#_G.told >= ${expected.length}`, expected.join(), 20_000);
  await nvim.waitFor("require('gemini-bridge').status().clients[1].activity == 'idle'", "the end", 20_000);
  t.same(
    z.array(z.string()).parse(await nvim.lua("local told = _G.told; _G.told = {}; return told")),
    expected,
  );
}

t.test("turns of Qwen Code", async (t) => {
  const record = "../home/.qwen/extensions/gemini-bridge/.qwen-extension-install.json";
  const { nvim, model } = await startWithQwen(t, {
    files: {
      "a.txt": "one\n",
      [record]: JSON.stringify({ source: join(root, "extension"), type: "link" }),
    },
    init: EVENTS,
  });
  const path = nvim.path("a.txt");
  const write = (content: string): Turn[] => [
    [{ functionCall: { name: "read_file", args: { file_path: path } } }],
    [{ functionCall: { name: "write_file", args: { file_path: path, content } } }],
  ];

  await nvim.command("GeminiGate on");
  await nvim.command("Gemini cli=qwen name=yolo --approval-mode yolo");
  await nvim.waitFor(`${CLIENTS} == 1`, "Qwen Code", 30_000);
  const cli = await geminiIn(nvim);
  model.say(...write("two\n"), [{ text: "It is two." }]);
  await nvim.command("GeminiSend! Write two.");
  await tells(nvim, ["TurnStarted qwen: Write two.", "TurnEnded qwen"]);
  await cli.waitForScreen(/It is two/);
  await nvim.lua("vim.api.nvim_buf_delete(..., { force = true })", cli.place.buf);
  await nvim.waitFor(`${CLIENTS} == 0`, "the end of Qwen Code", 30_000);

  await nvim.command("Gemini cli=qwen");
  await nvim.waitFor(`${CLIENTS} == 1`, "Qwen Code", 30_000);
  for (const command of ["GeminiAccept", "GeminiReject"]) {
    model.say(...write(`${command}\n`), ...(command === "GeminiAccept" ? [[{ text: "Well." }]] : []));
    await nvim.command("GeminiSend! Write more.");
    await nvim.waitFor(
      "require('gemini-bridge').status().clients[1].activity == 'waiting'",
      "the question",
      20_000,
    );
    await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the review", 20_000);
    await nvim.command(command);
    await tells(nvim, ["TurnStarted qwen: Write more.", `Waiting qwen: ${path}`, "TurnEnded qwen"]);
  }
});
