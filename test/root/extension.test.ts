/** Tests that each event counts only once for root. Root has the hooks of the system defaults and of the extension. */
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { z } from "zod";
import { geminiIn, startWithGemini } from "../support/gemini.ts";
import { writesFile } from "../support/model.ts";
import type { Nvim } from "../support/nvim.ts";

const TURNS = `
_G.turns = 0
vim.api.nvim_create_autocmd('User', { pattern = 'GeminiTurnStarted', callback = function() _G.turns = _G.turns + 1 end })`;

const History = z.array(z.object({ prompt: z.string(), entries: z.array(z.object({ kind: z.string() })) }));

async function start(t: Parameters<typeof startWithGemini>[0]) {
  return startWithGemini(t, {
    tui: true,
    below: join(homedir(), ".cache"),
    init: TURNS,
    files: { "a.txt": "one\n" },
    args: ["a.txt"],
  });
}

async function edit(nvim: Nvim, model: Awaited<ReturnType<typeof start>>["model"]) {
  await nvim.command("Gemini --yolo");
  const cli = await geminiIn(nvim);
  await cli.waitForScreen(/YOLO/, 40_000);
  await nvim.waitFor("(require('gemini-bridge').status().clients[1] or {}).hooks", "a hook", 30_000);
  model.say(...writesFile(nvim.path("a.txt"), "two\n", "All is done."));
  await cli.type("Write.");
  await cli.waitForScreen(/All is done\./, 20_000);
  await nvim.waitFor("#require('gemini-bridge').changes() == 1", "the change");
  return cli;
}

t.test("root needs no extension, and is not asked to install it", async (t) => {
  const { nvim, model } = await start(t);
  await nvim.lua("vim.ui.select = function() error('asked') end");
  await edit(nvim, model);
  await nvim.command("GeminiUndo all");
  await nvim.waitFor(() => readFileSync(nvim.path("a.txt"), "utf8") === "one\n", "the undo");
});

t.test("with hooks of settings and extension, a turn starts once and an edit is one entry", async (t) => {
  const { nvim, model } = await start(t);
  await nvim.command("GeminiExtension install");
  await nvim.waitFor(
    async () => /The extension is linked/.test((await nvim.messages()).replaceAll("\n", "")),
    "the link",
    30_000,
  );
  const cli = await edit(nvim, model);
  t.equal(await nvim.lua("return _G.turns"), 1);
  const [turn] = History.parse(await nvim.lua("return require('gemini-bridge').history()"));
  t.match(turn, { prompt: "Write.", entries: [{ kind: "written" }] });

  await nvim.command("GeminiGate on");
  model.say(...writesFile(nvim.path("a.txt"), "three\n", "Twice done."));
  await cli.type("Write again.");
  await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the review");
  await nvim.command("GeminiAccept");
  await cli.waitForScreen(/Twice done\./, 20_000);
  t.equal(readFileSync(nvim.path("a.txt"), "utf8"), "three\n");
  t.equal(await nvim.lua("return _G.turns"), 2);
});
