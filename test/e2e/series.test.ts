/**
 * Tests two proposals in one turn of the real CLI. The user decides with single keys, starting in the CLI's terminal.
 */
import { readFileSync } from "node:fs";
import t from "tap";
import { linkExtension } from "../support/extension.ts";
import { geminiIn, startWithGemini } from "../support/gemini.ts";
import { call } from "../support/model.ts";

for (const hasHooks of [true, false])
  t.test(`no key for a proposal reaches the CLI, ${hasHooks ? "with" : "without"} hooks`, async (t) => {
    const { nvim, model } = await startWithGemini(t, { files: { "a.txt": "one\n", "b.txt": "one\n" } });
    if (hasHooks) linkExtension(nvim.dirs.home);
    await nvim.command("edit a.txt");
    await nvim.input(":Gemini<CR>");
    const cli = await geminiIn(nvim);
    await cli.waitForScreen(/Type your message/, 40_000);
    const client = "(require('gemini-bridge').status().clients[1] or {})";
    await nvim.waitFor(hasHooks ? `${client}.hooks` : `${client}.id`, "the connection");

    const isIn = (name: string) =>
      nvim.waitFor(
        `vim.deep_equal(
          { vim.fn.fnamemodify((vim.b.gemini_diff or {}).filePath or '', ':t'), vim.api.nvim_get_mode().mode },
          { '${name}', 'n' })`,
        `${name} in Normal mode`,
      );
    const writes = ["a.txt", "b.txt"].map((name) =>
      call("write_file", { file_path: nvim.path(name), content: "two\n" }),
    );
    model.say(writes, [{ text: "All done." }]);
    await cli.type("Write both.");
    await nvim.waitFor("#require('gemini-bridge').diffs() > 0", "the first proposal");
    await nvim.input("<C-\\><C-n>:GeminiReview<CR>");
    await isIn("a.txt");
    await nvim.input(":w<CR>");
    await nvim.waitFor(
      `vim.iter(require('gemini-bridge').diffs()):any(function(diff) return diff.filePath == '${nvim.path("b.txt")}' end)`,
      "the second proposal",
    );
    if (!hasHooks) {
      t.equal(
        await nvim.lua("return vim.api.nvim_get_mode().mode"),
        "nt",
        "the focus stays in the terminal, in Normal mode",
      );
      await nvim.input(":GeminiReview<CR>");
    }
    await isIn("b.txt");
    await nvim.input(":q<CR><CR>");
    await nvim.waitFor("#require('gemini-bridge').diffs() == 0", "the decision");
    await cli.waitForScreen(/Request cancelled|All done/, 20_000);
    t.equal(readFileSync(nvim.path("a.txt"), "utf8"), "two\n");
    t.equal(readFileSync(nvim.path("b.txt"), "utf8"), "one\n", "the rejected file is not written");

    model.say([call("write_file", { file_path: nvim.path("b.txt"), content: "two\n" })]);
    await cli.type("Write b again.");
    await nvim.waitFor("#require('gemini-bridge').diffs() > 0", "the third proposal");
    model.say([{ text: "I see." }]);
    await nvim.input('<C-\\><C-n>:GeminiReject use "three" | not % of 2<CR>');
    await cli.waitForScreen(/I see\./, 20_000);
    t.match(model.promptText(), /use "three" \| not % of 2/, "the reason is the next prompt, literally");
  });
