/** Measures whole turns of an agent: edits of many files, and shell commands in large folders. */
import { execFileSync } from "node:child_process";
import { mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import * as z from "zod";
import type { HookedAgent } from "../../test/support/hooked-agent.ts";
import { waitFor } from "../../test/support/wait.ts";
import { processorTime, sumBelow } from "../process.ts";
import { atP99, summarize, takeTurns, time } from "../stats.ts";
import { agentOf, type Subject, startBridge, within } from "../subject.ts";
import { type Row, row } from "../table.ts";
import { closeDiff } from "./diffs.ts";

/** Sizes of turns: the number of edited files, and the goal for the host's processor time (ms). */
const TURNS = [
  { files: 40, most: 100 },
  { files: 900, most: 1_000 },
];

/** Number of runs. Each run uses a new Neovim, because the host keeps the changes of a turn. */
const RUNS = 5;
const COMMANDS = 11;
const TRACKED_FILES = 100_000;
const UNTRACKED_FILES = 128;
const UNTRACKED_BYTES = 8_000_000;

const text = (lines: number) => "a line of text\n".repeat(lines);

/**
 * Makes an agent edit one file after the other. Each edit is a hook before the write, the write, and a hook after the
 * write.
 */
async function edit(agent: HookedAgent, files: number): Promise<void> {
  for (let i = 0; i < files; i += 1) await agent.write(`f${i}.txt`, text(101));
}

/** Sends a hook that is not about an edit. */
function notify(agent: HookedAgent): Promise<string> {
  return agent.hook("Notification", { notification_type: "none" });
}

const COUNT = "return #require('gemini-bridge').changes()";

async function turn(subject: Subject, files: number) {
  const names = Array.from({ length: files }, (_, i) => [`f${i}.txt`, text(100)] as const);
  return within(async (scope) => {
    const { nvim, client } = await startBridge(scope, subject, {
      files: { ...Object.fromEntries(names), "other.txt": text(60) },
    });
    const path = nvim.path("other.txt");
    const open = async (): Promise<number> => {
      const took = await time(() => client.openDiff(path, `${text(60)}more\n`));
      await closeDiff(client, path);
      return took;
    };
    const idle = [];
    for (let i = 0; i < 20; i += 1) idle.push(await open());

    const agent = agentOf(nvim);
    const listed = () =>
      waitFor(async () => z.number().parse(await nvim.lua(COUNT)) === files || undefined, "the changes");
    const costOf = async (run: () => Promise<void>): Promise<number> => {
      const start = sumBelow(nvim.pid, processorTime);
      await run();
      return sumBelow(nvim.pid, processorTime) - start;
    };
    const least = await costOf(async () => {
      for (let i = 0; i < 2 * files; i += 1) await notify(agent);
    });
    const cost = await costOf(async () => {
      await edit(agent, files);
      await listed();
    });

    let isEditing = true;
    const opened = [];
    const again = edit(agent, files).finally(() => {
      isEditing = false;
    });
    while (isEditing) {
      opened.push(await open());
      await nextTurn();
    }
    await again;
    return { cost, least, idle, opened };
  });
}

async function editRows(subject: Subject): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { files, most } of TURNS) {
    const turns = [];
    for (let run = 0; run < RUNS; run += 1) turns.push(await turn(subject, files));
    const opened = summarize(turns.flatMap((one) => one.opened));
    rows.push(
      row(
        `a turn of ${files} files: processor time of the host`,
        "ms",
        turns.map(({ cost }) => cost),
        { floor: turns.map(({ least }) => least), goal: { most } },
      ),
      row(`openDiff of another client meanwhile, ${files} files`, "ms", opened, {
        floor: turns.flatMap(({ idle }) => idle),
        goal: { most: 50 },
      }),
      row(`openDiff of another client meanwhile, ${files} files, 99th of 100`, "ms", atP99(opened), {
        goal: { most: 50 },
      }),
    );
  }
  return rows;
}

/** Creates 100,000 files in 1,000 folders, and adds them to Git's index. */
function makeRepository(directory: string): void {
  const git = (...args: string[]) => execFileSync("git", ["-C", directory, ...args], { stdio: "ignore" });
  git("init", "-q");
  for (let folder = 0; folder < TRACKED_FILES / 100; folder += 1) {
    const path = join(directory, `d${folder}`);
    mkdirSync(path);
    for (let i = 0; i < 100; i += 1) writeFileSync(join(path, `${i}.txt`), "tracked\n");
  }
  git("add", "-A");
}

/** Creates 1 GB of files that are not in Git's index. The files are sparse, but programs read them like other files. */
function addUntracked(directory: string): void {
  execFileSync("git", ["-C", directory, "init", "-q"], { stdio: "ignore" });
  for (let i = 0; i < UNTRACKED_FILES; i += 1) {
    const path = join(directory, `data${i}.bin`);
    writeFileSync(path, "");
    truncateSync(path, UNTRACKED_BYTES);
  }
}

async function commandRow(subject: Subject, name: string, prepare: (path: string) => void): Promise<Row> {
  return within(async (scope) => {
    const { nvim } = await startBridge(scope, subject, { files: { "a.txt": text(1) } });
    prepare(nvim.dirs.workspace);
    const agent = agentOf(nvim);
    const tool = { tool_name: "run_shell_command", tool_input: { command: "make" } };
    let count = 0;
    const [waits, least] = await takeTurns(COMMANDS, [
      async () => {
        const before = await time(() => agent.hook("BeforeTool", tool));
        writeFileSync(nvim.path("a.txt"), text(++count));
        return before + (await time(() => agent.hook("AfterTool", tool)));
      },
      () => time(() => notify(agent).then(() => notify(agent))),
    ]);
    return row(name, "ms", waits, { floor: least });
  });
}

export async function turnRows(subject: Subject): Promise<Row[]> {
  return [
    ...(await editRows(subject)),
    await commandRow(
      subject,
      "a CLI waits for both hooks of a shell command, 100,000 tracked files",
      makeRepository,
    ),
    await commandRow(
      subject,
      "a CLI waits for both hooks of a shell command, 1 GB of untracked files",
      addUntracked,
    ),
  ];
}
