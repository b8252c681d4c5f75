/**
 * Keeps the list of files that agents change. For each file: the record of changes, the agents that are editing the
 * file, and the changes that Neovim shows.
 */
import { isDeepStrictEqual } from "node:util";
import type { ShownChange } from "../contract/changes.ts";
import type { Agent } from "../contract/hooks.ts";
import type { Bridge } from "../neovim/bridge.ts";
import { type FileState, unknown } from "../system/file-state.ts";
import { createFileWatch } from "../system/file-watch.ts";
import { type Author, beginChange, type FileChange, isChanged, shown } from "./file-change.ts";
import type { StoredChanges } from "./stored-changes.ts";

/** Maximum total length of all texts (characters). Beyond this limit, the texts of further files are not kept. */
const MAX_TEXT_LENGTH = 64 * 1024 * 1024;
const FULL = "too many other changes are unreviewed; after you keep some, later changes can be undone";

/** Reason for an update: an agent has written the file (`agent`), or the user has kept or undone hunks (`decision`). */
interface Cause {
  readonly agent?: Agent;
  readonly decision?: "kept" | "undone";
}

export interface ChangedFiles {
  get(path: string): FileChange | undefined;
  /** Returns the changed files, in the order of their first change. */
  all(): FileChange[];
  /** Returns the changed files, and the files that an agent may be about to change. */
  known(): FileChange[];
  /** Stores the new change record of a file, and shows the changes in Neovim. */
  set(change: FileChange, cause?: Cause): void;
  /** Records that a tool of the agent is about to change the file. @param arrival number of the hook event */
  await(agent: Agent, path: string, arrival: number): void;
  /** Records that a tool of the agent has ended. Must be called once for each earlier call of `await`. */
  arrived(agent: Agent, path: string): void;
  /** Returns the files that this agent may be about to change, by edits whose start arrived before `arrival`. */
  awaitedBy(agent: Agent, arrival: number): string[];
  /** Forgets the pending edits of this agent whose start arrived before `arrival`. */
  abandon(agent: Agent, arrival: number): void;
  /** Returns an agent that is about to change the file, if there is one. @param except an agent to ignore */
  awaitingAgent(path: string, except?: Agent): Agent | undefined;
  /** Sets whether any agent is working. While agents work, Neovim reports each file that the user writes. */
  follow(areAtWork: boolean): void;
  /**
   * Creates the change record of a file, but does not store the record. @param found state of the file before the
   * agent's edit
   */
  begin(path: string, found: FileState, author: Author): FileChange;
  /** Restores stored change records, for example after a restart of the host process. */
  restore(changes: readonly FileChange[]): void;
  /** Stops watching the disk. Idempotent. */
  close(): void;
}

interface ChangedFilesOptions {
  bridge: Bridge;
  stored: StoredChanges;
  /** Called with files that may have changed on disk. */
  look: (paths: ReadonlySet<string>) => void;
  agentWrote(path: string, agent: Agent): void;
}

export function createChangedFiles(options: ChangedFilesOptions): ChangedFiles {
  const { bridge, stored } = options;
  const files = new Map<string, FileChange>();
  /** Total length of the texts of each file (characters). */
  const sizes = new Map<string, number>();
  let total = 0;
  /** For each path: the change that Neovim currently shows. */
  const told = new Map<string, ShownChange>();
  /**
   * For each session: the agent that has pending edits, and the edits of each file (`paths`). An edit is the number of
   * the event that has reported its start.
   */
  const awaited = new Map<string, { agent: Agent; paths: Map<string, readonly number[]> }>();
  const watch = createFileWatch(options.look);
  let areAtWork = false;
  /**
   * True if Neovim reports the files that the user writes. Undefined until the host has set this: after a restart of
   * the host process, Neovim may still have the earlier setting.
   */
  let following: boolean | undefined;

  const awaitingAgent = (path: string, except?: Agent) =>
    [...awaited.values()].find(({ agent, paths }) => agent.session !== except?.session && paths.has(path))
      ?.agent;
  function beginEdit(agent: Agent, path: string, arrival: number): void {
    const { paths } = awaited.get(agent.session) ?? { paths: new Map<string, readonly number[]>() };
    paths.set(path, [...(paths.get(path) ?? []), arrival]);
    awaited.set(agent.session, { agent, paths });
  }

  /** Replaces the pending edits of a file. */
  function setEdits({ session }: Agent, path: string, edits: readonly number[]): void {
    const { paths } = awaited.get(session) ?? {};
    if (edits.length > 0) paths?.set(path, edits);
    else paths?.delete(path);
    if (paths?.size === 0) awaited.delete(session);
  }

  function count(path: string, size: number): void {
    total += size - (sizes.get(path) ?? 0);
    if (size > 0) sizes.set(path, size);
    else sizes.delete(path);
  }

  function put(change: FileChange): void {
    files.set(change.path, change);
    count(change.path, sizeOf(change));
  }

  /**
   * Forgets a file without changes, unless an agent is editing the file. Stops watching a forgotten file, and watches
   * any other file. Tells Neovim whether to report the user's writes.
   */
  function tidy(path: string): void {
    const change = files.get(path);
    if (change && !isChanged(change) && !awaitingAgent(path)) {
      files.delete(path);
      count(path, 0);
      stored.forget(path);
    }
    if (files.has(path)) watch.add(path);
    else watch.remove(path);
    follow();
  }

  function follow(): void {
    const active = areAtWork || files.size > 0;
    if (following === active) return;
    following = active;
    bridge.tell("changes_follow", { active });
  }

  /** @param written whether the file on disk has changed */
  function show(path: string, written: boolean, { agent, decision }: Cause = {}): void {
    const change = files.get(path);
    const now = change && isChanged(change) ? shown(change) : undefined;
    if (isDeepStrictEqual(now, told.get(path))) {
      if (written) bridge.tell("file_changed", { path });
      return;
    }
    if (now) told.set(path, now);
    else told.delete(path);
    bridge.tell("change_show", {
      path,
      change: now,
      written,
      edited: agent !== undefined && now !== undefined,
      decision: now ? undefined : decision,
    });
  }

  return {
    get: (path) => files.get(path),
    all: () => [...files.values()].filter(isChanged),
    known: () => [...files.values()],
    set(change, cause = {}) {
      const before = files.get(change.path);
      if (before === change) return;
      if (cause.agent) options.agentWrote(change.path, cause.agent);
      put(change);
      stored.save(change);
      tidy(change.path);
      const isWritten = cause.agent !== undefined || (before && before.version !== change.version);
      show(change.path, isWritten ?? false, cause);
    },
    await(agent, path, arrival) {
      beginEdit(agent, path, arrival);
      tidy(path);
    },
    arrived(agent, path) {
      setEdits(agent, path, awaited.get(agent.session)?.paths.get(path)?.slice(1) ?? []);
      tidy(path);
    },
    awaitedBy: ({ session }, arrival) =>
      [...(awaited.get(session)?.paths ?? [])].flatMap(([path, edits]) =>
        edits.some((edit) => edit < arrival) ? [path] : [],
      ),
    abandon(agent, arrival) {
      const all = [...(awaited.get(agent.session)?.paths ?? [])];
      for (const [path, edits] of all)
        setEdits(
          agent,
          path,
          edits.filter((edit) => edit >= arrival),
        );
      for (const [path] of all) tidy(path);
    },
    awaitingAgent,
    follow(atWork) {
      areAtWork = atWork;
      follow();
    },
    begin(path, found, author) {
      const fits = found.kind !== "known" || total + found.text.length <= MAX_TEXT_LENGTH;
      return beginChange(path, fits ? found : { ...unknown(FULL), version: found.version }, author);
    },
    restore(changes) {
      for (const change of changes) {
        put(change);
        tidy(change.path);
        show(change.path, false);
      }
      follow();
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
