/**
 * Tests that changes of shell commands are found in any Git work tree. Nothing is written there, and no program runs.
 */
import {
  chmodSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { ChangesHost } from "../support/changes.ts";
import { run, SETUP, sh } from "../support/shell.ts";
import { temporary } from "../support/temporary.ts";
import { waitFor } from "../support/wait.ts";

t.test("in a work tree, each file that a command changes is found with its earlier bytes", async (t) => {
  const host = new ChangesHost(t);
  for (const name of ["clean.txt", "gone.sh", "dirty.txt", "staged.txt", "odd \n:name*.txt"])
    host.write(name, "one\ntwo\ncaf\xe9\n");
  chmodSync(host.path("gone.sh"), 0o755);
  sh(host, SETUP);
  host.write("dirty.txt", "mine\ntwo\n");
  host.write("staged.txt", "mine\n");
  sh(host, "git add staged.txt");
  host.write("untracked.txt", "mine\n");
  const index = statSync(host.path(".git/index"));
  const inGit = readdirSync(host.path(".git"), { recursive: true }).sort();

  await run(
    host,
    "for f in clean.txt dirty.txt staged.txt untracked.txt 'odd\n:name*.txt'; do :; done;" +
      "echo a >> clean.txt; echo a >> dirty.txt; echo a >> staged.txt; echo a >> untracked.txt; rm gone.sh;" +
      'for f in odd*; do echo a >> "$f"; done; mkdir -p deep/er; echo a > deep/er/new.txt',
  );
  t.strictSame(
    [...host.shown.values()]
      .map(({ path, status, added, removed }) => [
        path.slice(host.directory.length + 1),
        status,
        added,
        removed,
      ])
      .sort(),
    [
      ["clean.txt", "modified", 1, 0],
      ["deep/er/new.txt", "added", 1, 0],
      ["dirty.txt", "modified", 1, 0],
      ["gone.sh", "deleted", 0, 3],
      ["odd \n:name*.txt", "modified", 1, 0],
      ["staged.txt", "modified", 1, 0],
      ["untracked.txt", "modified", 1, 0],
    ],
  );
  t.equal(statSync(host.path(".git/index")).mtimeMs, index.mtimeMs, "the index is not written");
  t.strictSame(readdirSync(host.path(".git"), { recursive: true }).sort(), inGit, "nor anything else");

  for (const name of [...host.shown.keys()]) await host.undo(name.slice(host.directory.length + 1));
  t.strictSame(host.messages(), []);
  for (const name of ["clean.txt", "gone.sh", "odd \n:name*.txt"])
    t.equal(String(host.read(name)), "one\ntwo\ncaf\xe9\n");
  t.equal(String(host.read("dirty.txt")), "mine\ntwo\n");
  t.equal(String(host.read("staged.txt")), "mine\n");
  t.equal(String(host.read("untracked.txt")), "mine\n");
  t.equal(statSync(host.path("gone.sh")).mode & 0o111, 0o111);
  t.notOk(existsSync(host.path("deep/er/new.txt")));
});

t.test("a prompt that the user sends during a command does not end the command", async (t) => {
  const host = new ChangesHost(t);
  const tool = { kind: "shell", name: "Bash", command: "slow" } as const;
  const prompt = (text: string, turn: string) => host.tell({ kind: "turn_started", prompt: text, turn });
  await prompt("first", "1");
  await host.tell({ kind: "tool_starting", tool });
  host.write("early.txt", "x\n");
  await prompt("second", "1");
  host.write("late.txt", "x\n");
  await host.tell({ kind: "turn_started", prompt: "a task has ended", turn: "2", isOwn: true });
  host.write("later.txt", "x\n");
  await prompt("another", "2");
  host.write("last.txt", "x\n");
  await host.tell({ kind: "tool_ended", tool, failed: false });
  for (const name of ["early.txt", "late.txt", "later.txt", "last.txt"])
    t.match(host.change(name), { status: "added", prompt: "another" }, name);

  await host.tell({ kind: "tool_starting", tool });
  await prompt("third", "3");
  host.write("other.txt", "x\n");
  await host.tell({ kind: "tool_ended", tool, failed: false });
  t.equal(host.change("other.txt"), undefined, "the next turn has ended the command");
});

t.test("the earlier bytes of a file that Git converts are exact", async (t) => {
  const host = new ChangesHost(t);
  host.write(".gitattributes", "*.txt text=auto\n*.id ident\n*.utf16 working-tree-encoding=UTF-16LE\n");
  host.write("crlf.txt", "one\r\ntwo\r\n");
  host.write("lf.txt", "one\ntwo\n");
  host.write("a.id", "$Id$\n");
  host.write("a.utf16", Buffer.from("one\n", "utf16le"));
  host.write("attribute.txt", "x\n");
  sh(host, SETUP);
  const names = ["crlf.txt", "lf.txt", "a.id", "a.utf16"];
  const before = names.map((name) => host.read(name));
  await run(host, "for f in *.txt *.id *.utf16; do echo more >> $f; done");
  for (const [i, name] of names.entries()) {
    t.match(host.change(name), { status: "modified", fixed: undefined }, name);
    await host.undo(name);
    t.same(host.read(name), before[i], name);
  }
  t.strictSame(host.messages(), []);
});

t.test("a repository runs no program, whatever its configuration says", async (t) => {
  const host = new ChangesHost(t);
  host.write(".gitattributes", "*.txt filter=evil diff=evil\n");
  host.write("a.txt", "one\n");
  host.write("b.bin", "one\n");
  sh(host, SETUP);
  const trap = `touch ${host.path("trapped")};`;
  host.write("trap.sh", `#!/bin/sh\n${trap}\ncat\n`);
  chmodSync(host.path("trap.sh"), 0o755);
  const script = host.path("trap.sh");
  sh(
    host,
    `for key in filter.evil.clean filter.evil.smudge filter.evil.process core.fsmonitor diff.evil.textconv diff.external ` +
      `core.pager core.sshCommand credential.helper; do git config $key ${script}; done; ` +
      `git config filter.evil.required true; git config core.hooksPath ${host.directory}; touch a.txt`,
  );
  sh(host, "git status 2>/dev/null || :");
  t.ok(existsSync(host.path("trapped")), "git by itself would");
  sh(host, "rm trapped");
  await run(host, "echo a >> a.txt; echo a >> b.bin");
  t.notOk(existsSync(host.path("trapped")));
  t.match(host.change("b.bin"), { added: 1 });
  t.match(host.change("a.txt"), { added: 1 });
  t.match(readFileSync(host.path(".git/config"), "utf8"), /trap/);
});

t.test("outside a work tree, each file of the open directories is compared", async (t) => {
  const elsewhere = temporary(t);
  const host = new ChangesHost(t);
  host.write("a.txt", "one\n");
  host.write("gone.txt", "gone\n", 0o600);
  host.write("same.txt", "same\n");
  host.write("long.bin", "a".repeat(9 * 1024 * 1024));
  writeFileSync(join(elsewhere, "b.txt"), "elsewhere\n");
  sh(host, "mkdir .git; echo 1 > .git/HEAD");
  await run(
    host,
    `echo a >> a.txt; rm gone.txt; mkdir -p b/c; echo n > b/c/new.txt; ln -s a.txt link; mv long.bin moved.bin;` +
      `echo 2 > .git/HEAD; echo more >> ${elsewhere}/b.txt`,
  );
  const statuses = [...host.shown.values()].map(({ path, status, fixed }) => [
    path.slice(host.directory.length + 1),
    status,
    fixed !== undefined,
  ]);
  t.strictSame(statuses.sort(), [
    ["a.txt", "modified", false],
    ["b/c/new.txt", "added", false],
    ["gone.txt", "deleted", false],
    ["link", "added", false],
  ]);
  for (const name of [...host.shown.keys()]) await host.undo(name.slice(host.directory.length + 1));
  t.equal(String(host.read("a.txt")), "one\n");
  t.equal(String(host.read("gone.txt")), "gone\n");
  t.equal(host.mode("gone.txt"), 0o600);
  t.notOk(existsSync(host.path("b/c/new.txt")));
  t.notOk(lstatSync(host.path("link"), { throwIfNoEntry: false }));
  t.equal(statSync(host.path("moved.bin")).size, 9 * 1024 * 1024, "the only copy of a file is not deleted");
  await host.tell({ kind: "turn_ended" });
  t.strictSame(host.messages(), [
    "Some changes by gemini may be missing from :GeminiChanges: files over 8 MB are not compared.",
  ]);
});

t.test("read-only files that a command changes are restored with their bytes and mode", async (t) => {
  for (const command of ["sed -i s/one/two/ a.txt", "chmod 644 a.txt; echo two >> a.txt"]) {
    const host = new ChangesHost(t);
    host.write("a.txt", "one\n", 0o444);
    await run(host, command);
    t.match(host.change("a.txt"), { added: 1, fixed: undefined });
    await host.undo("a.txt");
    t.strictSame(host.messages(), []);
    t.equal(String(host.read("a.txt")), "one\n");
    t.equal(host.mode("a.txt"), 0o444);
  }
});

t.test("when a CLI connects, the first snapshot is taken without a command", async (t) => {
  const host = new ChangesHost(t);
  host.write("a.txt", "one\n");
  host.changes.prepare();
  const stores = host.path("state/snapshots");
  const names = () => readdirSync(stores, { recursive: true, encoding: "utf8" });
  await waitFor(() => names().some((name) => /index-[^.]*$/.test(name)), "an index");
});

t.test("a directory with too many files is reported in one sentence", async (t) => {
  const host = new ChangesHost(t);
  sh(host, "mkdir many; cd many; seq 5001 | xargs touch");
  host.write("z.txt", "one\n");
  await run(host, "echo two >> z.txt; echo more >> many/5000");
  await run(host, "echo three >> z.txt");
  await host.tell({ kind: "turn_ended" });
  t.equal(host.shown.size, 0);
  t.strictSame(host.messages(), [
    "Some changes by gemini may be missing from :GeminiChanges: more than 5000 files are not in Git.",
  ]);
});

for (const isGit of [true, false])
  t.test(
    `${isGit ? "in" : "outside"} a work tree, a file name that is not UTF-8 is reported in one sentence`,
    async (t) => {
      const host = new ChangesHost(t);
      if (isGit) sh(host, "git init -q");
      const path = Buffer.concat([Buffer.from(host.path("caf")), Buffer.from([0xe9])]);
      host.write("a.txt", "one\n");
      await run(host, "printf two >> a.txt; printf x > \"$(printf 'caf\\351')\"");
      await host.tell({ kind: "turn_ended" });
      t.ok(existsSync(path));
      t.strictSame([...host.shown.keys()], [host.path("a.txt")]);
      t.strictSame(host.messages(), [
        "Some changes by gemini may be missing from :GeminiChanges: there are files whose names are not valid UTF-8.",
      ]);
    },
  );

/** Number of files that the command moves. */
const MANY = 600;

async function movesAll(t: Test, prepare: (host: ChangesHost) => Promise<void>): Promise<void> {
  const host = new ChangesHost(t);
  sh(host, `mkdir from; i=0; while [ $i -lt ${MANY} ]; do echo "text $i" > from/$i.txt; i=$((i + 1)); done`);
  await prepare(host);
  await run(host, "mv from to");
  await host.tell({ kind: "turn_ended" });
  t.equal(host.shown.size, 2 * MANY);
  const counts = new Map<string, number>();
  for (const { status, fixed } of host.shown.values())
    counts.set(`${status} ${fixed ?? ""}`, (counts.get(`${status} ${fixed ?? ""}`) ?? 0) + 1);
  t.strictSame(Object.fromEntries(counts), { "deleted ": MANY, "added ": MANY });
  t.match(host.told.filter(([name]) => name === "turn_changes").at(-1)?.[1], { files: 2 * MANY });
  const some = ["0.txt", "7.txt", "599.txt"];
  for (const name of some) {
    await host.undo(`from/${name}`);
    await host.undo(`to/${name}`);
    t.equal(String(host.read(`from/${name}`)), `text ${Number.parseInt(name, 10)}\n`);
    t.notOk(existsSync(host.path(`to/${name}`)));
  }
  t.strictSame(host.messages(), []);
  t.equal(host.shown.size, 2 * (MANY - some.length));
}

t.test("in a Git work tree 600 moved files are 1,200 changes that can be undone", (t) =>
  movesAll(t, async (host) => void sh(host, SETUP)),
);

t.test("outside a work tree 600 moved files are 1,200 changes that can be undone", (t) =>
  movesAll(t, async () => {}),
);

const TOOL = { kind: "shell", name: "run_shell_command", command: "make" } as const;

t.test("a file that is not shared is not compared, and its text is not stored", async (t) => {
  const host = new ChangesHost(t, undefined, ["*.key"]);
  host.write("secret.key", "a secret\n");
  await run(host, "echo another >> secret.key");
  await host.tell({ kind: "turn_ended" });
  t.equal(host.shown.size, 0);
  t.strictSame(host.messages(), [
    "Some changes by gemini may be missing from :GeminiChanges: files that are not shared with agents are not compared.",
  ]);
  t.equal(sh(host, "grep -rla secret state || :"), "");
});

t.test("a cancelled command, whose end is reported twice, does not make the list incomplete", async (t) => {
  const host = new ChangesHost(t);
  await host.tell({ kind: "tool_starting", tool: TOOL });
  await host.tell({ kind: "turn_ended" });
  await host.tell({ kind: "tool_ended", tool: TOOL, failed: false });
  await host.tell({ kind: "turn_ended" });
  t.strictSame(host.messages(), []);
});
