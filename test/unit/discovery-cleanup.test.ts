import { spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { createDiscovery } from "../../src/discovery/keep-file.ts";
import { cleanUpDiscovery } from "../../src/discovery/remove-leftovers-at-start.ts";
import { GEMINI } from "../../src/profiles/profiles.ts";
import { platform } from "../../src/system/platform.ts";
import { listenOn } from "../support/listen.ts";
import { isAlive } from "../support/processes.ts";
import { announcement, temporary } from "../support/temporary.ts";
import { waitFor } from "../support/wait.ts";

const MINUTE = 60_000;
const OURS = JSON.stringify({ port: 1, ideInfo: { name: "neovim", displayName: "Neovim" } });

t.test("only discovery files of dead editors are removed", async (t) => {
  const directory = join(temporary(t), "gemini", "ide");
  mkdirSync(directory, { recursive: true });
  const live = await listenOn(t, createServer());
  const dead = 2 ** 22 + 1; // above the highest process id of Linux and macOS
  const content = (name: string) => JSON.stringify({ port: 1, ideInfo: { name, displayName: "" } });
  const ours = content("neovim");
  const files: [name: string, content: string, stays: boolean][] = [
    [`gemini-ide-server-${dead}-1.json`, ours, false],
    [`gemini-ide-server-${dead + 1}-1.json`, JSON.stringify({ ...JSON.parse(ours), more: true }), false],
    [`.gemini-ide-server-${dead}-1.json.tmp`, '{"port', false],
    [`gemini-ide-server-${dead}-${live}.json`, ours, true],
    [`.gemini-ide-server-${dead}-${live}.json.tmp`, ours, true],
    [`gemini-ide-server-${process.pid}-1.json`, ours, true],
    [`gemini-ide-server-${dead}-2.json`, content("vscode"), true],
    [`gemini-ide-server-${dead}-3.json`, "not JSON", true],
    [`gemini-ide-server-${dead}-4.json`, "", true],
    [`gemini-ide-server-${dead}-5.json.bak`, ours, true],
    [`gemini-ide-server-99999999999999999999999-1.json`, ours, true],
    [`gemini-ide-server-x-1.json`, ours, true],
    [`.gemini-ide-server-${dead}-5.json`, ours, true],
    ["notes.txt", ours, true],
  ];
  for (const [name, text] of files) writeFileSync(join(directory, name), text);
  mkdirSync(join(directory, `gemini-ide-server-${dead}-6.json`));
  writeFileSync(join(directory, "target"), ours);
  symlinkSync(join(directory, "target"), join(directory, `gemini-ide-server-${dead}-7.json`));
  await cleanUpDiscovery(GEMINI);
  const stay = files.filter(([, , stays]) => stays).map(([name]) => name);
  const also = [`gemini-ide-server-${dead}-6.json`, `gemini-ide-server-${dead}-7.json`, "target"];
  t.same(readdirSync(directory).sort(), [...stay, ...also].sort());

  writeFileSync(join(directory, `gemini-ide-server-${dead}-1.json`), ours);
  const real = process.getuid;
  t.teardown(() => {
    if (real) process.getuid = real;
  });
  process.getuid = () => (real?.() ?? 0) + 1;
  await cleanUpDiscovery(GEMINI);
  t.ok(existsSync(join(directory, `gemini-ide-server-${dead}-1.json`)), "another user's file stays");
});

/** Creates a discovery directory with functions to write files and to clean up. */
function directoryOf(t: Test) {
  const directory = join(temporary(t), "gemini", "ide");
  mkdirSync(directory, { recursive: true });
  return {
    directory,
    /** @param age age of the file (milliseconds); negative for a date in the future */
    write(pid: number, age: number, port = 1) {
      const path = join(directory, `gemini-ide-server-${pid}-${port}.json`);
      writeFileSync(path, OURS);
      const date = new Date(Date.now() - age);
      utimesSync(path, date, date);
      return path;
    },
  };
}

/** Returns a process id that is not in use. */
function freePid(): number {
  for (let pid = 2 ** 22 - 1; ; pid -= 1) if (!isAlive(pid)) return pid;
}

t.test("a discovery file of a dead editor is removed even if its process id was reused", async (t) => {
  const { write } = directoryOf(t);
  const child = spawn("sleep", ["60"]);
  t.teardown(() => child.kill("SIGKILL"));
  const { pid = 0 } = child;
  const before = Date.now();
  const start = (await platform.startOf(pid)) ?? 0;
  t.ok(Math.abs(start - before) < 2_000, `it began ${start - before} ms from now`);
  const older = write(pid, 10 * MINUTE);
  await cleanUpDiscovery(GEMINI);
  t.notOk(existsSync(older), "the process is younger than the file");
  // The date is in the future, as after setting the clock back.
  const younger = write(pid, -10 * MINUTE);
  await cleanUpDiscovery(GEMINI);
  t.ok(existsSync(younger), "the file is younger than the process");
});

t.test("the file of an editor in another PID namespace is kept if its date is fresh", async (t) => {
  const { directory, write } = directoryOf(t);
  const pid = freePid();
  const fresh = write(pid, 0);
  const recent = write(pid, 2 * MINUTE, 2);
  const old = write(pid, 4 * MINUTE, 3);
  const child = spawn("sleep", ["60"]);
  t.teardown(() => child.kill("SIGKILL"));
  // In this namespace, the id belongs to a younger process. In another namespace, the id may belong to the editor.
  const elsewhere = write(child.pid ?? 0, 2 * MINUTE, 4);
  await cleanUpDiscovery(GEMINI);
  t.same(readdirSync(directory).length, 3);
  for (const path of [fresh, recent, elsewhere]) t.ok(existsSync(path));
  t.notOk(existsSync(old));
});

t.test("a discovery file whose date is refreshed never counts as the file of a dead editor", async (t) => {
  const { directory } = directoryOf(t);
  const discovery = createDiscovery({
    profile: GEMINI,
    announcement: announcement(freePid(), 1),
    interval: 20,
  });
  t.teardown(() => discovery.remove());
  discovery.publish(["/a"]);
  const { size } = new Set(await seenDates(discovery.path));
  t.ok(size >= 3, "its date moves");
  await cleanUpDiscovery(GEMINI);
  t.same(JSON.parse(readFileSync(discovery.path, "utf8")).workspacePath, "/a");
  t.equal(readdirSync(directory).length, 1);
});

/** Returns the first three different modification times of a file. */
async function seenDates(path: string): Promise<number[]> {
  const seen: number[] = [];
  await waitFor(() => {
    const { mtimeMs } = statSync(path);
    if (seen.at(-1) !== mtimeMs) seen.push(mtimeMs);
    return seen.length >= 3;
  }, "a new date");
  return seen;
}
