/** Tests that changes count as kept if the user stages or commits them, but not if an agent does. */
import { appendFileSync, chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { ChangesHost } from "../support/changes.ts";
import { makeDirectory } from "../support/sandbox.ts";
import { run, SETUP, sh } from "../support/shell.ts";
import { waitFor } from "../support/wait.ts";

const recorded = (host: ChangesHost, count: number) =>
  waitFor(() => host.kept().join().split('"staged":"').length - 1 === count, "the index to be read");

/** Creates a repository in which an agent has changed a.txt and gone.txt, and created new.txt. */
async function changed(t: Test): Promise<ChangesHost> {
  const host = new ChangesHost(t);
  host.write("a.txt", "1\n2\n");
  host.write("gone.txt", "1\n");
  sh(host, SETUP);
  await host.edit("a.txt", "1\nA\n");
  await host.edit("gone.txt", undefined);
  mkdirSync(host.path("folder"));
  await host.edit("folder/new.txt", "new\n");
  await recorded(host, 3);
  await refresh(host);
  t.equal(host.shown.size, 3, "nothing is staged");
  return host;
}

async function refresh(host: ChangesHost): Promise<void> {
  await host.changes.handlers.changes_refresh({});
  await host.settle();
}

t.test("staging a file keeps only the changes of that file", async (t) => {
  const host = await changed(t);
  sh(host, "git add a.txt");
  await refresh(host);
  t.equal(host.change("a.txt"), undefined);
  t.match(host.told.findLast(([name]) => name === "change_show")?.[1], { decision: "kept" });
  t.equal(host.shown.size, 2);
  sh(host, "git add -A folder; git rm -q --cached gone.txt");
  await refresh(host);
  t.equal(host.shown.size, 0);
});

t.test("committed changes are kept, also while Neovim was closed", async (t) => {
  const host = await changed(t);
  await host.close();
  sh(host, "git add -A folder a.txt gone.txt; git commit -qm more");
  const next = new ChangesHost(t, host.directory, [], undefined, "2");
  await next.settle();
  t.equal(next.shown.size, 0);
  t.equal(next.message(), undefined);
});

t.test("a file that was edited after it was staged stays in the list", async (t) => {
  const host = await changed(t);
  sh(host, "git add a.txt");
  host.write("a.txt", "1\nA\nmine\n");
  await refresh(host);
  t.match(host.change("a.txt"), { hunks: [{ line: 2 }] });
});

t.test("files that an agent stages, commits or checks out are not kept", async (t) => {
  const host = await changed(t);
  await run(host, "git add a.txt; git commit -qm more");
  await refresh(host);
  t.match(host.change("a.txt"), { added: 1 });

  host.write("dirty.txt", "1\n");
  sh(host, "git add dirty.txt; git commit -qm dirty");
  host.write("dirty.txt", "mine\n");
  await run(host, "git checkout -q dirty.txt");
  await refresh(host);
  await recorded(host, 4);
  await refresh(host);
  await host.undoesTo(t, "dirty.txt", "mine\n");
});

t.test("while an agent's command runs, nothing counts as staged by the user", async (t) => {
  const host = await changed(t);
  const tool = { kind: "shell", name: "run_shell_command", command: "git add -A; sleep 1" } as const;
  await host.tell({ kind: "tool_starting", tool });
  sh(host, "git add a.txt");
  await refresh(host);
  t.match(host.change("a.txt"), { added: 1 });
});

t.test("staged changes are kept even if Git converts line endings", async (t) => {
  const host = new ChangesHost(t);
  host.write(".gitattributes", "*.txt text eol=crlf\n");
  host.write("a.txt", "1\r\n2\r\n");
  sh(host, SETUP);
  await host.edit("a.txt", "1\r\nA\r\n");
  await recorded(host, 1);
  sh(host, "git add a.txt");
  await refresh(host);
  t.equal(host.change("a.txt"), undefined);
});

t.test("a linked work tree and a nested repository use their own indexes", async (t) => {
  const host = new ChangesHost(t);
  host.write("a.txt", "1\n");
  sh(host, `${SETUP}; git worktree add -q linked; mkdir inner; cd inner; echo 1 > b.txt; ${SETUP}`);
  await host.edit("linked/a.txt", "A\n");
  await host.edit("inner/b.txt", "B\n");
  await recorded(host, 2);
  sh(host, "git -C linked add a.txt; git -C inner commit -qam more");
  await refresh(host);
  t.equal(host.shown.size, 0);
});

t.test("a hostile repository runs no program and keeps nothing", async (t) => {
  const host = new ChangesHost(t);
  const outside = makeDirectory(t);
  const script = join(outside, "trap.sh");
  writeFileSync(script, `#!/bin/sh\ntouch ${join(outside, "trapped")}\ncat\n`);
  chmodSync(script, 0o755);
  host.write(".gitattributes", "* filter=evil\n");
  host.write("a.txt", "1\n");
  sh(host, SETUP);
  appendFileSync(
    host.path(".git/config"),
    `[filter "evil"]\nclean = ${script}\n[core]\nfsmonitor = ${script}\n`,
  );
  await host.edit("a.txt", "A\n");
  await recorded(host, 1);
  rmSync(host.path(".git/index"));
  sh(host, "mkfifo .git/index");
  await refresh(host);
  t.match(host.change("a.txt"), { added: 1 }, "an index that is a pipe says nothing");
  rmSync(host.path(".git"), { recursive: true });
  writeFileSync(host.path(".git"), "gitdir: /dev/zero\n");
  await refresh(host);
  t.match(host.change("a.txt"), { added: 1 });
  t.notOk(existsSync(join(outside, "trapped")));
});
