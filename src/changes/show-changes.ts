/** Shows the changes in Neovim, and asks Neovim to report the files that the user writes. */
import { isDeepStrictEqual } from "node:util";
import type { ShownChange } from "../contract/changes.ts";
import type { Bridge } from "../neovim/bridge.ts";
import type { ChangedFiles, Update } from "./changed-files.ts";
import { shown } from "./file-change.ts";

export interface ShownChanges {
  /** Returns the changes that Neovim shows. */
  all(): ShownChange[];
  /** Asks Neovim for reports only while they are needed. Must be called when a turn starts or ends. */
  followUser(): void;
}

interface ShownChangesOptions {
  bridge: Pick<Bridge, "tell">;
  files: Pick<ChangedFiles, "on" | "isEmpty">;
  /** Returns whether any agent is in a turn. */
  areAgentsAtWork(): boolean;
}

export function createShownChanges({ bridge, files, areAgentsAtWork }: ShownChangesOptions): ShownChanges {
  /** For each path: the change that Neovim currently shows. */
  const told = new Map<string, ShownChange>();
  /** Undefined until the host has asked: after a restart of the host process, Neovim may still send reports. */
  let following: boolean | undefined;

  function followUser(): void {
    const active = areAgentsAtWork() || !files.isEmpty;
    if (following === active) return;
    following = active;
    bridge.tell("changes_follow", { active });
  }

  function show({ path, change, isWritten: written, wrote, decision }: Update): void {
    const now = change && shown(change);
    if (isDeepStrictEqual(now, told.get(path))) {
      if (written) bridge.tell("file_changed", { path });
      return;
    }
    if (now) told.set(path, now);
    else told.delete(path);
    const edited = wrote !== undefined && now !== undefined;
    bridge.tell("change_show", { path, change: now, written, edited, decision: now ? undefined : decision });
  }

  files.on((update) => {
    followUser();
    show(update);
  });

  return { all: () => [...told.values()], followUser };
}
