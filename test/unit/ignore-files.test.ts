/** Tests unusable ignore files of hostile repositories or broken disks. Such files exclude files, and never block. */
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import { z } from "zod";
import { createFiles } from "../../src/sharing/files.ts";
import { runApart } from "../support/apart.ts";
import { makeDirectory } from "../support/sandbox.ts";

const Seen = z.object({
  verdicts: z.record(z.string(), z.enum(["absent", "excluded", "shared"])),
  reports: z.array(z.string()),
});

/** Creates a folder with the files `top`, `sub/in` and `beside/out`. */
function project(t: Test) {
  const base = makeDirectory(t);
  const path = (...names: string[]) => join(base, "project", ...names);
  for (const name of ["top", "sub/in", "beside/out"]) {
    mkdirSync(dirname(path(name)), { recursive: true });
    writeFileSync(path(name), "");
  }
  const names = ["top", "sub/in", "beside/out"];
  const script = `
    const reports = [];
    const files = it.createFiles({ report: ({ file, reason }) => reports.push(file + " " + reason) });
    globalThis.prepare?.();
    const verdicts = {};
    for (let again = 0; again < 2; again += 1) {
      const look = files.takeSnapshot([]);
      for (const name of ${JSON.stringify(names)}) verdicts[name] = look(${JSON.stringify(path())} + "/" + name);
    }
    console.log(JSON.stringify({ verdicts, reports }));`;
  return {
    base,
    path,
    names,
    /** Returns which of the three files are excluded. Reads the ignore files in a separate process. */
    async look(before = "", by: readonly string[] = []) {
      const said = await runApart(base, "src/sharing/files.ts", before + script, { by });
      return Seen.parse(JSON.parse(said.startsWith("{") ? said : JSON.stringify(said)));
    },
  };
}

const BELOW_SUB = { top: "shared", "sub/in": "excluded", "beside/out": "shared" };
const ALL = { top: "excluded", "sub/in": "excluded", "beside/out": "excluded" };

const hostile: [name: string, plant: (file: string) => void, reason: RegExp][] = [
  ["a link to a device without an end", (file) => symlinkSync("/dev/zero", file), /is not a regular file/],
  ["a pipe that nobody writes to", (file) => void execFileSync("mkfifo", [file]), /is not a regular file/],
  ["a directory", (file) => mkdirSync(file), /is not a regular file/],
  [
    "200 MB",
    (file) => {
      writeFileSync(file, "");
      truncateSync(file, 200_000_000);
    },
    /is too long/,
  ],
  ["UTF-16", (file) => writeFileSync(file, "\ufeffin\r\n", "utf16le"), /must be UTF-8/],
  ["a link to itself", (file) => symlinkSync(".geminiignore", file), /cannot be read \(ELOOP\)/],
  ["a link to nothing", (file) => symlinkSync("nowhere", file), /cannot be read \(ENOENT\)/],
  [
    "a link to what cannot be read",
    (file) => symlinkSync("/proc/self/mem", file),
    /cannot be read|no regular/,
  ],
];

t.test("an unusable ignore file excludes everything below its folder, and is reported once", async (t) => {
  for (const [name, plant, reason] of hostile) {
    await t.test(name, async (t) => {
      const { path, look } = project(t);
      plant(path("sub", ".geminiignore"));
      const { verdicts, reports } = await look();
      t.same(verdicts, BELOW_SUB);
      t.equal(reports.length, 1);
      t.match(reports[0], reason);
      t.ok(reports[0]?.startsWith(`${path("sub", ".geminiignore")} `));
    });
  }
});

t.test("an unusable ignore file above the project excludes everything below", async (t) => {
  const { base, look } = project(t);
  execFileSync("mkfifo", [join(base, ".geminiignore")]);
  const { verdicts, reports } = await look();
  t.same(verdicts, ALL);
  t.equal(reports.length, 1);
});

t.test("an ignore file that cannot be opened excludes everything", async (t) => {
  await t.test("an unreadable ignore file excludes everything below", async (t) => {
    const { path, look } = project(t);
    writeFileSync(path("sub", ".geminiignore"), "nothing\n");
    chmodSync(path("sub", ".geminiignore"), 0);
    const { verdicts, reports } = await look();
    t.same(verdicts, BELOW_SUB);
    t.match(reports, [/cannot be read \(EACCES\)/]);
  });
  await t.test("without free file descriptors, everything is excluded", async (t) => {
    const { path, look } = project(t);
    writeFileSync(path("sub", ".geminiignore"), "nothing\n");
    const use = `globalThis.prepare = () => { const { openSync } = require("node:fs");
      try { for (;;) openSync("/dev/null"); } catch {} };`;
    const { verdicts, reports } = await look(use, ["sh", "-c", 'ulimit -n 64; exec "$@"', "sh"]);
    t.same(verdicts, BELOW_SUB);
    t.match(reports, [/cannot be read \(EMFILE\)/]);
  });
});

t.test("a pattern with too many wildcards excludes everything below its folder", async (t) => {
  const { path, look } = project(t);
  writeFileSync(path("sub", ".geminiignore"), `one\n${"*a".repeat(21)}\n`);
  const { verdicts, reports } = await look();
  t.same(verdicts, BELOW_SUB);
  t.match(reports, [/has a pattern that is too long or has too many wildcards: \*a\*a/]);
});

t.test("slow ignore rules are stopped and exclude everything", async (t) => {
  const { path, look } = project(t);
  const name = "a".repeat(250);
  writeFileSync(path("sub", name), "");
  writeFileSync(path("sub", ".geminiignore"), `${"*a".repeat(20)}b\n${"**/".repeat(20)}b\n`.repeat(900));
  const before = process.cpuUsage();
  const { verdicts } = await look();
  t.ok(process.cpuUsage(before).user < 10_000_000);
  t.equal(verdicts["top"], "shared");
  const reports: string[] = [];
  const files = createFiles({ report: ({ reason }) => reports.push(reason) });
  const cpu = process.cpuUsage();
  for (let round = 0; round < 100; round += 1) files.takeSnapshot([])(path("sub", name));
  const { user } = process.cpuUsage(cpu);
  t.ok(user < 1_000_000, `a hundred looks took ${user} microseconds`);
});

t.test("too many ignore rules for a path exclude the path, and are reported once", async (t) => {
  const { path } = project(t);
  const deep = path("sub", ...Array<string>(50).fill("a".repeat(40)));
  mkdirSync(deep, { recursive: true });
  for (const name of ["one", "two"]) writeFileSync(join(deep, name), "");
  writeFileSync(path("sub", ".geminiignore"), "**/*a/**/*/**/*a/**/?*/*a/a*b\n".repeat(50));
  const reports: string[] = [];
  const files = createFiles({ report: ({ reason }) => reports.push(reason) });
  t.same(
    ["one", "two", "one"].map((name) => files.takeSnapshot([])(join(deep, name))),
    ["excluded", "excluded", "excluded"],
  );
  t.match(reports, [/take too long/]);
  t.equal(reports.length, 1);
});

t.test("the total size of all ignore files above a path is limited", async (t) => {
  const { path } = project(t);
  let folder = path("sub");
  for (let depth = 0; depth < 12; depth += 1) {
    folder = join(folder, "d");
    mkdirSync(folder);
    writeFileSync(join(folder, ".geminiignore"), "# nothing but words\n".repeat(500));
    writeFileSync(join(folder, "f"), "");
  }
  const reports: string[] = [];
  const look = createFiles({ report: ({ reason }) => reports.push(reason) }).takeSnapshot([]);
  t.equal(look(join(path("sub"), "d/d/d/f")), "shared");
  t.equal(look(join(folder, "f")), "excluded");
  t.match(reports, [/it and the ignore files above have more than 100000 bytes/]);
  t.equal(reports.length, 1);
});

t.test("a repaired ignore file applies again, without its old rules", async (t) => {
  const { path } = project(t);
  const file = path("sub", ".geminiignore");
  const reports: string[] = [];
  const files = createFiles({ report: ({ reason }) => reports.push(reason) });
  const verdict = () => files.takeSnapshot([])(path("sub", "in"));
  t.equal(verdict(), "shared");
  symlinkSync("nowhere", file);
  t.equal(verdict(), "excluded");
  t.equal(verdict(), "excluded");
  rmSync(file);
  t.equal(verdict(), "shared");
  writeFileSync(file, "in\n");
  t.equal(verdict(), "excluded");
  writeFileSync(file, "inside\n");
  t.equal(verdict(), "shared");
  symlinkSync("nowhere", path(".geminiignore"));
  t.equal(verdict(), "excluded", "by the folder above");
  rmSync(path(".geminiignore"));
  t.equal(verdict(), "shared");
  // An ignore file may be a link to another place.
  rmSync(file);
  writeFileSync(path("rules"), "in\n");
  symlinkSync("../rules", file);
  t.equal(verdict(), "excluded", "by a file that a link leads to");
  t.equal(reports.length, 2);
  t.ok(existsSync(file));
});

t.test("an excluded folder stays excluded, whatever an ignore file inside says", async (t) => {
  const { path } = project(t);
  writeFileSync(path(".geminiignore"), "sub/\n*.x\n");
  writeFileSync(path("sub", ".geminiignore"), "!in\n");
  writeFileSync(path("beside", ".geminiignore"), "!out.x\n");
  writeFileSync(path("beside", "out.x"), "");
  writeFileSync(path("beside", "other.x"), "");
  const look = createFiles().takeSnapshot([]);
  t.equal(look(path("sub", "in")), "excluded", "as with git");
  t.equal(look(path("beside", "out.x")), "shared");
  t.equal(look(path("beside", "other.x")), "excluded");
});
