/** Changes and history, with what they keep on disk. */
import type { Log } from "../base/log.ts";
import type { Agent } from "../contract/hooks.ts";
import type { Boot } from "../contract/neovim.ts";
import type { Bridge } from "../neovim/bridge.ts";
import type { UserFiles } from "../system/user-files.ts";
import { createChangeMemory } from "./change-memory.ts";
import { type Changes, createChanges } from "./changes.ts";
import { createHistory, type History } from "./history.ts";
import { createPrompts } from "./prompts.ts";

export interface TrackingOptions {
  /** The name of the terminal in which an agent runs, as far as known. */
  terminalOf(agent: Agent): string | undefined;
  bridge: Bridge;
  userFiles: UserFiles;
  boot: Pick<Boot, "stateDirectory" | "instance" | "exclude" | "absence" | "workspace">;
  log: Log;
}

export function createTracking({ bridge, terminalOf, userFiles, boot, log }: TrackingOptions): {
  changes: Changes;
  history: History;
} {
  const { stateDirectory: directory, instance, exclude, absence, workspace } = boot;
  const memory = createChangeMemory({ directory, instance, exclude, log });
  const prompts = createPrompts(memory.saveTurn);
  const history = createHistory({ directory, mayKeep: memory.mayKeep, authorOf: prompts.latest, log });
  const options = { bridge, terminalOf, memory, prompts, history, userFiles, stateDirectory: directory, log };
  return { changes: createChanges({ ...options, absence, directories: workspace.directories }), history };
}
