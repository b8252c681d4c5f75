/** Tests git commands of an agent, and changes that a command only seems to have made. */
import { chmodSync, existsSync, lstatSync, readlinkSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import t, { type Test } from "tap";
import { ChangesHost } from "../support/changes.ts";
import { makeDirectory } from "../support/sandbox.ts";
import { run, SETUP, sh } from "../support/shell.ts";

/** Returns the listed changes, in alphabetical order. */
const listed = (host: ChangesHost) =>
  [...host.shown.values()]
    .map(({ path, status, added, removed, fixed }) => {
      const name = path.slice(host.directory.length + 1);
      return `${name} ${status}${fixed ? ", fixed" : ` +${added} -${removed}`}`;
    })
    .sort();

async function undoAll(host: ChangesHost): Promise<void> {
  for (const path of [...host.shown.keys()]) await host.undo(path.slice(host.directory.length + 1));
}

/** Creates a repository with a branch `other`. The files are clearly older than the changes of a command. */
async function start(t: Test): Promise<ChangesHost> {
  const host = new ChangesHost(t);
  for (const name of ["a.txt", "b.txt", "c.txt"]) host.write(name, `${name}\none\r\n`);
  host.write(".gitignore", "state\n.env\n");
  host.write(".env", "mine\n");
  symlinkSync("a.txt", host.path("link"));
  sh(host, SETUP);
  sh(
    host,
    "git checkout -qb other; echo two >> a.txt; git rm -q b.txt; echo new > new.txt; git add -A; git commit -qm second; git checkout -q main",
  );
  await delay(50);
  return host;
}

t.test("a checkout of another commit by the agent is listed", async (t) => {
  const host = await start(t);
  host.write("c.txt", "mine\n");
  await run(host, "git checkout -q other");
  t.strictSame(listed(host), ["a.txt modified +1 -0", "b.txt deleted +0 -2", "new.txt added +1 -0"]);
  await undoAll(host);
  t.equal(String(host.read("a.txt")), "a.txt\none\r\n");
  t.equal(String(host.read("b.txt")), "b.txt\none\r\n");
  t.notOk(existsSync(host.path("new.txt")));
  t.equal(String(host.read("c.txt")), "mine\n");
  t.equal(sh(host, "git branch --show-current"), "other\n");
  t.strictSame(host.messages(), []);
});

t.test("a commit by the agent is listed, and so is the removal of the commit", async (t) => {
  const host = await start(t);
  host.write("c.txt", "mine\n");
  await run(host, "echo two >> a.txt; echo new > new.txt; git add -A; git commit -qm wip");
  t.strictSame(
    listed(host),
    ["a.txt modified +1 -0", "new.txt added +1 -0"],
    "the user's is not the agent's",
  );
  await run(host, "git commit -q --allow-empty -m nothing");
  await run(host, "git reset -q --hard HEAD~2");
  t.strictSame(
    listed(host),
    ["c.txt modified +2 -1"],
    "what the agent takes back is none, the user's is gone",
  );
  await host.undoesTo(t, "c.txt", "mine\n");
  await run(host, "git stash -q");
  await undoAll(host);
  t.equal(String(host.read("c.txt")), "mine\n", "also from the stash");
});

t.test("the files of a first commit are listed", async (t) => {
  const host = new ChangesHost(t);
  sh(host, "git init -q -b main");
  host.write("a.txt", "mine\n");
  await run(host, "echo new > new.txt; git add a.txt new.txt; git commit -qm first");
  t.strictSame(listed(host), ["new.txt added +1 -0"]);
});

t.test("undo does not delete files that were ignored by Git before the command", async (t) => {
  const host = await start(t);
  await run(host, "echo state > .gitignore; git rm -q --cached a.txt");
  t.strictSame(listed(host), [".gitignore modified +0 -1"]);
  await undoAll(host);
  t.equal(String(host.read(".env")), "mine\n");
  t.equal(String(host.read("a.txt")), "a.txt\none\r\n");
  await run(host, "printf 'state\\n.env\\n' > .gitignore");
  sh(host, "echo other > .other; echo .other >> .gitignore");
  await run(host, "echo state > .gitignore; echo theirs >> .other; echo two >> a.txt; mv .other moved");
  t.match(listed(host), [".gitignore modified +0 -2", "a.txt modified +1 -0", "moved modified, fixed"]);
  await undoAll(host);
  t.equal(String(host.read("moved")), "other\ntheirs\n");
  t.match(host.messages(), [/moved cannot be restored: its earlier bytes are unknown/]);
  t.equal(String(host.read("a.txt")), "a.txt\none\r\n", "from the commit, though it is not tracked any more");
});

t.test("renamed files and folders are listed and undone", async (t) => {
  const host = await start(t);
  sh(
    host,
    "mkdir dir; echo deep > dir/deep.txt; git add dir; git commit -qm dir; echo loose > dir/loose.txt",
  );
  await delay(50);
  await run(host, "mv a.txt moved.txt; mv dir folder");
  t.strictSame(listed(host), [
    "a.txt deleted +0 -2",
    "dir/deep.txt deleted +0 -1",
    "dir/loose.txt deleted +0 -1",
    "folder/deep.txt added +1 -0",
    "folder/loose.txt added +1 -0",
    "moved.txt added +2 -0",
  ]);
  await undoAll(host);
  t.equal(
    sh(host, "ls; ls dir; ls -A folder"),
    "a.txt\nb.txt\nc.txt\ndir\nfolder\nlink\nstate\ndeep.txt\nloose.txt\n",
  );
  t.strictSame(host.messages(), []);
});

t.test("a file that a command moved before the user saved the old path is never deleted", async (t) => {
  const host = await start(t);
  sh(host, "echo loose > loose.txt");
  await delay(50);
  const tool = { kind: "shell", name: "run_shell_command", command: "mv" } as const;
  await host.tell({ kind: "tool_starting", tool });
  sh(host, "mv a.txt moved.txt; mv loose.txt away.txt; mv b.txt c.txt");
  await host.save("a.txt", "mine\n");
  await host.save("loose.txt", "mine\n");
  await host.tell({ kind: "tool_ended", tool, failed: false });
  t.strictSame(listed(host), [
    "away.txt modified, fixed",
    "b.txt deleted +0 -2",
    "c.txt modified +1 -1",
    "moved.txt modified, fixed",
  ]);
  await undoAll(host);
  t.equal(sh(host, "cat a.txt loose.txt away.txt b.txt"), "mine\nmine\nloose\nb.txt\none\r\n");
  t.match(host.messages(), [/cannot be restored/, /cannot be restored/], "the only copies stay");
});

t.test("replacing a file by a folder, or a folder by a file, is undone", async (t) => {
  const host = await start(t);
  sh(host, "mkdir dir; echo deep > dir/deep.txt; git add dir; git commit -qm dir");
  await delay(50);
  const files = sh(host, "cat a.txt dir/deep.txt");
  await run(
    host,
    "rm -r dir a.txt; echo theirs > dir; mkdir -p a.txt/deep/empty; echo theirs > a.txt/deep/new.txt",
  );
  t.equal(listed(host).length, 4);
  const paths = [...host.shown.keys()];
  await host.changes.handlers.changes_undo({ files: paths.map((path) => ({ path })), unsaved: [] });
  await host.settle();
  t.strictSame(listed(host), []);
  t.strictSame(host.messages(), []);
  t.equal(sh(host, "cat a.txt dir/deep.txt"), files);
});

/** Creates a submodule, an untracked repository, and a linked work tree. Each contains one file. */
async function startNested(t: Test): Promise<ChangesHost> {
  const host = await start(t);
  const repository = "git init -q; echo one > a.txt; git add a.txt; git commit -qm first";
  const source = makeDirectory(t);
  sh(host, `cd ${source}; ${repository}`);
  sh(host, `git -c protocol.file.allow=always submodule --quiet add ${source} module; git commit -qm module`);
  sh(host, `mkdir -p deep/nested; cd deep/nested; ${repository}; echo mine > loose.txt`);
  sh(host, "git worktree add -q linked other");
  await delay(50);
  return host;
}

const CHANGE_NESTED =
  "for d in module deep/nested linked; do echo two >> $d/a.txt; echo new > $d/new.md; done; rm deep/nested/loose.txt";

async function isNestedUndone(host: ChangesHost, t: Test): Promise<void> {
  t.strictSame(listed(host), [
    "deep/nested/a.txt modified +1 -0",
    "deep/nested/loose.txt deleted +0 -1",
    "deep/nested/new.md added +1 -0",
    "linked/a.txt modified +1 -0",
    "linked/new.md added +1 -0",
    "module/a.txt modified +1 -0",
    "module/new.md added +1 -0",
  ]);
  await undoAll(host);
  await host.tell({ kind: "turn_ended" });
  t.strictSame(host.messages(), []);
  const status = "for d in module deep/nested linked; do git -C $d status --porcelain; done";
  t.equal(sh(host, `${status}; cat deep/nested/loose.txt`), "?? loose.txt\nmine\n");
}

t.test("files of repositories inside the work tree are listed and undone", async (t) => {
  const host = await startNested(t);
  await run(host, CHANGE_NESTED);
  await isNestedUndone(host, t);
});

t.test(
  "an unreadable repository is compared like a folder, and too many repositories are reported",
  async (t) => {
    const host = await startNested(t);
    sh(host, "echo 'gitdir: nowhere' > module/.git");
    await run(host, "echo two >> module/a.txt; echo two >> linked/a.txt");
    await host.tell({ kind: "turn_ended" });
    t.strictSame(listed(host), ["linked/a.txt modified +1 -0", "module/a.txt modified +1 -0"]);
    sh(host, 'for i in $(seq 16); do git init -q "$i"; touch "$i/x"; done');
    await run(host, "echo three >> linked/a.txt");
    await host.tell({ kind: "turn_ended" });
    t.match(host.messages(), [/is not compared, because there are more than 16 Git repositories/]);
  },
);

t.test("a repository that a command creates is reported", async (t) => {
  const host = await start(t);
  await run(host, "git init -q made; echo x > made/x.txt");
  await host.tell({ kind: "turn_ended" });
  t.strictSame(listed(host), []);
  t.strictSame(host.messages(), [
    "Some changes by gemini may be missing from :GeminiChanges: a command created a Git repository.",
  ]);
});

t.test("an open directory of another repository is compared without its ignored files", async (t) => {
  const host = await start(t);
  const other = makeDirectory(t);
  host.directories = [host.directory, other];
  sh(
    host,
    `cd ${other}; git init -q; echo ignored > .gitignore; echo one > a.txt; git add -A; git commit -qm first`,
  );
  await delay(50);
  await run(host, `echo two >> ${other}/a.txt; echo x > ${other}/ignored; echo two >> b.txt`);
  t.strictSame([...host.shown.keys()].sort(), [join(other, "a.txt"), host.path("b.txt")].sort());
  for (const path of host.shown.keys())
    await host.changes.handlers.changes_undo({ files: [{ path }], unsaved: [] });
  await host.settle();
  t.equal(sh(host, `cat ${other}/a.txt`), "one\n");
});

t.test("names that differ only in letter case are listed, also with core.ignoreCase", async (t) => {
  const host = await start(t);
  sh(host, "git config core.ignoreCase true; echo one > A.txt");
  await delay(50);
  await run(host, "echo two >> A.txt; echo one > B.txt");
  t.strictSame(listed(host), ["A.txt modified +1 -0", "B.txt added +1 -0"]);
  await undoAll(host);
  t.equal(String(host.read("A.txt")), "one\n");
  t.notOk(existsSync(host.path("B.txt")));
  t.equal(String(host.read("a.txt")), "a.txt\none\r\n");
  t.strictSame(host.messages(), []);
});

t.test("links, folders and repositories are not listed as files", async (t) => {
  const host = await start(t);
  await run(
    host,
    "ln -sfn b.txt link; ln -s c.txt another; rm c.txt; mkdir c.txt; touch c.txt/.env; rm a.txt; ln -s b.txt a.txt;" +
      "git init -q nested; echo x > nested/x.txt",
  );
  t.strictSame(listed(host), [
    "a.txt modified +0 -0",
    "another added +0 -0",
    "c.txt modified +0 -0",
    "link modified, fixed",
  ]);
  await undoAll(host);
  t.equal(String(host.read("b.txt")), "b.txt\none\r\n", "nothing is written through a link");
  t.ok(lstatSync(host.path("a.txt")).isFile(), "a link in the place of a file goes");
  t.equal(String(host.read("a.txt")), "a.txt\none\r\n");
  t.notOk(existsSync(host.path("another")));
  t.ok(lstatSync(host.path("c.txt")).isDirectory(), "a folder with files stays");
  t.equal(readlinkSync(host.path("link")), "b.txt");
  t.match(host.messages().sort(), [
    /c\.txt was not written, because it is now a directory that contains files/,
    /link cannot be restored/,
  ]);
});

t.test("a worktree in an ignored folder is compared", async (t) => {
  const host = await start(t);
  sh(host, "echo .agent >> .gitignore; git worktree add -q .agent/x other; git -C .agent/x reset -q --hard");
  await run(host, "echo x >> .agent/x/a.txt");
  await host.tell({ kind: "turn_ended" });
  t.strictSame(listed(host), [".agent/x/a.txt modified +1 -0"]);
  await undoAll(host);
  t.strictSame(host.messages(), []);
  t.equal(sh(host, "git -C .agent/x status --porcelain"), "");
});

t.test("repositories with SHA-256, a split index or a sparse work tree are compared", async (t) => {
  const setups = [
    ["git init -q -b main --object-format=sha256", ":"],
    ["git init -q -b main; git config core.splitIndex true; git config core.sharedIndexExpire now", ":"],
    ["git init -q -b main", "git sparse-checkout set --no-cone '/*' '!/sparse/'"],
  ] as const;
  for (const [setup, later] of setups) {
    const host = new ChangesHost(t);
    const files = "echo one > a.txt; mkdir sparse; echo one > sparse/b.txt; git add -A; git commit -qm first";
    sh(host, `${setup}; ${files}; ${later}`);
    sh(host, "echo mine >> a.txt");
    const isSparse = !existsSync(host.path("sparse/b.txt"));
    t.equal(isSparse, later !== ":");
    await delay(50);
    await run(
      host,
      "echo two >> a.txt; git add a.txt; mkdir -p sparse; echo two >> sparse/b.txt; echo new > new.txt",
    );
    await host.tell({ kind: "turn_ended" });
    const sparse = isSparse ? "sparse/b.txt added +1 -0" : "sparse/b.txt modified +1 -0";
    t.strictSame(listed(host), ["a.txt modified +1 -0", "new.txt added +1 -0", sparse], setup);
    await undoAll(host);
    t.equal(String(host.read("a.txt")), "one\nmine\n", setup);
    t.equal(existsSync(host.path("sparse/b.txt")), !isSparse);
    t.strictSame(host.messages(), []);
  }
});

t.test("a root that is reached through a link is compared once", async (t) => {
  const host = await start(t);
  const link = join(makeDirectory(t), "link");
  symlinkSync(host.directory, link);
  host.cwd = link;
  host.directories = [link, host.directory];
  await run(host, "echo two >> a.txt");
  t.strictSame(listed(host), ["a.txt modified +1 -0"]);
  t.equal(sh(host, "ls state/snapshots").trim().split("\n").length, 1);
});

t.test("two Neovims in one folder list the changes of their own agents", async (t) => {
  const first = await start(t);
  const second = new ChangesHost(t, first.directory, [], false, "2");
  const tool = { kind: "shell", name: "run_shell_command", command: "x" } as const;
  const both = [first, second];
  await Promise.all(both.map((host) => host.tell({ kind: "tool_starting", tool })));
  await first.tell({ kind: "tool_ended", tool, failed: false });
  sh(first, "echo two >> a.txt");
  await run(first, "echo two >> b.txt");
  await second.tell({ kind: "tool_ended", tool, failed: false });
  t.strictSame(listed(first), ["b.txt modified +1 -0"]);
  t.strictSame(listed(second), ["a.txt modified +1 -0", "b.txt modified +1 -0"]);
  await second.close();
  await run(first, "echo two >> c.txt");
  t.strictSame(listed(first), ["b.txt modified +1 -0", "c.txt modified +1 -0"]);
  await first.undoesTo(t, "c.txt", "c.txt\none\r\n");
});

t.test("files that cannot be read are named, and everything else is compared", async (t) => {
  const host = await start(t);
  sh(host, "echo x > locked; mkdir closed; echo x > closed/x; chmod 0 locked closed");
  t.teardown(() => chmodSync(host.path("closed"), 0o700));
  await delay(50);
  await run(host, "echo two >> a.txt; chmod 600 locked; echo y >> locked");
  await host.tell({ kind: "turn_ended" });
  t.match(listed(host), ["a.txt modified +1 -0", "locked modified, fixed"]);
  t.match(host.messages(), [/some files cannot be read/]);
  await host.undoesTo(t, "a.txt", "a.txt\none\r\n");
  await host.undo("locked");
  t.equal(String(host.read("locked")), "x\ny\n");
});
