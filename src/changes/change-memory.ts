/**
 * Stores unreviewed changes, so that they survive a restart of the host process. Stores the text of a file only if the
 * file is shared with agents.
 */
import { join } from "node:path";
import * as z from "zod";
import type { Log } from "../base/log.ts";
import type { Agent } from "../contract/hooks.ts";
import { createFiles, type SharingSnapshot } from "../sharing/files.ts";
import { machineName } from "../system/container.ts";
import { HIDDEN } from "../system/file-state.ts";
import type { Turn } from "./agent-turns.ts";
import {
  type CommandMemory,
  createCommandMemory,
  type RestoredCommand,
  SavedAgent,
  SavedMetadata,
} from "./command-memory.ts";
import { type FileChange, isChanged } from "./file-change.ts";
import { createJournal, JOURNAL } from "./journal.ts";
import { createLeftChanges } from "./left-changes.ts";
import { splitLines } from "./line-diff.ts";

/** Files that an agent is about to change. */
export interface PendingEdits {
  readonly agent: Agent;
  readonly paths: readonly string[];
}

export interface Saved {
  readonly changes: readonly FileChange[];
  readonly awaited: readonly PendingEdits[];
  readonly commands: readonly RestoredCommand[];
  /** Turns by session. */
  readonly turns: ReadonlyMap<string, Turn>;
}

export interface ChangeMemory {
  save(change: FileChange): void;
  forget(path: string): void;
  await(awaited: readonly PendingEdits[]): void;
  /** Stores the turn of a session. If `turn` is undefined, removes the stored turn. */
  saveTurn(session: string, turn: Turn | undefined): void;
  readonly commands: CommandMemory;
  /** Loads the data that was stored before the host process restarted. */
  load(): Promise<Saved>;
  /** Adopts unreviewed changes of Neovim instances that have ended. @param isWanted selects files by path */
  takeLeft(isWanted: (path: string) => boolean): Promise<FileChange[]>;
  /** Returns true if the text of a file may be stored, that is, if the file is known to be shared with agents. */
  mayKeep(path: string): boolean;
  /** Writes all pending data to disk synchronously, because the process is about to end. */
  storeNow(): void;
  /** Writes all pending data to disk. Idempotent. */
  close(): Promise<void>;
}

const lines = z.string().transform(splitLines);
const place = {
  id: z.number(),
  line: z.number(),
  count: z.number(),
  conflict: z.boolean(),
  turn: z.number(),
};

/** Stored form of `Piece` (edits-to-hunks.ts): some lines, and the hunks in these lines. */
const SavedPiece = z.object({
  lines: z.array(z.string()),
  hunks: z.array(z.object({ ...place, old: z.array(z.string()) })),
});

const author = { cli: z.string(), turn: z.number(), prompt: z.string() };

/** Schema of a stored change. Each character of a text stands for one byte of the file (latin1). */
const SavedChange = z.object({
  path: z.string(),
  before: z.enum(["absent", "known", "unknown"]),
  reason: z.string().optional(),
  metadata: SavedMetadata.optional(),
  lastMetadata: SavedMetadata.optional(),
  exists: z.boolean(),
  opaque: z.object({ reason: z.string(), by: z.enum(["agent", "user"]) }).optional(),
  version: z.string(),
  touched: z.boolean(),
  ...author,
  staged: z.string().optional(),
  decided: z.number(),
  earlier: z.array(z.object(author)),
  text: z.object({
    lines,
    lastId: z.number(),
    hunks: z.array(z.object({ ...place, old: lines, edited: SavedPiece.optional() })),
  }),
});

const SavedTurn = z.object({
  session: z.string(),
  ...author,
  gaps: z.array(z.string()),
});

const SavedAwaited = z.object({
  awaited: z.array(z.object({ agent: SavedAgent, paths: z.array(z.string()) })),
});

/** Journal keys that are not file paths. A change is stored under the path of its file. */
const AWAITED = "awaited";
const turnKey = (session: string) => `turn ${session}`;

/** Time for which a check of the ignore files stays cached. */
const VERDICT_CACHE_TIME_MS = 1_000;

interface ChangeMemoryOptions {
  /** Directory in which only the user may write. */
  directory: string;
  /** Id of this Neovim process. Ids are never reused. */
  instance: string;
  /** Patterns of files that must not be shared with agents. */
  exclude: readonly string[];
  log: Log;
}

export function createChangeMemory({ directory, instance, exclude, log }: ChangeMemoryOptions): ChangeMemory {
  const own = join(directory, "changes", machineName(), `${instance}${JOURNAL}`);
  const journal = createJournal(own, log);
  const left = createLeftChanges(own, journal);
  const files = createFiles({ judgesMissing: true });
  let cached: { verdictOf: SharingSnapshot; at: number } | undefined;

  function mayKeep(path: string): boolean {
    const now = performance.now();
    if (!cached || now - cached.at > VERDICT_CACHE_TIME_MS)
      cached = { verdictOf: files.takeSnapshot(exclude), at: now };
    return cached.verdictOf(path) === "shared";
  }

  const commands = createCommandMemory(journal, mayKeep);

  return {
    save(change) {
      // Ignore files in an unreadable folder are unknown. The stored record describes the last state that was seen.
      if (change.version === HIDDEN) return;
      if (!mayKeep(change.path)) return journal.remove(change.path);
      const { lines, hunks, lastId } = change.text;
      const joined = hunks.map((hunk) => ({ ...hunk, old: hunk.old.join("") }));
      journal.save(change.path, { ...change, text: { lines: lines.join(""), hunks: joined, lastId } });
    },
    forget: journal.remove,
    await(all) {
      const awaited = all.filter(({ paths }) => paths.length > 0);
      if (awaited.length > 0) journal.save(AWAITED, { awaited });
      else journal.remove(AWAITED);
    },
    saveTurn(session, turn) {
      if (!turn) return journal.remove(turnKey(session));
      const { cli, turn: start, prompt, gaps } = turn;
      journal.save(turnKey(session), { session, cli, turn: start, prompt, gaps: [...gaps] });
    },
    commands,
    async load() {
      const loaded = journal.load();
      void left.prune();
      const saved = await loaded;
      const awaited = saved.flatMap((value) => SavedAwaited.safeParse(value).data?.awaited ?? []);
      const changes = saved.flatMap((value) => SavedChange.safeParse(value).data ?? []);
      const turns = saved.flatMap((value) => SavedTurn.safeParse(value).data ?? []);
      return {
        changes,
        awaited,
        commands: commands.restore(saved),
        turns: new Map(
          turns.map(({ session, gaps, ...turn }) => [
            session,
            { ...turn, files: filesOf(turn.turn, changes), gaps: new Set(gaps) },
          ]),
        ),
      };
    },
    async takeLeft(isWanted) {
      const values = await left.take((path) => isWanted(path) && mayKeep(path));
      const changes = values.flatMap((value) => SavedChange.safeParse(value).data ?? []);
      // Drops unchanged files. They are stored if an agent was about to write them when Neovim ended.
      for (const change of changes.filter((one) => !isChanged(one))) journal.remove(change.path);
      return changes.filter(isChanged);
    },
    mayKeep,
    storeNow: journal.flushSync,
    async close() {
      files.close();
      await journal.close();
    },
  };
}

/** Returns the files with undecided changes of a turn. */
function filesOf(turn: number, changes: readonly FileChange[]): Set<string> {
  const ofTurn = changes.filter((change) =>
    [change, ...change.earlier].some((author) => author.turn === turn),
  );
  return new Set(ofTurn.map(({ path }) => path));
}
