/**
 * Stores the files that agents change. For each file: its change, the agents that are editing it, and what Neovim
 * shows.
 */
import { isDeepStrictEqual } from "node:util";
import type { ShownChange } from "../contract/changes.ts";
import type { Agent } from "../contract/hooks.ts";
import type { Status } from "../contract/neovim.ts";
import type { Bridge } from "../neovim/bridge.ts";
import { type FileState, unknown } from "../system/file-state.ts";
import { createFileWatch } from "../system/file-watch.ts";
import type { ChangeMemory, Saved } from "./change-memory.ts";
import { type Author, beginChange, type FileChange, isChanged, shown } from "./file-change.ts";

/** Maximum total length of all texts (characters). When it is reached, the texts of further files are not stored. */
const MAX_TEXT_LENGTH = 64 * 1024 * 1024;
const FULL = "too many other changes are unreviewed; after you keep some, later changes can be undone";

/**
 * Delay before the counts are reported. An agent often changes several files at once, and these are reported together.
 */
const REPORT_DELAY_MS = 50;

/** Why a change is updated: an agent has just changed the file (`agent`), or the user has decided (`decision`). */
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
  /** Stores the change of a file in its current state, and shows it in Neovim. */
  set(change: FileChange, cause?: Cause): void;
  /** Records that a tool of the agent is about to change the file. */
  await(agent: Agent, path: string): void;
  /** Records that a tool for which `await` was called has ended. */
  arrived(agent: Agent, path: string): void;
  /** Returns the files that this agent may be about to change. */
  awaitedBy(agent: Agent): string[];
  /** Forgets all edits that this agent has begun: `awaitedBy` is then empty. */
  abandon(agent: Agent): void;
  /** Returns an agent that is about to change the file, if there is one. @param except an agent to ignore */
  awaitingAgent(path: string, except?: Agent): Agent | undefined;
  /** Sets whether any agent is working. While one is, Neovim reports each file that the user writes. */
  follow(areAtWork: boolean): void;
  /** Creates a change without storing it. @param found the file before the agent's edit */
  begin(path: string, found: FileState, author: Author): FileChange;
  /** Continues with the files of an earlier host. @returns those that no agent is editing */
  restore(saved: Pick<Saved, "changes" | "awaited">): FileChange[];
  /** Stops watching the disk. Idempotent. */
  close(): void;
}

interface ChangedFilesOptions {
  bridge: Bridge;
  memory: ChangeMemory;
  /** Called with files that may have changed on disk. */
  look: (paths: ReadonlySet<string>) => void;
  agentWrote(path: string, agent: Agent): void;
  /** Called some time after the counts have changed. */
  report(counts: NonNullable<Status["changes"]>): void;
}

export function createChangedFiles(options: ChangedFilesOptions): ChangedFiles {
  const { bridge, memory } = options;
  const files = new Map<string, FileChange>();
  /** Total length of the texts of each file (characters). */
  const sizes = new Map<string, number>();
  let total = 0;
  /** Changes in the form in which Neovim was last told about them. */
  const told = new Map<string, ShownChange>();
  /** Agents by session, with the number of pending edits of each file. */
  const awaited = new Map<string, { agent: Agent; paths: Map<string, number> }>();
  const watch = createFileWatch(options.look);
  let areAtWork = false;
  let reporting: NodeJS.Timeout | undefined;
  /**
   * Whether Neovim reports the files that the user writes. Undefined until this host sets it, because an earlier host
   * may have set it to either value.
   */
  let following: boolean | undefined;

  const awaitingAgent = (path: string, except?: Agent) =>
    [...awaited.values()].find(({ agent, paths }) => agent.session !== except?.session && paths.has(path))
      ?.agent;
  const remember = () =>
    memory.await([...awaited.values()].map(({ agent, paths }) => ({ agent, paths: [...paths.keys()] })));

  function beginEdit(agent: Agent, path: string): void {
    const { paths } = awaited.get(agent.session) ?? { paths: new Map<string, number>() };
    paths.set(path, (paths.get(path) ?? 0) + 1);
    awaited.set(agent.session, { agent, paths });
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
   * Forgets the file if it has no change and no agent is editing it. Then updates what is watched: this file, and the
   * user's writes in Neovim.
   */
  function tidy(path: string): void {
    const change = files.get(path);
    if (change && !isChanged(change) && !awaitingAgent(path)) {
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

  function show(path: string, { agent, decision }: Cause = {}): void {
    const change = files.get(path);
    const now = change && isChanged(change) ? shown(change) : undefined;
    if (isDeepStrictEqual(now, told.get(path))) return;
    if (now) told.set(path, now);
    else told.delete(path);
    reporting ??= setTimeout(report, REPORT_DELAY_MS).unref();
    bridge.tell("change_show", {
      path,
      change: now,
      edited: agent !== undefined && now !== undefined,
      decision: now ? undefined : decision,
    });
  }

  function report(): void {
    reporting = undefined;
    const hunks = [...told.values()].reduce((sum, change) => sum + change.hunks.length, 0);
    options.report({ files: told.size, hunks });
  }

  return {
    get: (path) => files.get(path),
    all: () => [...files.values()].filter(isChanged),
    known: () => [...files.values()],
    set(change, cause = {}) {
      const before = files.get(change.path);
      if (cause.agent) options.agentWrote(change.path, cause.agent);
      if (cause.agent ?? (before && before.version !== change.version))
        bridge.tell("file_changed", { path: change.path });
      put(change);
      memory.save(change);
      tidy(change.path);
      show(change.path, cause);
    },
    await(agent, path) {
      beginEdit(agent, path);
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
    awaitingAgent,
    follow(atWork) {
      areAtWork = atWork;
      follow();
    },
    begin(path, found, author) {
      const fits = found.kind !== "known" || total + found.text.length <= MAX_TEXT_LENGTH;
      return beginChange(path, fits ? found : { ...unknown(FULL), version: found.version }, author);
    },
    restore(saved) {
      // Adds the earlier edits to those that agents have begun since this host started.
      for (const { agent, paths } of saved.awaited) for (const path of paths) beginEdit(agent, path);
      remember();
      for (const change of saved.changes) {
        put(change);
        tidy(change.path);
        show(change.path);
      }
      follow();
      return saved.changes.filter(({ path }) => !awaitingAgent(path));
    },
    close() {
      clearTimeout(reporting);
      watch.close();
    },
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
