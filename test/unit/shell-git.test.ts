/** Tests git commands of an agent, and changes that only seem to be made by a command. */
import { existsSync, lstatSync, readlinkSync, symlinkSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import t, { type Test } from "tap";
import { ChangesHost } from "../support/changes.ts";
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

/** Creates a repository with a branch `other`. Its files are clearly older than the changes of a command. */
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

t.test("a commit by the agent, and undoing it, are listed", async (t) => {
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
  await host.undo("c.txt");
  t.equal(String(host.read("c.txt")), "mine\n");
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

t.test("files that only became visible to Git are not deleted by undo", async (t) => {
  const host = await start(t);
  await run(host, "echo state > .gitignore; git rm -q --cached a.txt");
  t.strictSame(listed(host), [".gitignore modified +0 -1"]);
  await undoAll(host);
  t.equal(String(host.read(".env")), "mine\n");
  t.equal(String(host.read("a.txt")), "a.txt\none\r\n");
  await run(host, "echo state > .gitignore; echo theirs >> .env; echo two >> a.txt; git add -f .env");
  t.match(listed(host), [".env modified, fixed", ".gitignore modified +0 -1", /^a\.txt/]);
  await undoAll(host);
  t.equal(String(host.read(".env")), "mine\ntheirs\n");
  t.match(host.messages(), [/\.env cannot be undone: its bytes from before are not known/]);
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

t.test("links, folders and repositories are not listed as files", async (t) => {
  const host = await start(t);
  await run(
    host,
    "ln -sfn b.txt link; ln -s c.txt another; rm c.txt; mkdir c.txt; rm a.txt; ln -s b.txt a.txt;" +
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
  t.ok(lstatSync(host.path("c.txt")).isDirectory(), "a folder stays");
  t.equal(readlinkSync(host.path("link")), "b.txt");
  t.match(host.messages().sort(), [/c\.txt is not a regular file/, /link cannot be undone/]);
});
