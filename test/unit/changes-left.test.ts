/** Tests that a new Neovim continues with the changes of Neovims that have ended. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import { platform } from "../../src/system/platform.ts";
import { ChangesHost } from "../support/changes.ts";
import { waitFor } from "../support/wait.ts";

const LATIN1 = Buffer.from("caf\xe9\r\nna\xefve", "latin1");

/** Starts the next Neovim in the same directory. */
function nextOf(t: Test, { directory }: ChangesHost, instance = "2", exclude: string[] = []): ChangesHost {
  return new ChangesHost(t, directory, exclude, false, instance);
}

/** Creates the state that a Neovim leaves if it ends with an undecided change of a.txt. */
async function ended(t: Test, instance = "1"): Promise<ChangesHost> {
  const host = new ChangesHost(t, undefined, [], false, instance);
  host.write("a.txt", "1\n2\n3\n");
  await host.edit("a.txt", "1\nA\n3\n");
  await host.close();
  return host;
}

/** Returns the folder with the folders of all Neovims. */
function machineOf(host: ChangesHost): string {
  const [lists = ""] = host.keptFiles().filter((path) => path.endsWith("lists.json"));
  return dirname(dirname(lists));
}

t.test("undo is exact after a restart of Neovim, and one message counts the changes", async (t) => {
  const first = new ChangesHost(t);
  first.write("a.txt", LATIN1, 0o751);
  first.write("gone.txt", "gone\n", 0o600);
  first.write("parts.txt", "1\n2\n3\n4\n5\n");
  await first.tell({ kind: "turn_started", prompt: "do it" });
  await first.edit("a.txt", Buffer.concat([LATIN1, LATIN1]));
  await first.edit("gone.txt", undefined);
  await first.edit("new.txt", "new\n");
  await first.edit("parts.txt", "A\n2\nB\n4\nC\n");
  await first.keep("parts.txt", [first.change("parts.txt")?.hunks[0]?.id ?? 0]);
  await first.tell({ kind: "turn_ended" });
  await first.close();

  const next = nextOf(t, first);
  await waitFor(() => next.message(), "the message");
  t.equal(next.message(), "4 unreviewed changes from an earlier session: see :GeminiChanges");
  t.same([...next.shown.keys()], [...first.shown.keys()], "in the same order");
  for (const name of ["a.txt", "gone.txt", "new.txt", "parts.txt"])
    t.same(next.change(name), first.change(name), name);
  t.match(next.change("parts.txt"), { decided: 1, prompt: "do it" });
  for (const name of ["a.txt", "gone.txt", "new.txt", "parts.txt"]) await next.undo(name);
  t.ok(next.read("a.txt").equals(LATIN1));
  t.equal(next.mode("a.txt"), 0o751);
  t.equal(next.mode("gone.txt"), 0o600);
  t.notOk(existsSync(next.path("new.txt")));
  t.equal(String(next.read("parts.txt")), "A\n2\n3\n4\n5\n", "what was kept stays");
  t.strictSame(next.messages(), []);
  t.strictSame(next.keptIn("changes"), []);
});

t.test("edits that the user makes between two Neovims stay", async (t) => {
  const first = await ended(t);
  first.write("a.txt", "mine\n1\nA\n3\n");
  const next = nextOf(t, first);
  await waitFor(() => next.change("a.txt")?.hunks[0]?.line === 3, "the change");
  await next.undoesTo(t, "a.txt", "mine\n1\n2\n3\n");

  const second = await ended(t);
  second.write("a.txt", "1\n2\n3\n");
  const last = nextOf(t, second);
  await last.settle();
  t.equal(last.change("a.txt"), undefined, "they have undone it themselves");
  t.equal(last.message(), undefined);
});

t.test("only one of two new Neovims takes over a change", async (t) => {
  const first = new ChangesHost(t);
  for (let i = 0; i < 20; i += 1) await first.edit(`${i}.txt`, "new\n");
  await first.close();
  const processes = [spawn("sleep", ["60"]), spawn("sleep", ["60"])];
  t.teardown(() => processes.forEach((one) => void one.kill()));
  const now = Math.floor(Date.now() / 1_000);
  const both = processes.map(({ pid }) => nextOf(t, first, `${pid}-${now}`));
  await Promise.all(both.map((one) => one.settle()));
  const paths = both.flatMap(({ shown }) => [...shown.keys()]);
  t.equal(paths.length, 20);
  t.equal(new Set(paths).size, 20);
  await Promise.all(both.map((one) => one.close()));
  for (const one of processes) {
    one.kill();
    await once(one, "exit");
  }
  const last = nextOf(t, first, "4");
  await last.settle();
  t.equal(last.shown.size, 20, "and leaves it to the next");
});

for (const hours of [1, -1])
  t.test(
    `changes of a running Neovim are not taken over after the clock has moved by ${hours} h`,
    async (t) => {
      const real = Date.now;
      t.teardown(() => {
        Date.now = real;
      });
      const started = (await platform.startOf(process.pid)) ?? 0;
      // A suspension of the machine has the same effect as a change of the clock.
      Date.now = () => real() + hours * 3_600_000;
      const seconds = Math.floor(started / 1_000) + (hours < 0 ? hours * 3_600 : 0);
      const first = await ended(t, `${process.pid}-${seconds}`);
      const second = nextOf(t, first);
      await second.settle();
      t.equal(second.shown.size, 0);
    },
  );

t.test("changes wait for a Neovim that starts in their directory", async (t) => {
  const first = new ChangesHost(t);
  mkdirSync(first.path("other"));
  await first.edit("a.txt", "new\n");
  await first.close();
  const elsewhere = new ChangesHost(t, first.directory, [], false, "2", [first.path("other")]);
  await elsewhere.settle();
  elsewhere.store.opened([first.path("other"), first.directory]); // the user goes there later
  await elsewhere.settle();
  t.equal(elsewhere.shown.size, 0);
  await elsewhere.close();
  const next = nextOf(t, first, "3");
  await next.settle();
  t.match(next.change("a.txt"), { status: "added" });
  t.equal(next.message(), "1 unreviewed change from an earlier session: see :GeminiChanges");
});

t.test("one message counts changes and notes, or only notes", async (t) => {
  const first = await ended(t);
  const next = new ChangesHost(t, first.directory, [], false, "2", [first.directory], 2);
  await next.settle();
  t.equal(next.message(), "1 unreviewed change and 2 notes from an earlier session: see :GeminiChanges");
  const other = new ChangesHost(t, undefined, [], false, "2", undefined, 1);
  await other.settle();
  t.equal(other.message(), "1 note from an earlier session: send them with :GeminiSend --notes");
});

t.test("a file that is no longer shared is not taken over", async (t) => {
  const next = nextOf(t, await ended(t), "2", ["a.txt"]);
  await next.settle();
  t.equal(next.shown.size, 0);
});

t.test("changes of an ended Neovim are not lost if they cannot be stored again", async (t) => {
  const first = await ended(t);
  writeFileSync(join(machineOf(first), "2"), ""); // as on a full disk, the next Neovim cannot write
  const next = nextOf(t, first);
  await waitFor(() => next.change("a.txt"), "the change");
  await next.close();
  const last = nextOf(t, first, "3");
  await waitFor(() => last.change("a.txt"), "the change");
  await last.undoesTo(t, "a.txt", "1\n2\n3\n");
});

t.test("changes that are decided after a full disk are not listed again", async (t) => {
  const first = await ended(t);
  const blocked = join(machineOf(first), "2");
  writeFileSync(blocked, ""); // as on a full disk, the next Neovim cannot write
  const next = nextOf(t, first);
  await waitFor(() => next.change("a.txt"), "the change");
  await next.edit("b.txt", "b\n");
  await next.keep("a.txt");
  rmSync(blocked);
  await next.edit("c.txt", "c\n");
  await next.close();
  const last = nextOf(t, first, "3");
  await waitFor(() => last.change("c.txt"), "the changes");
  await last.settle();
  t.same([...last.shown.keys()], [last.path("b.txt"), last.path("c.txt")]);
});
