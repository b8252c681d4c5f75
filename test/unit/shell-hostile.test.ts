/** Tests hostile repositories, whose configuration makes Git run programs or read other directories. */
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { deflateSync } from "node:zlib";
import t, { type Test } from "tap";
import { ChangesHost } from "../support/changes.ts";
import { makeDirectory } from "../support/sandbox.ts";
import { fetching, run, SETUP, sh } from "../support/shell.ts";
import { setEnv } from "../support/temporary.ts";

/** Creates a repository, and a program that records that it ran. The program copies its input, as a filter does. */
function trapped(t: Test, copy = "cat"): { host: ChangesHost; script: string; isTrapped: () => boolean } {
  const host = new ChangesHost(t);
  const outside = makeDirectory(t);
  const script = join(outside, "trap.sh");
  writeFileSync(script, `#!/bin/sh\ntouch ${join(outside, "trapped")}\n${copy}\n`);
  chmodSync(script, 0o755);
  return { host, script, isTrapped: () => existsSync(join(outside, "trapped")) };
}

t.test("no Git filter runs, whatever its name", async (t) => {
  for (const name of ["\xff", "evil", 'a"b', "x.clean"]) {
    const { host, script, isTrapped } = trapped(t);
    host.write(".gitattributes", Buffer.from(`* filter=${name}\n`, "latin1"));
    for (const file of ["a.txt", "b.txt"]) host.write(file, "one\n");
    sh(host, SETUP);
    const section = `[filter "${name.replace(/["\\]/g, "\\$&")}"]\nclean = ${script}\nprocess = ${script}\nrequired = true\n`;
    appendFileSync(host.path(".git/config"), Buffer.from(section, "latin1"));
    sh(host, "touch a.txt b.txt");
    await run(host, "ls");
    await run(host, "echo two >> b.txt");
    t.notOk(isTrapped(), JSON.stringify(name));
    t.match(host.change("b.txt"), { added: 1 });
    sh(host, "git status 2>/dev/null || :");
    t.ok(isTrapped(), "git by itself would run it");
  }
});

t.test("Git does not read a file that looks unchanged but was written after the index", async (t) => {
  const { host, script, isTrapped } = trapped(t);
  host.write(".gitattributes", "*.txt filter=evil\n");
  host.write("a.txt", "one\n");
  sh(host, `touch -d '2099-01-01' a.txt; ${SETUP}`);
  sh(
    host,
    `git config filter.evil.clean ${script}; git config core.trustctime false; git config core.checkStat minimal`,
  );
  await run(host, "ls");
  t.notOk(isTrapped());
  sh(host, "git status 2>/dev/null || :");
  t.ok(isTrapped(), "git by itself would run it");
});

t.test(
  "a configured work tree outside the open directories is ignored, and its files are not changed",
  async (t) => {
    const outside = makeDirectory(t);
    writeFileSync(join(outside, "victim.txt"), "one\n");
    const host = new ChangesHost(t);
    sh(host, `git init -q -b main; git config core.worktree ${outside}; git add victim.txt`);
    await delay(50);
    await run(host, `echo two >> ${join(outside, "victim.txt")}; echo new > ${join(outside, "new.txt")}`);
    t.equal(host.shown.size, 0, "of a repository that names another folder");

    const parent = new ChangesHost(t);
    mkdirSync(parent.path("open"));
    parent.directories = [parent.path("open")];
    parent.cwd = parent.path("open");
    parent.write("open/a.txt", "one\n");
    parent.write("beside.txt", "one\n");
    sh(parent, `${SETUP}; git config core.worktree ${parent.directory}`);
    await delay(50);
    await run(
      parent,
      "echo two >> beside.txt; echo two >> open/a.txt; echo new > new.txt; echo new > open/new.txt",
    );
    t.strictSame([...parent.shown.keys()], [parent.path("open/a.txt"), parent.path("open/new.txt")]);
  },
);

t.test("Git variables in Neovim's environment do not lead to another repository", async (t) => {
  const other = makeDirectory(t);
  const host = new ChangesHost(t);
  for (const directory of [host.directory, other]) {
    writeFileSync(join(directory, "a.txt"), `in ${directory}\n`);
    sh(host, `cd ${directory}; ${SETUP}`);
  }
  await delay(50);
  setEnv(t, {
    GIT_DIR: join(other, ".git"),
    GIT_WORK_TREE: other,
    GIT_INDEX_FILE: join(other, ".git/index"),
    GIT_OBJECT_DIRECTORY: join(other, ".git/objects"),
  });
  await run(host, `echo theirs > a.txt; echo theirs > ${other}/a.txt`);
  t.strictSame([...host.shown.keys()], [host.path("a.txt")]);
  await host.undoesTo(t, "a.txt", `in ${host.directory}\n`);
});

t.test("a .git file that names another repository leads to none of its files", async (t) => {
  const other = makeDirectory(t);
  const host = new ChangesHost(t);
  sh(host, `cd ${other}; echo secret > a.txt; echo secret > b.txt; ${SETUP}`);
  host.write(".git", `gitdir: ${other}/.git\n`);
  host.write("a.txt", "mine\n");
  await run(host, `echo theirs >> a.txt; echo theirs >> ${other}/a.txt; echo theirs >> ${other}/b.txt`);
  t.strictSame([...host.shown.keys()], [host.path("a.txt")]);
  await host.undoesTo(t, "a.txt", "mine\n");
});

t.test("a missing object of a repository is not fetched", async (t) => {
  const { host, script, isTrapped } = trapped(t, "");
  sh(host, fetching(script, "file"));
  await delay(50);
  await run(host, "echo two >> open/b.txt");
  t.notOk(isTrapped());
  sh(host, "git show 2>/dev/null || :");
  t.ok(isTrapped(), "git by itself would run the program");
});

t.test("an object that the repository has replaced is not used (git replace)", async (t) => {
  const host = new ChangesHost(t);
  for (const name of ["same.txt", "other.txt", "plain.txt"]) host.write(name, `${name}\n`);
  await delay(50);
  sh(host, SETUP);
  const replace = (name: string, text: string) =>
    `git replace $(git rev-parse HEAD:${name}) $(printf '${text}' | git hash-object -w --stdin);`;
  sh(host, replace("same.txt", "evil.txt\\n") + replace("other.txt", "of another size\\n"));
  await run(host, "for name in same other plain; do echo theirs >> $name.txt; done");
  for (const name of ["same.txt", "other.txt", "plain.txt"]) await host.undoesTo(t, name, `${name}\n`);
});

t.test("an object of the repository with forged bytes is not used", async (t) => {
  const host = new ChangesHost(t);
  host.write("a.txt", "one\n");
  await delay(50);
  sh(host, SETUP);
  const object = sh(host, "git rev-parse HEAD:a.txt").trim();
  const path = host.path(`.git/objects/${object.slice(0, 2)}/${object.slice(2)}`);
  chmodSync(path, 0o600);
  writeFileSync(path, deflateSync("blob 5\0evil\n"));
  await run(host, "echo theirs >> a.txt");
  t.match(host.change("a.txt"), { fixed: "its earlier bytes are unknown" });
  await host.undo("a.txt");
  t.equal(String(host.read("a.txt")), "one\ntheirs\n");
});

t.test("a Git index that is a pipe is not read", async (t) => {
  const host = new ChangesHost(t);
  host.write("a.txt", "one\n");
  sh(host, `${SETUP}; rm .git/index; mkfifo .git/index`);
  await run(host, "echo two >> a.txt");
  await host.tell({ kind: "turn_ended" });
  t.match(host.messages(), [
    /Some changes by gemini may be missing from :GeminiChanges: Git could not compare a directory/,
  ]);
});

t.test("a link that has replaced a folder is not followed", async (t) => {
  const outside = makeDirectory(t);
  writeFileSync(join(outside, "a.txt"), "a secret\n");
  const host = new ChangesHost(t);
  mkdirSync(host.path("folder"));
  host.write("folder/a.txt", "one\n");
  sh(host, `${SETUP}; rm -r folder`);
  symlinkSync(outside, host.path("folder"));
  await run(host, `echo more >> ${join(outside, "a.txt")}`);
  t.equal(host.change("folder/a.txt"), undefined);
  sh(host, "rm folder");
  await run(host, `ln -s ${outside} folder`);
  t.equal(host.change("folder/a.txt"), undefined);
});

t.test(
  "files of a folder that a command replaces by a link are listed as deleted, and undo restores the files",
  async (t) => {
    const outside = makeDirectory(t);
    for (const name of ["a.txt", "b.txt"]) writeFileSync(join(outside, name), "a secret\n");
    const host = new ChangesHost(t);
    mkdirSync(host.path("folder"));
    host.write("folder/a.txt", "one\n");
    await delay(50);
    sh(host, SETUP);
    host.write("folder/b.txt", "mine\n");
    await run(host, `rm -r folder; ln -s ${outside} folder`);
    await host.changes.handlers.changes_refresh({});
    for (const name of ["a.txt", "b.txt"])
      t.match(host.change(`folder/${name}`), { status: "deleted", removed: 1, fixed: undefined }, name);
    const files = [...host.shown.keys()].map((path) => ({ path }));
    t.equal(files.length, 3);
    t.notMatch(host.kept().join(), /a secret/);
    await host.changes.handlers.changes_undo({ files, unsaved: [] });
    await host.settle();
    t.strictSame(host.messages(), []);
    t.equal(host.shown.size, 0);
    t.equal(sh(host, "cat folder/*"), "one\nmine\n");
    t.equal(sh(host, `cat ${outside}/*`), "a secret\na secret\n");
  },
);

t.test(
  "only the user can read the snapshots, and those that were not used for a day are deleted",
  async (t) => {
    const host = new ChangesHost(t);
    host.write("a.txt", "one\n");
    const stores = join(host.directory, "state/snapshots");
    for (const name of ["old", "recent"]) mkdirSync(join(stores, name), { recursive: true });
    const yesterday = Date.now() / 1_000 - 25 * 60 * 60;
    utimesSync(join(stores, "old"), yesterday, yesterday);
    await run(host, "echo two > a.txt");
    t.match(host.change("a.txt"), { status: "modified" });
    const left = readdirSync(stores);
    t.notOk(left.includes("old"));
    t.ok(left.includes("recent"), "another Neovim may use it");
    for (const name of left.filter((one) => one !== "recent"))
      t.equal(statSync(join(stores, name)).mode & 0o777, 0o700);
  },
);

t.test("no monitor of a repository inside the folder runs", async (t) => {
  const { host, script, isTrapped } = trapped(t);
  host.write("a.txt", "one\n");
  sh(
    host,
    `${SETUP}; mkdir inner; cd inner; echo one > b.txt; ${SETUP}; git config core.fsmonitor ${script}`,
  );
  await run(host, "echo two > inner/b.txt");
  t.notOk(isTrapped());
  t.match(host.change("inner/b.txt"), { status: "modified" });
  sh(host, "cd inner; git status");
  t.ok(isTrapped(), "git by itself would run it");
});

t.test(
  "the bytes of a commit that a command removes and prunes are unknown, and never restored",
  async (t) => {
    const host = new ChangesHost(t);
    for (const name of ["committed.txt", "mine.txt"]) host.write(name, `${name}\n`);
    await delay(50);
    sh(host, SETUP);
    host.write("mine.txt", "mine\n");
    await run(
      host,
      "git checkout -q --orphan other; for f in *.txt; do echo theirs >> $f; done; git add -A; git commit -qm other;" +
        "git branch -qD main; git reflog expire --expire=now --all; git gc -q --prune=now",
    );
    t.match(host.change("committed.txt"), { fixed: "its earlier bytes are unknown" });
    await host.undo("committed.txt");
    t.equal(String(host.read("committed.txt")), "committed.txt\ntheirs\n");
    await host.undoesTo(t, "mine.txt", "mine\n", "what only the snapshot has is not pruned");
  },
);

t.test(
  "a store that was deleted or damaged, and a lock that is left, delay the list by one command",
  async (t) => {
    const host = new ChangesHost(t);
    host.write("a.txt", "one\n");
    sh(host, SETUP);
    await run(host, "true");
    const damages = [
      "rm -rf state/snapshots",
      "for f in $(find state/snapshots -path '*objects*' -type f); do chmod 600 $f; echo damaged > $f; done",
      "for f in state/snapshots/*/index-*; do echo damaged > $f; done",
      "for f in state/snapshots/*/index-*; do touch $f.lock; done",
      "rm state/snapshots/*/index-*",
    ];
    for (const damage of damages) {
      sh(host, damage);
      await run(host, "echo more >> b.txt"); // its changes may be missing
      const before = String(host.read("a.txt"));
      await run(host, "echo two >> a.txt");
      t.match(host.change("a.txt"), { status: "modified", added: 1 }, damage);
      await host.undoesTo(t, "a.txt", before);
    }
  },
);

t.test("indexes of hosts that were killed are deleted after a day", async (t) => {
  const host = new ChangesHost(t);
  host.write("a.txt", "one\n");
  await run(host, "true");
  const [store = ""] = readdirSync(host.path("state/snapshots"));
  const left = ["index-1-old", "index-1-old.lock", "index-1-recent"];
  for (const name of left) writeFileSync(host.path(`state/snapshots/${store}/${name}`), "");
  const yesterday = Date.now() / 1_000 - 25 * 60 * 60;
  for (const name of left.slice(0, 2))
    utimesSync(host.path(`state/snapshots/${store}/${name}`), yesterday, yesterday);
  await run(new ChangesHost(t, host.directory, [], false, "2"), "true");
  const names = readdirSync(host.path(`state/snapshots/${store}`)).filter((name) =>
    name.startsWith("index-1-"),
  );
  t.strictSame(names, ["index-1-recent"], "another Neovim may use it");
});

t.test("inherited settings of Git run no program and move no object", async (t) => {
  const { host, script, isTrapped } = trapped(t);
  const other = makeDirectory(t);
  host.write("a.txt", "one\n");
  sh(host, SETUP);
  setEnv(t, {
    GIT_CONFIG_PARAMETERS: `'core.fsmonitor=${script}'`,
    GIT_CONFIG_COUNT: "1",
    GIT_CONFIG_KEY_0: "core.fsmonitor",
    GIT_CONFIG_VALUE_0: script,
    GIT_EXTERNAL_DIFF: script,
    GIT_TRACE: join(other, "trace"),
    GIT_OBJECT_DIRECTORY: other,
    GIT_NAMESPACE: "x",
    GIT_CEILING_DIRECTORIES: host.directory,
  });
  await run(host, "echo two >> a.txt");
  t.match(host.change("a.txt"), { status: "modified", added: 1 });
  t.strictSame(readdirSync(other), []);
  t.notOk(isTrapped());
});
