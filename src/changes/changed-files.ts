/** The files that agents change: as they are known, who is at them, and what Neovim shows of them. */
import { isDeepStrictEqual } from "node:util";
import type { ShownChange } from "../contract/changes.ts";
import type { Agent } from "../contract/hooks.ts";
import type { Bridge } from "../neovim/bridge.ts";
import { createFileWatch } from "../system/watch.ts";
import type { ChangeMemory, Saved } from "./change-memory.ts";
import type { DiskFile } from "./disk-file.ts";
import { type Author, beginChange, type FileChange, isChanged, shown } from "./file-change.ts";

/** Characters of all files together; of what comes beyond them the text is not remembered. */
const MAX_TEXT = 64 * 1024 * 1024;
const FULL = "there are too many other changes; keep some, and it can be from then on";

export interface ChangedFiles {
  get(path: string): FileChange | undefined;
  /** Those that are changed, in the order in which that began. */
  all(): FileChange[];
  /** Takes what is known of a file now and shows it. @param agent who has just changed it */
  set(change: FileChange, agent?: Agent): void;
  /** An agent's tool is about to change the file, or may be. */
  await(agent: Agent, path: string): void;
  arrived(agent: Agent, path: string): void;
  /** Nothing of what this agent was about to do comes any more. @returns the files that were awaited */
  abandon(agent: Agent): string[];
  /** Whether an agent is about to change the file, other than this one. */
  isAwaited(path: string, except?: Agent): boolean;
  /** A file that nothing is known of yet, as it is before an agent changes it. */
  begin(path: string, found: DiskFile, author: Author): FileChange;
  /** Goes on with what the host before this one knew. @returns the files that no agent is at */
  restore(saved: Saved): FileChange[];
  /** Stops looking at the disk. May run twice. */
  close(): void;
}

export interface ChangedFilesOptions {
  bridge: Bridge;
  memory: ChangeMemory;
  /** Files that are known may be others on disk. */
  look: (paths: ReadonlySet<string>) => void;
}

export function createChangedFiles({ bridge, memory, look }: ChangedFilesOptions): ChangedFiles {
  const files = new Map<string, FileChange>();
  const told = new Map<string, ShownChange>();
  const awaited = new Map<string, Set<string>>();
  const watch = createFileWatch(look);
  const watched = new Set<string>();
  let following = false;

  const isAwaited = (path: string, except?: Agent) =>
    [...awaited].some(([session, paths]) => session !== except?.session && paths.has(path));

  /** Forgets what nobody asks for, and has the user's own writing told for as long as there is anything. */
  function tidy(path: string): void {
    const change = files.get(path);
    if (change && !isChanged(change) && !isAwaited(path)) {
      files.delete(path);
      memory.forget(path);
    }
    if (files.has(path) === watched.has(path)) return;
    if (!watched.delete(path)) watched.add(path);
    watch.set(watched);
    if (following === files.size > 0) return;
    following = files.size > 0;
    bridge.tell("changes_follow", { active: following });
  }

  function show(path: string, agent: Agent | undefined): void {
    const change = files.get(path);
    const now = change && isChanged(change) ? shown(change) : undefined;
    if (isDeepStrictEqual(now, told.get(path))) return;
    if (now) told.set(path, now);
    else told.delete(path);
    bridge.tell("change_show", { path, change: now, edited: agent !== undefined && now !== undefined });
  }

  return {
    get: (path) => files.get(path),
    all: () => [...files.values()].filter(isChanged),
    set(change, agent) {
      const before = files.get(change.path);
      if (agent ?? (before && before.version !== change.version))
        bridge.tell("file_changed", { path: change.path });
      files.set(change.path, change);
      memory.save(change);
      tidy(change.path);
      show(change.path, agent);
    },
    await(agent, path) {
      const paths = awaited.get(agent.session) ?? new Set();
      awaited.set(agent.session, paths.add(path));
      memory.await(awaited);
      tidy(path);
    },
    arrived(agent, path) {
      awaited.get(agent.session)?.delete(path);
      memory.await(awaited);
      tidy(path);
    },
    abandon(agent) {
      const paths = [...(awaited.get(agent.session) ?? [])];
      awaited.delete(agent.session);
      memory.await(awaited);
      for (const path of paths) tidy(path);
      return paths;
    },
    isAwaited,
    begin(path, found, author) {
      const known = [...files.values()].reduce((sum, change) => sum + sizeOf(change), 0);
      const fits = known + (found.text?.length ?? 0) <= MAX_TEXT;
      return beginChange(path, found, author, fits ? undefined : FULL);
    },
    restore(saved) {
      for (const [session, paths] of saved.awaited) awaited.set(session, new Set(paths));
      for (const change of saved.changes) {
        files.set(change.path, change);
        tidy(change.path);
        show(change.path, undefined);
      }
      return saved.changes.filter(({ path }) => !isAwaited(path));
    },
    close: watch.close,
  };
}

function sizeOf({ text }: FileChange): number {
  const old = text.hunks.reduce(
    (sum, hunk) => sum + lengthOf(hunk.old) + lengthOf(hunk.edited?.lines ?? []),
    0,
  );
  return old + lengthOf(text.lines);
}

function lengthOf(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + line.length, 0);
}
