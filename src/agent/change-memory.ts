/** The changes of this Neovim, for the next host should this one crash: nothing of files that are not shared. */
import { join } from "node:path";
import * as z from "zod";
import { createFiles } from "../ide/files.ts";
import type { Log } from "../log.ts";
import type { FileChange } from "./file-change.ts";
import { createKeptFiles, prune, touch } from "./kept-files.ts";
import { splitLines } from "./lines.ts";

/** What other Neovims have left is removed after so long (milliseconds). */
const MAX_AGE = 24 * 60 * 60 * 1_000;

/** A file that is known, and the sessions of agents that are about to change it. */
export interface Remembered {
  change: FileChange;
  awaitedBy: readonly string[];
}

export interface ChangeMemory {
  save(remembered: Remembered): void;
  forget(path: string): void;
  /** What the host before this one has saved. */
  load(): Promise<Remembered[]>;
  /** Whether the text of a file may be kept: not of one that is excluded from sharing, nor of one that is unknown. */
  mayKeep(path: string): boolean;
  /** May run twice. */
  close(): void;
}

const lines = z.string().transform(splitLines);

/** Texts as they are in memory: a character for each byte. */
const Saved = z.object({
  change: z.object({
    path: z.string(),
    existed: z.boolean(),
    exists: z.boolean(),
    mode: z.number().optional(),
    version: z.string(),
    fixed: z.string().optional(),
    touched: z.boolean(),
    cli: z.string(),
    prompt: z.string(),
    text: z.object({
      lines,
      lastId: z.number(),
      hunks: z.array(
        z.object({ id: z.number(), line: z.number(), count: z.number(), old: lines, conflict: z.boolean() }),
      ),
    }),
  }),
  awaitedBy: z.array(z.string()),
});

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
  const files = createFiles();
  /** Files that are gone are what they were. */
  const verdicts = new Map<string, boolean>();

  function mayKeep(path: string): boolean {
    const verdict = files.look(exclude)(path);
    if (verdict !== "absent") verdicts.set(path, verdict === "shared");
    return verdicts.get(path) ?? false;
  }

  return {
    save({ change, awaitedBy }) {
      if (!mayKeep(change.path)) return kept.remove(change.path);
      const { lines, hunks, lastId } = change.text;
      const joined = hunks.map((hunk) => ({ ...hunk, old: hunk.old.join("") }));
      const text = { lines: lines.join(""), hunks: joined, lastId };
      kept.save(change.path, { change: { ...change, text }, awaitedBy });
    },
    forget: kept.remove,
    async load() {
      await touch(own);
      void prune(all, MAX_AGE);
      return (await kept.load()).flatMap((value) => Saved.safeParse(value).data ?? []);
    },
    mayKeep,
    close: files.close,
  };
}
