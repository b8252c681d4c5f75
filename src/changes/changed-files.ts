/** The files that agents change: as they are known, who is at them, and what Neovim shows of them. */
import { isDeepStrictEqual } from "node:util";
import type { ShownChange } from "../contract/changes.ts";
import type { Agent } from "../contract/hooks.ts";
import type { Bridge } from "../neovim/bridge.ts";
import { type Sighting, unknown } from "../system/sighting.ts";
import { createFileWatch } from "../system/watch.ts";
import type { ChangeMemory, Saved } from "./change-memory.ts";
import { type Author, beginChange, type FileChange, isChanged, shown } from "./file-change.ts";

/** Characters of all files together; of what comes beyond them the text is not remembered. */
const MAX_TEXT = 64 * 1024 * 1024;
const FULL = "there are too many other changes; keep some, and it can be from then on";

export interface ChangedFiles {
  get(path: string): FileChange | undefined;
  /** Those that are changed, in the order in which that began. */
  all(): FileChange[];
  /** Those that an agent may be about to change, too. */
  known(): FileChange[];
  /** Takes what is known of a file now and shows it. @param agent who has just changed it */
  set(change: FileChange, agent?: Agent): void;
  /** An agent's tool is about to change the file, or may be. */
  await(agent: Agent, path: string): void;
  arrived(agent: Agent, path: string): void;
  /** The files that this agent may be about to change. */
  awaitedBy(agent: Agent): string[];
  /** Nothing of what this agent was about to do comes any more. */
  abandon(agent: Agent): void;
  /** An agent that is about to change the file, other than this one. */
  isAwaited(path: string, except?: Agent): Agent | undefined;
  /** Agents work, so that the user's own writing is to be told in any case, or not. */
  follow(areAtWork: boolean): void;
  /** A file that nothing is known of yet, as it is before an agent changes it. */
  begin(path: string, found: Sighting, author: Author): FileChange;
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
  /** Characters of each. */
  const sizes = new Map<string, number>();
  let total = 0;
  const told = new Map<string, ShownChange>();
  /** By session: who is at which files, and with how many edits. */
  const awaited = new Map<string, { agent: Agent; paths: Map<string, number> }>();
  const watch = createFileWatch(look);
  let areAtWork = false;
  /** Undefined until Neovim, which may have heard it from an earlier host, was told. */
  let following: boolean | undefined;

  const isAwaited = (path: string, except?: Agent) =>
    [...awaited.values()].find(({ agent, paths }) => agent.session !== except?.session && paths.has(path))
      ?.agent;
  const remember = () =>
    memory.await([...awaited.values()].map(({ agent, paths }) => ({ agent, paths: [...paths.keys()] })));

  function count(path: string, size: number): void {
    total += size - (sizes.get(path) ?? 0);
    if (size > 0) sizes.set(path, size);
    else sizes.delete(path);
  }

  function put(change: FileChange): void {
    files.set(change.path, change);
    count(change.path, sizeOf(change));
  }

  /** Forgets what nobody asks for, and has the user's own writing told for as long as there is anything. */
  function tidy(path: string): void {
    const change = files.get(path);
    if (change && !isChanged(change) && !isAwaited(path)) {
      files.delete(path);
      count(path, 0);
      memory.forget(path);
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
    known: () => [...files.values()],
    set(change, agent) {
      const before = files.get(change.path);
      if (agent ?? (before && before.version !== change.version))
        bridge.tell("file_changed", { path: change.path });
      put(change);
      memory.save(change);
      tidy(change.path);
      show(change.path, agent);
    },
    await(agent, path) {
      const { paths } = awaited.get(agent.session) ?? { paths: new Map<string, number>() };
      paths.set(path, (paths.get(path) ?? 0) + 1);
      awaited.set(agent.session, { agent, paths });
      remember();
      tidy(path);
    },
    arrived(agent, path) {
      const { paths } = awaited.get(agent.session) ?? {};
      const edits = (paths?.get(path) ?? 1) - 1;
      if (edits > 0) paths?.set(path, edits);
      else paths?.delete(path);
      remember();
      tidy(path);
    },
    awaitedBy: ({ session }) => [...(awaited.get(session)?.paths.keys() ?? [])],
    abandon({ session }) {
      const { paths } = awaited.get(session) ?? {};
      awaited.delete(session);
      remember();
      for (const path of paths?.keys() ?? []) tidy(path);
    },
    isAwaited,
    follow(atWork) {
      areAtWork = atWork;
      follow();
    },
    begin(path, found, author) {
      const fits = found.kind !== "known" || total + found.text.length <= MAX_TEXT;
      return beginChange(path, fits ? found : { ...unknown(FULL), version: found.version }, author);
    },
    restore(saved) {
      for (const { agent, paths } of saved.awaited)
        awaited.set(agent.session, { agent, paths: new Map(paths.map((path) => [path, 1])) });
      for (const change of saved.changes) {
        put(change);
        tidy(change.path);
        show(change.path, undefined);
      }
      follow();
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
