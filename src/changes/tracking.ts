/** Creates the tracking of changes and the history, with their storage. */
import type { Log } from "../base/log.ts";
import type { Agent } from "../contract/hooks.ts";
import type { Boot, Status } from "../contract/neovim.ts";
import type { Bridge } from "../neovim/bridge.ts";
import type { UserFiles } from "../system/user-files.ts";
import { createChangeMemory } from "./change-memory.ts";
import { type Changes, createChanges } from "./changes.ts";
import { createHistory, type History } from "./history.ts";
import { createPrompts } from "./prompts.ts";

export interface TrackingOptions {
  /** Name of the terminal in which an agent runs, if known. */
  terminalOf(agent: Agent): string | undefined;
  bridge: Bridge;
  userFiles: UserFiles;
  boot: Pick<Boot, "stateDirectory" | "instance" | "exclude" | "absence" | "notes" | "workspace">;
  report: (change: Partial<Status>) => void;
  log: Log;
}

export function createTracking(tracking: TrackingOptions): {
  changes: Changes;
  history: History;
} {
  const { bridge, terminalOf, userFiles, boot, log } = tracking;
  const { stateDirectory: directory, instance, exclude, absence, notes, workspace } = boot;
  const memory = createChangeMemory({ directory, instance, exclude, log });
  const prompts = createPrompts(memory.saveTurn);
  const history = createHistory({
    directory,
    instance,
    mayKeep: memory.mayKeep,
    authorOf: prompts.latest,
    log,
  });
  const options = { bridge, terminalOf, memory, prompts, history, userFiles, stateDirectory: directory, log };
  const report = (changes: Status["changes"]) => tracking.report({ changes });
  const { directories } = workspace;
  return { changes: createChanges({ ...options, absence, notes, directories, report }), history };
}
