/** Stores the changes of this Neovim for the next host. Stores no text of files that are not shared. */
import { join } from "node:path";
import * as z from "zod";
import type { Log } from "../base/log.ts";
import type { Agent } from "../contract/hooks.ts";
import { createFiles, type SharingSnapshot } from "../sharing/files.ts";
import { machineName } from "../system/container.ts";
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

/** An agent, and the paths of the files that it is about to change. */
export interface PendingEdits {
  readonly agent: Agent;
  readonly paths: readonly string[];
}

export interface Saved {
  readonly changes: readonly FileChange[];
  readonly awaited: readonly PendingEdits[];
  readonly commands: readonly RestoredCommand[];
  /** By session. */
  readonly turns: ReadonlyMap<string, Turn>;
}

export interface ChangeMemory {
  save(change: FileChange): void;
  forget(path: string): void;
  await(awaited: readonly PendingEdits[]): void;
  /** Stores the turn of a session, or removes it if `turn` is undefined. */
  saveTurn(session: string, turn: Turn | undefined): void;
  readonly commands: CommandMemory;
  /** Returns the data stored by an earlier host. */
  load(): Promise<Saved>;
  /** Takes over changes from Neovims that have ended. @param isWanted chooses the files */
  takeLeft(isWanted: (path: string) => boolean): Promise<FileChange[]>;
  /** Whether the text of a file may be stored. False if the file is excluded from sharing, or if this is not known. */
  mayKeep(path: string): boolean;
  /** Resolves when everything is stored. Idempotent. */
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

/** The stored form of a `Piece` of edits-to-hunks.ts: lines with hunks. */
const SavedPiece = z.object({
  lines: z.array(z.string()),
  hunks: z.array(z.object({ ...place, old: z.array(z.string()) })),
});

const author = { cli: z.string(), turn: z.number(), prompt: z.string() };

/** In the texts, each character stands for one byte. */
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
  files: z.array(z.string()),
  gaps: z.array(z.string()),
});

const SavedAwaited = z.object({
  awaited: z.array(z.object({ agent: SavedAgent, paths: z.array(z.string()) })),
});

/** Keys under which the journal stores values that do not belong to a single file. The other keys are paths. */
const AWAITED = "awaited";
const turnKey = (session: string) => `turn ${session}`;

/** For this time after a check of the ignore files, their changes are not noticed. */
const VERDICT_CACHE_TIME_MS = 1_000;

/**
 * Delay before a changed turn is stored. Each changed file changes the turn, and the delay lets several of these
 * changes be stored together. A new turn is stored without this delay, so that a crash does not lose its prompt.
 */
const TURN_DELAY_MS = 200;

interface ChangeMemoryOptions {
  /** A directory for files that only the user may change. */
  directory: string;
  /** Id of this Neovim process. No other process ever gets the same id. */
  instance: string;
  /** Patterns of files that are not shared. */
  exclude: readonly string[];
  log: Log;
}

export function createChangeMemory({ directory, instance, exclude, log }: ChangeMemoryOptions): ChangeMemory {
  const own = join(directory, "changes", machineName(), `${instance}${JOURNAL}`);
  const journal = createJournal(own, log);
  const left = createLeftChanges(own, journal);
  const files = createFiles({ judgesMissing: true });
  let cached: { verdictOf: SharingSnapshot; at: number } | undefined;
  /** Turns that have changed since they were stored. By session. */
  const turns = new Map<string, Turn>();
  let turnsDue: NodeJS.Timeout | undefined;

  function mayKeep(path: string): boolean {
    const now = performance.now();
    if (!cached || now - cached.at > VERDICT_CACHE_TIME_MS)
      cached = { verdictOf: files.takeSnapshot(exclude), at: now };
    return cached.verdictOf(path) === "shared";
  }

  const commands = createCommandMemory(journal, mayKeep);

  function saveTurns(): void {
    clearTimeout(turnsDue);
    turnsDue = undefined;
    for (const [session, { files, gaps, ...turn }] of turns)
      journal.save(turnKey(session), {
        session,
        ...turn,
        files: [...files].filter(mayKeep),
        gaps: [...gaps],
      });
    turns.clear();
  }

  return {
    save(change) {
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
      if (turn) turns.set(session, turn);
      else {
        turns.delete(session);
        journal.remove(turnKey(session));
      }
      if (turn?.files.size === 0) saveTurns();
      else if (turns.size > 0) turnsDue ??= setTimeout(saveTurns, TURN_DELAY_MS).unref();
    },
    commands,
    async load() {
      const loaded = journal.load();
      void left.prune();
      const saved = await loaded;
      const awaited = saved.flatMap((value) => SavedAwaited.safeParse(value).data?.awaited ?? []);
      return {
        changes: saved.flatMap((value) => SavedChange.safeParse(value).data ?? []),
        awaited,
        commands: commands.restore(saved),
        turns: new Map(
          saved
            .flatMap((value) => SavedTurn.safeParse(value).data ?? [])
            .map(({ session, files, gaps, ...turn }) => [
              session,
              { ...turn, files: new Set(files), gaps: new Set(gaps) },
            ]),
        ),
      };
    },
    async takeLeft(isWanted) {
      const values = await left.take((path) => isWanted(path) && mayKeep(path));
      const changes = values.flatMap((value) => SavedChange.safeParse(value).data ?? []);
      // Drops files that an agent was only about to change when Neovim ended.
      for (const change of changes.filter((one) => !isChanged(one))) journal.remove(change.path);
      return changes.filter(isChanged);
    },
    mayKeep,
    close() {
      saveTurns();
      files.close();
      return journal.flush();
    },
  };
}
