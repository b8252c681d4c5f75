/** Stores the changes of this Neovim for the next host, without the text of files that are not shared. */
import { join } from "node:path";
import * as z from "zod";
import type { Log } from "../base/log.ts";
import type { Agent } from "../contract/hooks.ts";
import { createFiles, type Files } from "../sharing/files.ts";
import {
  type CommandMemory,
  createCommandMemory,
  type RestoredCommand,
  SavedAgent,
  SavedMetadata,
} from "./command-memory.ts";
import type { FileChange } from "./file-change.ts";
import { createKeptFiles, prune, touch } from "./kept-files.ts";
import { splitLines } from "./lines.ts";
import type { Turn } from "./prompts.ts";

/** What other Neovims have left is removed after so long (milliseconds). */
const MAX_AGE = 24 * 60 * 60 * 1_000;

/** The files that an agent is about to change. */
interface Awaited {
  readonly agent: Agent;
  readonly paths: readonly string[];
}

export interface Saved {
  readonly changes: readonly FileChange[];
  readonly awaited: readonly Awaited[];
  readonly commands: readonly RestoredCommand[];
  /** By session. */
  readonly turns: ReadonlyMap<string, Turn>;
}

export interface ChangeMemory {
  save(change: FileChange): void;
  forget(path: string): void;
  await(awaited: readonly Awaited[]): void;
  /** The turn of a session; nothing: it is over. */
  saveTurn(session: string, turn: Turn | undefined): void;
  readonly commands: CommandMemory;
  /** What the host before this one has saved. */
  load(): Promise<Saved>;
  /** Whether the text of a file may be kept: not of one that is excluded from sharing, nor of one that is unknown. */
  mayKeep(path: string): boolean;
  /** Resolves when everything is stored. May run twice. */
  close(): Promise<void>;
}

const lines = z.string().transform(splitLines);
const place = { id: z.number(), line: z.number(), count: z.number(), conflict: z.boolean() };

/** Its lines are not those of one text: they come from several. */
const SavedPiece = z.object({
  lines: z.array(z.string()),
  hunks: z.array(z.object({ ...place, old: z.array(z.string()) })),
});

/** Texts as they are in memory: a character for each byte. */
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
  cli: z.string(),
  turn: z.number(),
  prompt: z.string(),
  text: z.object({
    lines,
    lastId: z.number(),
    hunks: z.array(z.object({ ...place, old: lines, edited: SavedPiece.optional() })),
  }),
});

const SavedTurn = z.object({
  session: z.string(),
  cli: z.string(),
  turn: z.number(),
  prompt: z.string(),
  files: z.array(z.string()),
  gaps: z.array(z.string()),
});

const SavedAwaited = z.object({
  awaited: z.array(z.object({ agent: SavedAgent, paths: z.array(z.string()) })),
});

/** Keys that are no paths. */
const AWAITED = "awaited";
const turnKey = (session: string) => `turn ${session}`;

/** Time for which ignore files are not read again (ms). */
const VERDICT_MS = 1_000;

/**
 * Milliseconds from the first change of a turn until it is saved, because it changes with each file. A new turn is saved
 * at once: its prompt must not be lost in a crash.
 */
const TURN_DELAY_MS = 200;

export interface ChangeMemoryOptions {
  /** A directory for files that only the user may change. */
  directory: string;
  /** Names this Neovim among all that there ever were. */
  instance: string;
  /** Patterns of files that are not shared. */
  exclude: readonly string[];
  log: Log;
}

export function createChangeMemory({ directory, instance, exclude, log }: ChangeMemoryOptions): ChangeMemory {
  const all = join(directory, "changes");
  const own = join(all, instance);
  const kept = createKeptFiles(own, log);
  const files = createFiles({ judgesMissing: true });
  let look: { judge: ReturnType<Files["look"]>; at: number } | undefined;
  /** The turns that are still to be saved, and when. */
  const turns = new Map<string, Turn>();
  let turnsDue: NodeJS.Timeout | undefined;

  function mayKeep(path: string): boolean {
    const now = performance.now();
    if (!look || now - look.at > VERDICT_MS) look = { judge: files.look(exclude), at: now };
    return look.judge(path) === "shared";
  }

  const commands = createCommandMemory(kept, mayKeep);

  function saveTurns(): void {
    clearTimeout(turnsDue);
    turnsDue = undefined;
    for (const [session, { files, gaps, ...turn }] of turns)
      kept.save(turnKey(session), { session, ...turn, files: [...files].filter(mayKeep), gaps: [...gaps] });
    turns.clear();
  }

  return {
    save(change) {
      if (!mayKeep(change.path)) return kept.remove(change.path);
      const { lines, hunks, lastId } = change.text;
      const joined = hunks.map((hunk) => ({ ...hunk, old: hunk.old.join("") }));
      kept.save(change.path, { ...change, text: { lines: lines.join(""), hunks: joined, lastId } });
    },
    forget: kept.remove,
    await(all) {
      const awaited = all.filter(({ paths }) => paths.length > 0);
      if (awaited.length > 0) kept.save(AWAITED, { awaited });
      else kept.remove(AWAITED);
    },
    saveTurn(session, turn) {
      if (turn) turns.set(session, turn);
      else {
        turns.delete(session);
        kept.remove(turnKey(session));
      }
      if (turn?.files.size === 0) saveTurns();
      else if (turns.size > 0) turnsDue ??= setTimeout(saveTurns, TURN_DELAY_MS).unref();
    },
    commands,
    async load() {
      const loaded = kept.load();
      await touch(own);
      void prune(all, MAX_AGE);
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
    mayKeep,
    close() {
      saveTurns();
      files.close();
      return kept.flush();
    },
  };
}
