/** Compares the choice among editors with the CLI's own code, using random discovery directories. */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { getConnectionConfigFromFile } from "@google/gemini-cli-core/dist/src/ide/ide-connection-utils.js";
import fc from "fast-check";
import t from "tap";
import { announcedEditors, chooseEditor, contains } from "../../src/profiles/announced-editors.ts";
import { fuzz } from "../support/fuzz.ts";
import { makeDirectory } from "../support/sandbox.ts";

/** A process id above the maximum of Linux and macOS. */
const DEAD = 2 ** 22 + 1;

const base = makeDirectory(t);
const cwd = join(base, "project/in ner");
mkdirSync(cwd, { recursive: true });
mkdirSync(join(base, "other"));
symlinkSync(join(base, "project"), join(base, "link"));
process.chdir(cwd);

const roots = [
  cwd,
  join(base, "project"),
  join(base, "link"),
  join(base, "other"),
  join(base, "project/in"),
  join(base, "project/gone"),
  encodeURI(cwd),
  `file://${encodeURI(cwd)}`,
  "/",
  "",
  "..",
  "%",
];

const entry = fc.record({
  pid: fc.constantFrom(DEAD, DEAD + 1, process.pid, process.ppid, 1, 0),
  port: fc.integer({ min: 1, max: 5 }),
  content: fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        port: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.constantFrom("1", "2", undefined)),
        workspacePath: fc.option(
          fc.array(fc.constantFrom(...roots), { maxLength: 3 }).map((list) => list.join(":")),
          { nil: undefined },
        ),
      }),
    },
    { weight: 1, arbitrary: fc.constantFrom(null, 1, "text", "{ broken") },
  ),
});

t.test("the host predicts which editor the CLI chooses", async (t) => {
  let number = 0;
  const property = fc.asyncProperty(
    fc.array(entry, { maxLength: 6 }),
    fc.constantFrom(process.pid, DEAD, 7),
    fc.constantFrom(undefined, "1", "2", "9"),
    async (entries, idePid, port) => {
      const temporary = join(base, `tmp-${++number}`);
      mkdirSync(join(temporary, "gemini/ide"), { recursive: true });
      for (const [index, { pid, port, content }] of entries.entries()) {
        const text =
          content === "{ broken"
            ? content
            : JSON.stringify(
                typeof content === "object" && content !== null
                  ? { ...content, authToken: String(index) }
                  : content,
              );
        writeFileSync(join(temporary, `gemini/ide/gemini-ide-server-${pid}-${port}.json`), text);
      }
      process.env["TMPDIR"] = temporary;
      if (port === undefined) delete process.env["GEMINI_CLI_IDE_SERVER_PORT"];
      else process.env["GEMINI_CLI_IDE_SERVER_PORT"] = port;
      const theirs = await getConnectionConfigFromFile(idePid);
      const ours = chooseEditor(announcedEditors(temporary), { idePid, cwd, port });
      if (ours?.content?.authToken !== theirs?.authToken)
        throw new Error(`${JSON.stringify(ours)} is not ${JSON.stringify(theirs)}`);
      rmSync(temporary, { recursive: true });
    },
  );
  await fc.assert(property, fuzz(t, "discovery directories", 200));
});

t.test("only small regular files count as discovery files", async (t) => {
  const temporary = join(base, "hostile");
  const directory = join(temporary, "gemini/ide");
  mkdirSync(join(directory, "gemini-ide-server-1-1.json"), { recursive: true });
  writeFileSync(join(directory, "gemini-ide-server-1-2.json"), `{"port":2}${" ".repeat(1_000_000)}`);
  execFileSync("mkfifo", [join(directory, "gemini-ide-server-1-3.json")]);
  symlinkSync("/dev/zero", join(directory, "gemini-ide-server-1-4.json"));
  writeFileSync(join(directory, "gemini-ide-server-1-5.json"), '{"port":5}');
  t.match(announcedEditors(temporary), [{ port: 5 }], "and is not waited for");
});

t.test("a directory that does not exist is compared with a workspace that does not exist", async (t) => {
  t.equal(contains("/no/such", "/no/such/place"), true);
  t.equal(contains("/no/such", "/no/suchlike"), false);
  t.equal(contains("/no/such:/", "/elsewhere"), true);
  t.equal(contains(undefined, "/"), false);
  t.equal(contains(JSON.stringify(["/no/a:b", "/no/c"]), "/no/a:b/d"), true, "for Qwen Code");
  t.equal(contains(JSON.stringify(["/no/a:b", "/no/c"]), "/no/a"), false);
});
