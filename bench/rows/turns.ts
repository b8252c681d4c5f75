/** Measures whole turns of an agent: edits of many files, and shell commands in large folders. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { HookedAgent } from "../../test/support/hooked-agent.ts";
import { summarize, takeTurns, time } from "../stats.ts";
import { agentOf, ours, startBridge, within } from "../subject.ts";
import { type Row, row } from "../table.ts";
import { closeDiff } from "./diffs.ts";

/** Number of edited files. */
const FILES = 900;

/** Number of runs. Each run uses a new Neovim, because the host keeps the changes of a turn. */
const RUNS = 3;
const COMMANDS = 11;

const text = (lines: number) => "a line of text\n".repeat(lines);

/**
 * Makes an agent edit one file after the other. Each edit is a hook before the write, the write, and a hook after the
 * write.
 */
async function edit(agent: HookedAgent): Promise<void> {
  for (let i = 0; i < FILES; i += 1) await agent.write(`f${i}.txt`, text(101));
}

/** Sends a hook that is not about an edit. */
function notify(agent: HookedAgent): Promise<string> {
  return agent.hook("Notification", { notification_type: "none" });
}

async function turn() {
  const names = Array.from({ length: FILES }, (_, i) => [`f${i}.txt`, text(100)] as const);
  return within(async (scope) => {
    const { nvim, client } = await startBridge(scope, ours, {
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
    let isEditing = true;
    const opened = [];
    const turn = edit(agent).finally(() => {
      isEditing = false;
    });
    while (isEditing) {
      opened.push(await open());
      await nextTurn();
    }
    await turn;
    return { idle, opened };
  });
}

async function editRow(): Promise<Row> {
  const turns = [];
  for (let run = 0; run < RUNS; run += 1) turns.push(await turn());
  const opened = summarize(turns.flatMap((one) => one.opened));
  const idle = turns.flatMap((one) => one.idle);
  const name = `openDiff of another client during a turn of ${FILES} files, 99th of 100`;
  return row(
    name,
    "ms",
    { ...opened, median: opened.p99, low: opened.p99, high: opened.p99 },
    {
      floor: idle,
      goal: { more: 100 },
    },
  );
}

/** Creates files in folders of 100, and adds them to Git's index. */
function makeRepository(directory: string, files: number): void {
  const git = (...args: string[]) => execFileSync("git", ["-C", directory, ...args], { stdio: "ignore" });
  git("init", "-q");
  for (let folder = 0; folder < files / 100; folder += 1) {
    const path = join(directory, `d${folder}`);
    mkdirSync(path);
    for (let i = 0; i < 100; i += 1) writeFileSync(join(path, `${i}.txt`), "tracked\n");
  }
  git("add", "-A");
}

async function commandRow(files: number, most: number): Promise<Row> {
  return within(async (scope) => {
    const { nvim } = await startBridge(scope, ours, { files: { "a.txt": text(1) } });
    makeRepository(nvim.dirs.workspace, files);
    const agent = agentOf(nvim);
    const tool = { tool_name: "run_shell_command", tool_input: { command: "make" } };
    let count = 0;
    const [waits, floor] = await takeTurns(COMMANDS, [
      async () => {
        const before = await time(() => agent.hook("BeforeTool", tool));
        writeFileSync(nvim.path("a.txt"), text(++count));
        return before + (await time(() => agent.hook("AfterTool", tool)));
      },
      () => time(() => notify(agent).then(() => notify(agent))),
    ]);
    return row(`both hooks of a shell command, ${files} tracked files`, "ms", waits, {
      floor,
      goal: { most },
    });
  });
}

export async function turnRows(): Promise<Row[]> {
  return [await editRow(), await commandRow(5_000, 150), await commandRow(100_000, 2_500)];
}
