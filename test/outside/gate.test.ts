/** The gate with the real CLI in YOLO mode: several edits in one answer of the model's, and one of them taken back. */
import { readFileSync } from "node:fs";
import t from "tap";
import { z } from "zod";
import { startCliInNvim } from "../support/cli.ts";
import { linkExtension } from "../support/extension.ts";
import { startModel } from "../support/model.ts";
import { startNvim } from "../support/nvim.ts";

const Paths = z.array(z.object({ filePath: z.string() }));

t.test("each edit of an answer is a review of its own", async (t) => {
  const nvim = await startNvim(t, { files: { "a.txt": "one\r\ntwo\r\n", "b.txt": "one\n" } });
  const model = await startModel(t);
  const read = (name: string) => readFileSync(nvim.path(name), "utf8");
  await nvim.command("GeminiGate on");
  await nvim.command("GeminiStart");
  await nvim.waitFor("require('gemini-bridge').status().state == 'running'", "the bridge to run", 10_000);
  linkExtension(nvim.dirs.home);
  const cli = await startCliInNvim(t, nvim, { model, args: "--yolo" });
  await nvim.waitFor("#require('gemini-bridge').status().clients == 1", "the CLI to connect", 20_000);
  const call = (name: string, file: string, args: object) => ({
    functionCall: { name, args: { file_path: nvim.path(file), ...args } },
  });
  const replace = (file: string, old_string: string, new_string: string) =>
    call("replace", file, { instruction: "Do it.", old_string, new_string });
  model.say(
    [
      replace("a.txt", "one", "1"),
      call("write_file", "b.txt", { content: "1\n" }),
      replace("a.txt", "two", "2"),
    ],
    [{ text: "All is done." }],
  );
  await cli.type("Digits.");
  const reviewed: string[] = [];
  for (let i = 0; i < 3; i += 1) {
    const diffs = async () => {
      const list = await nvim.lua("return require('gemini-bridge').diffs()");
      return Array.isArray(list) ? Paths.parse(list) : [];
    };
    await nvim.waitFor(async () => (await diffs()).length === 1, `review ${i + 1}`, 20_000);
    reviewed.push(...(await diffs()).map(({ filePath }) => filePath.slice(nvim.dirs.workspace.length + 1)));
    await nvim.command("GeminiAccept");
    await nvim.waitFor(async () => (await diffs()).length === 0, "it to be decided", 10_000);
  }
  await cli.waitForScreen(/All is done\./, 20_000);
  t.same(reviewed.sort(), ["a.txt", "a.txt", "b.txt"]);
  t.equal(read("a.txt"), "1\r\n2\r\n");
  t.equal(read("b.txt"), "1\n");
  t.same(await nvim.lua("return require('gemini-bridge').changes()"), [], "what is reviewed is no change");
  const [turn] = z
    .array(z.object({ prompt: z.string(), entries: z.array(z.object({ kind: z.string() })) }))
    .parse(await nvim.lua("return require('gemini-bridge').history()"));
  t.match(turn, {
    prompt: "Digits.",
    entries: [{ kind: "accepted" }, { kind: "accepted" }, { kind: "accepted" }],
  });

  await nvim.lua(`vim.ui.select = function(items, _, choose)
    choose(vim.iter(items):find(function(item) return item.path:find('a.txt', 1, true) end))
  end`);
  await nvim.command("GeminiHistory");
  await nvim.waitFor("vim.b.gemini_history ~= nil", "the diff", 10_000);
  await nvim.command("GeminiUndo");
  await nvim.waitFor(() => read("a.txt") !== "1\r\n2\r\n", "it to be taken back");
  t.equal(read("a.txt"), "1\r\ntwo\r\n", "the last of the two");
});
