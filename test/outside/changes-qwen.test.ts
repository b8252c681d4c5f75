/** What the real Qwen Code changes in its own mode, in which it asks nobody: found by its hooks, and undone byte for byte. */
import { existsSync, readFileSync } from "node:fs";
import t from "tap";
import { z } from "zod";
import { geminiIn } from "../support/gemini.ts";
import type { Turn } from "../support/model.ts";
import { startWithQwen } from "../support/qwen.ts";

const FILES = {
  "crlf.txt": Buffer.from("one\r\ntwo\r\nthree\r\nfour\r\nfive\r\nsix\r\n"),
  "bom.txt": Buffer.from("\uFEFFone\ntwo"),
  "long.txt": Buffer.from(`first\n${"a line of some length\n".repeat(95_000)}last\n`),
  "gone.txt": Buffer.from("going\n"),
};
const CLIENTS = "#require('gemini-bridge').status().clients";
const Changes = z.preprocess(
  (list) => (Array.isArray(list) ? list : []),
  z.array(z.object({ path: z.string(), status: z.string(), hunks: z.int(), cli: z.string() })),
);

t.test("a turn of Qwen Code's in auto mode", async (t) => {
  const { nvim, model } = await startWithQwen(t, { files: FILES, args: ["crlf.txt", "gone.txt"] });
  const read = (name: string) => readFileSync(nvim.path(name));
  const call = (name: string, file: string, args: object = {}): Turn => [
    { functionCall: { name, args: { file_path: nvim.path(file), ...args } } },
  ];
  const edit = (file: string, old_string: string, new_string: string) =>
    call("edit", file, { old_string, new_string });
  const changes = async () =>
    Changes.parse(await nvim.lua("return require('gemini-bridge').changes()")).map(
      ({ path, status, hunks, cli }) =>
        `${cli} ${path.slice(nvim.dirs.workspace.length + 1)} ${status} ${hunks}`,
    );
  await nvim.command("argument 2 | argument 1");
  await nvim.command("GeminiStart");
  await nvim.waitFor("require('gemini-bridge').status().state == 'running'", "the bridge to run", 10_000);
  await nvim.command("Gemini cli=qwen --approval-mode auto");
  await nvim.waitFor(`${CLIENTS} == 1`, "Qwen Code", 30_000);
  const cli = await geminiIn(nvim);
  model.say(
    call("read_file", "crlf.txt"),
    edit("crlf.txt", "two", "zwei"),
    edit("crlf.txt", "five", "fünf"),
    call("read_file", "bom.txt"),
    call("write_file", "bom.txt", { content: "one\ntwo\nthree\n" }),
    call("read_file", "long.txt"),
    edit("long.txt", "last\n", "the last\n"),
    call("write_file", "new.txt", { content: "new\n" }),
    [{ functionCall: { name: "run_shell_command", args: { command: "rm gone.txt", is_background: false } } }],
    [{ text: "All is done." }],
  );
  await nvim.command("GeminiSend! Change everything.");
  // No model judges the command here, so that the user is asked about it alone.
  await cli.waitForScreen(/Allow execution of: 'rm'/, 40_000);
  await cli.press("\r");
  await cli.waitForScreen(/All is done\./, 20_000);
  await nvim.waitFor(async () => (await changes()).length === 5, "five changes").catch(() => {});
  t.same(await changes(), [
    "qwen crlf.txt modified 2",
    "qwen bom.txt modified 1",
    "qwen long.txt modified 1",
    "qwen new.txt added 1",
    "qwen gone.txt deleted 1",
  ]);
  await nvim.waitFor(
    async () => /qwen changed 5 files .*see :GeminiChanges/.test(await nvim.messages()),
    "the line at the end of the turn",
  );
  await nvim.lua(`vim.api.nvim_set_current_win(vim.fn.win_findbuf(vim.fn.bufnr('crlf.txt'))[1])`);
  await nvim.command("5GeminiUndo");
  await nvim.waitFor(() => read("crlf.txt").includes("five"), "the hunk to be undone");
  t.equal(String(read("crlf.txt")), "one\r\nzwei\r\nthree\r\nfour\r\nfive\r\nsix\r\n");
  await nvim.command(`GeminiUndo ${nvim.path("new.txt")}`);
  await nvim.waitFor(() => !existsSync(nvim.path("new.txt")), "the new file to go");
  await nvim.command("GeminiUndo all");
  await nvim.waitFor(async () => (await changes()).length === 0, "all to be undone");
  for (const [name, bytes] of Object.entries(FILES)) t.ok(read(name).equals(bytes), name);

  await t.test("with the host gone, its screen stays clean", async (t) => {
    await nvim.command("GeminiStop");
    await nvim.waitFor("require('gemini-bridge').status().state == 'stopped'", "the bridge to stop");
    model.say(call("read_file", "bom.txt"), call("write_file", "bom.txt", { content: "gone\n" }), [
      { text: "Nobody saw it." },
    ]);
    await nvim.lua("vim.fn.chansend(..., 'Once more.')", cli.place.job);
    await cli.waitForScreen(/Once more\./);
    await cli.press("\x1b[F\r");
    await cli.waitForScreen(/Nobody saw it\./, 20_000);
    t.match(String(read("bom.txt")), /gone/);
    const shown = await nvim.lua(
      "return table.concat(vim.api.nvim_buf_get_lines(..., 0, -1, false), '\\n')",
      cli.place.buf,
    );
    t.notMatch(shown, /hook|ECONN|failed/i);
  });
});
