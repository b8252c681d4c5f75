/** Tests that unreviewed changes of the real CLI are found, and undone byte for byte. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import t, { type Test } from "tap";
import { z } from "zod";
import { startCliInNvim } from "../support/cli.ts";
import { linkExtension } from "../support/extension.ts";
import { call, startModel, type Turn } from "../support/model.ts";
import { startNvim } from "../support/nvim.ts";

const FILES = {
  "crlf.txt": Buffer.from("one\r\ntwo\r\nthree\r\nfour\r\nfive\r\nsix\r\n"),
  "bom.txt": Buffer.from("\uFEFFone\ntwo"),
  "latin1.txt": Buffer.from("caf\xe9\nna\xefve\n", "latin1"),
  "long.txt": Buffer.from(`first\n${"a line of some length\n".repeat(95_000)}last\n`),
  "gone.txt": Buffer.from("going\n"),
};

const Changes = z.array(z.object({ path: z.string(), status: z.string(), hunks: z.int() }));

async function start(t: Test, args: string) {
  const nvim = await startNvim(t, { files: FILES, args: ["crlf.txt"] });
  const git = (...words: string[]) => execFileSync("git", words, { cwd: nvim.dirs.workspace });
  git("init", "-q");
  git("add", "-A");
  git("-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "first");
  const model = await startModel(t);
  await nvim.startBridge();
  linkExtension(nvim.dirs.home);
  const cli = await startCliInNvim(t, nvim, { model, args });
  await nvim.waitFor("#require('gemini-bridge').status().clients == 1", "the CLI to connect");
  const write = (name: string, content: string): Turn => [
    call("write_file", { file_path: nvim.path(name), content }),
  ];
  const replace = (name: string, old_string: string, new_string: string): Turn => [
    call("replace", { file_path: nvim.path(name), instruction: "Do it.", old_string, new_string }),
  ];
  const changes = async () => {
    const found = await nvim.lua("return require('gemini-bridge').changes()");
    const list = Array.isArray(found) ? Changes.parse(found) : [];
    return list.map(
      ({ path, status, hunks }) => `${path.slice(nvim.dirs.workspace.length + 1)} ${status} ${hunks}`,
    );
  };
  return { nvim, model, cli, write, replace, changes };
}

t.test("many edits of a turn in YOLO mode are listed and undone", async (t) => {
  const { nvim, model, cli, write, replace, changes } = await start(t, "--yolo");
  const read = (name: string) => readFileSync(nvim.path(name));
  model.say(
    replace("crlf.txt", "two", "zwei"),
    replace("crlf.txt", "five", "fünf"),
    write("bom.txt", "one\ntwo\nthree\n"),
    replace("latin1.txt", "na", "NA"),
    replace("long.txt", "last\n", "the last\n"),
    write("new.txt", "new\n"),
    [call("run_shell_command", { command: "rm gone.txt" })],
    [{ text: "All is done." }],
  );
  await cli.type("Change everything.");
  await cli.waitForScreen(/All is done\./, 40_000);
  await nvim.waitFor(async () => (await changes()).length === 6, "six changes");
  t.same(
    (await changes()).filter((change) => !change.startsWith("latin1.txt")),
    [
      "crlf.txt modified 2",
      "bom.txt modified 1",
      "long.txt modified 1",
      "new.txt added 1",
      "gone.txt deleted 1",
    ],
  );
  await nvim.says(/gemini changed 6 files .*see :GeminiChanges/);
  await nvim.command("5GeminiUndo");
  await nvim.waitFor(() => read("crlf.txt").includes("five"), "the hunk to be undone");
  t.equal(String(read("crlf.txt")), "one\r\nzwei\r\nthree\r\nfour\r\nfive\r\nsix\r\n");
  await nvim.command(`GeminiUndo ${nvim.path("new.txt")}`);
  await nvim.waitFor(() => !existsSync(nvim.path("new.txt")), "the new file to go");
  await nvim.command("GeminiUndo all");
  await nvim.waitFor(async () => (await changes()).length === 0, "all to be undone");
  for (const [name, bytes] of Object.entries(FILES)) t.ok(read(name).equals(bytes), name);

  const told = () => model.promptText().match(/The user undid your changes in [^;]*; do not redo/g) ?? [];
  for (const answer of ["I know", "And still"]) {
    model.say([{ text: `${answer}.` }]);
    await cli.type("Go on.");
    await cli.waitForScreen(new RegExp(`${answer}\\.`), 20_000);
    if (answer === "I know") t.match(told(), [/"crlf\.txt" \(2 hunks\), "new\.txt" \(1 hunk\).*"gone\.txt"/]);
  }
  t.ok(told().length <= 1, "not with every prompt");
  const view = "table.concat(require('gemini-bridge.report.status_view').lines(), ' ')";
  t.match(await nvim.lua(`return ${view}`), /Told agent +gemini, .*: The user undid your changes in/);
});

t.test('"Allow for this session" turns reviews into listed changes', async (t) => {
  const { nvim, model, cli, write, changes } = await start(t, "");
  const read = (name: string) => readFileSync(nvim.path(name), "utf8");
  const allow = async () => {
    await cli.waitForScreen(/2\. Allow for this session/, 20_000);
    await cli.press("2");
  };
  model.say(write("gone.txt", "one\n"), [{ text: "It is one." }]);
  await cli.type("Write one.");
  await allow();
  await cli.waitForScreen(/It is one\./, 20_000);
  model.say(write("gone.txt", "two\n"), [{ text: "It is two." }]);
  await cli.type("Write two.");
  await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the CLI to ask again");
  await nvim.command("GeminiAccept");
  await cli.waitForScreen(/It is two\./, 20_000);
  t.equal(read("gone.txt"), "two\n");
  t.same(await changes(), [], "what was reviewed is no change");

  t.match(await cli.slash("/ide disable"), /disabled|disconnected/i);
  await nvim.waitFor("#require('gemini-bridge').status().clients == 0", "the CLI to be gone");
  model.say(write("gone.txt", "three\n"), write("gone.txt", "four\n"), [{ text: "It is four." }]);
  await cli.type("Write three.");
  await allow();
  await cli.waitForScreen(/It is four\./, 20_000);
  t.equal(read("gone.txt"), "four\n");
  await nvim.waitFor(async () => (await changes()).length === 1, "the change that nobody was asked about");
  await nvim.command(`GeminiUndo ${nvim.path("gone.txt")}`);
  await nvim.waitFor(async () => (await changes()).length === 0, "it to be undone");
  t.equal(read("gone.txt"), "two\n");
});
