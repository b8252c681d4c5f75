/**
 * Stores values in a journal file, so that they survive a restart of the host process. Only the user can read the file.
 * Each change of a value appends one line, because a file for each value would be much slower.
 */
import { appendFileSync, mkdirSync, truncateSync } from "node:fs";
import { appendFile, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { attempt } from "../base/attempt.ts";
import type { Log } from "../base/log.ts";
import { createYielder } from "../base/work-slices.ts";
import { disk } from "../system/disk.ts";
import { codeOf } from "../system/error-code.ts";
import { MAX_SMALL } from "../system/small-file.ts";

const FOLDER = { recursive: true, mode: 0o700 };
const FILE = { mode: 0o600 };

/** File extension of journals. */
export const JOURNAL = ".jsonl";

/**
 * Maximum total length of removed and replaced values (characters). Above this limit, the journal is rewritten as soon
 * as these values fill more than half of the file.
 */
const MAX_OBSOLETE_LENGTH = 1024 * 1024;

/** Idle time after which removed and replaced values are erased. */
const ERASE_DELAY_MS = 500;

/** Delay before values are written again after a failed write, for example on a full disk. */
const RETRY_DELAY_MS = 10_000;

/**
 * Ends each field of a line. The fields are the time, the key, and the value as JSON (empty for a removal). JSON text
 * contains no tabs.
 */
const SEPARATOR = "\t";

export interface Journal {
  /** Stores a value in the background. Replaces the earlier value of the same key. */
  save(key: string, value: unknown): void;
  remove(key: string): void;
  /**
   * Writes all pending values, also those whose last write has failed.
   * @returns false if values could not be written, for example because the disk is full
   */
  flush(): Promise<boolean>;
  /** Flushes. Gives up values that cannot be written, because the next journal of this file may have newer values. */
  close(): Promise<void>;
  /**
   * Writes all pending values synchronously, because the process is about to end. Does nothing on a network drive,
   * which may not answer.
   */
  flushSync(): void;
  /** Resolves when no value is pending, which may be long after a failed write. */
  stored(): Promise<void>;
  /**
   * Reads the values that were stored before this call. Skips damaged values. Later writes wait until the read has
   * ended.
   */
  load(): Promise<unknown[]>;
  /**
   * Removes values older than `maxAge` (ms). Then removes the oldest values until the rest fits into `maxSize`
   * (characters).
   */
  trim(maxAge: number, maxSize: number): void;
}

/** A stored value that is not parsed yet. */
export interface JournalLine {
  readonly key: string;
  /** Time of the write (Unix milliseconds). */
  readonly at: number;
  readonly json: string;
}

/** Opens a journal. The first write creates the file and its directory. */
export function createJournal(file: string, log: Log): Journal {
  /**
   * Values to be written, by key; undefined removes a value. Values are serialized as late as possible, because they
   * may change again before the write.
   */
  const due = new Map<string, unknown>();
  /** Values of `due` that are being written. They are due again if the write fails. */
  const unwritten = new Map<string, unknown>();
  /** Time and size of each stored value, oldest first. */
  const stored = new Map<string, { at: number; size: number }>();
  /**
   * `size`: size of the file; undefined before the first use. `storedSize`: total size of all values that are neither
   * removed nor replaced.
   */
  let size: number | undefined;
  let storedSize = 0;
  /** Set while values are being written. */
  let writing: Promise<void> | undefined;
  /** Set after a failed write, until the next attempt. */
  let retry: NodeJS.Timeout | undefined;
  /** Called when no value is pending. */
  const waiting: (() => void)[] = [];
  let reading: Promise<unknown> = Promise.resolve();
  let idle: NodeJS.Timeout | undefined;
  /**
   * Line break that the next write puts before its lines. Needed at the first write and after a failed write, because a
   * crash of the host process or a full disk may have left an incomplete line.
   */
  let separator = "\n";

  function count(key: string, now: { at: number; size: number } | undefined): void {
    storedSize += (now?.size ?? 0) - (stored.get(key)?.size ?? 0);
    stored.delete(key);
    if (now) stored.set(key, now);
  }

  /** Returns the line that stores or removes a value; an empty string if there is nothing to remove. */
  function entryOf(key: string, value: unknown): string {
    if (value === undefined && !stored.has(key)) return "";
    const text = lineOf(key, value);
    count(key, value === undefined ? undefined : { at: Date.now(), size: text.length });
    return text;
  }

  function recount(lines: readonly JournalLine[]): void {
    stored.clear();
    storedSize = 0;
    for (const line of lines) count(line.key, { at: line.at, size: textOf(line).length });
  }

  function appendSync(lines: string): void {
    try {
      appendFileSync(file, lines, FILE);
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error;
      mkdirSync(dirname(file), FOLDER);
      appendFileSync(file, lines, FILE);
    }
  }

  async function append(text: string): Promise<void> {
    if (text === "") return;
    const lines = separator + text;
    separator = "\n";
    size = (size ?? (await sizeOf(file))) + lines.length;
    if (lines.length > MAX_SMALL || disk.moment().isOnNetwork(file)) {
      await mkdir(dirname(file), FOLDER);
      await appendFile(file, lines, FILE);
    } else appendSync(lines);
    separator = "";
  }

  async function writeDue(): Promise<void> {
    const yieldIfDue = createYielder();
    let text = "";
    for (const key of due.keys()) {
      await yieldIfDue();
      const value = due.get(key); // reads the latest value, because it may have changed during the pause
      due.delete(key); // a later `save` adds the key again, and this loop then reaches it
      unwritten.set(key, value);
      text += entryOf(key, value);
      if (text.length < MAX_SMALL / 2) continue;
      const part = text;
      text = "";
      await append(part);
      unwritten.clear();
    }
    await append(text);
    unwritten.clear();
  }

  /** Makes the values of a failed write due again. */
  async function writeLater(): Promise<void> {
    for (const [key, value] of unwritten) if (!due.has(key)) due.set(key, value);
    unwritten.clear();
    const text = await readFile(file, "utf8").catch(() => undefined);
    if (text !== undefined) recount(await parseLines(text)); // some of the lines may have been written
    size = undefined;
    const again = () => {
      retry = undefined;
      begin();
    };
    retry = setTimeout(again, RETRY_DELAY_MS).unref();
  }

  /**
   * Erases removed and replaced values from the file.
   * @param isIdle true if nothing was written for a while. If false, erases the values only when they take much space
   */
  async function tidy(isIdle: boolean): Promise<void> {
    const waste = (size ?? 0) - storedSize;
    const isDue = isIdle || stored.size === 0 || waste > Math.max(MAX_OBSOLETE_LENGTH, storedSize);
    if (waste === 0 || !isDue) return;
    // Includes lines that were written before a restart. Throws if the file cannot be read, so that it is not emptied.
    const lines = await parseLines(await readFile(file, "utf8"));
    if (lines.length > 0) await writeJournal(file, lines);
    else truncateSync(file);
    recount(lines);
    size = storedSize;
  }

  async function write(afterReading: Promise<unknown>, isIdle: boolean): Promise<void> {
    await setImmediate(); // lets a waiting hook event be handled first
    await afterReading;
    try {
      do {
        await writeDue();
        await tidy(isIdle);
      } while (due.size > 0);
    } catch (error) {
      log.warn("not stored for a later host:", error);
      if (unwritten.size > 0) await writeLater();
    }
    writing = undefined;
    if (due.size > 0) return begin();
    if (!isIdle) idle = setTimeout(() => begin(true), ERASE_DELAY_MS).unref();
    for (const resolve of waiting.splice(0)) resolve();
  }

  function begin(isIdle = false): void {
    if (retry) return;
    clearTimeout(idle);
    writing ??= write(reading, isIdle);
  }

  function save(key: string, value: unknown): void {
    due.delete(key);
    due.set(key, value);
    begin();
  }

  async function flush(): Promise<boolean> {
    clearTimeout(retry);
    retry = undefined;
    if (due.size > 0) begin();
    while (writing) await writing;
    return due.size === 0;
  }

  async function readStored(): Promise<unknown[]> {
    const lines = await readLines(file);
    recount(lines);
    return lines.flatMap(valuesOf);
  }

  return {
    save,
    remove: (key) => save(key, undefined),
    flush,
    async close() {
      await flush();
      clearTimeout(retry);
      due.clear();
    },
    flushSync() {
      if (disk.moment().isOnNetwork(file)) return;
      // Repeats the values that are being written, because the end of the process may interrupt that write.
      const lines = [...new Map([...unwritten, ...due])].map(([key, value]) => lineOf(key, value));
      if (lines.length > 0) attempt(() => appendSync(`\n${lines.join("")}`));
    },
    stored: () =>
      new Promise((resolve) => {
        if (writing || due.size > 0) waiting.push(resolve);
        else resolve();
      }),
    load() {
      const loaded = (writing ?? Promise.resolve()).then(readStored);
      reading = loaded.then(() => {}); // keeps no reference to the values, which may be large
      return loaded;
    },
    trim(maxAge, maxSize) {
      // While writes fail, pending values must not fill the memory. Keeps the newest.
      let room = maxSize;
      for (const [key, value] of retry ? [...due].reverse() : []) {
        room -= JSON.stringify(value)?.length ?? 0;
        if (room < 0) due.delete(key);
      }
      const oldest = Date.now() - maxAge;
      let excess = storedSize - maxSize;
      for (const [key, value] of stored) {
        if (value.at >= oldest && excess <= 0) break;
        excess -= value.size;
        if (!due.has(key)) save(key, undefined);
      }
    },
  };
}

async function sizeOf(file: string): Promise<number> {
  return (await stat(file).catch(() => undefined))?.size ?? 0;
}

/** Reads the last line of each key, in the order of the file. Never rejects. */
export async function readLines(file: string): Promise<JournalLine[]> {
  return parseLines(await readFile(file, "utf8").catch(() => ""));
}

/** Does the same with the content of a journal. */
export async function parseLines(text: string): Promise<JournalLine[]> {
  const lines = new Map<string, JournalLine>();
  const yieldIfDue = createYielder();
  // Avoids regular expressions, because V8 keeps the last matched text in memory.
  for (const line of text.split("\n")) {
    await yieldIfDue();
    const [at, name = "", json, ...end] = line.split(SEPARATOR);
    const key = parse(name);
    // Skips damaged lines, such as an incomplete last line.
    if (typeof key !== "string" || json === undefined || end.length !== 1) continue;
    lines.delete(key);
    if (json !== "") lines.set(key, { key, at: Number(at), json });
  }
  return [...lines.values()];
}

/** Returns a list with the value of a line, or an empty list if the line is damaged. */
export function valuesOf({ json }: JournalLine): unknown[] {
  const value = parse(json);
  return value === undefined ? [] : [value];
}

/** Returns the line that stores a value now, or that removes the value if it is undefined. */
function lineOf(key: string, value: unknown): string {
  return textOf({ key, at: Date.now(), json: value === undefined ? "" : JSON.stringify(value) });
}

function textOf({ key, at, json }: JournalLine): string {
  return `${[at, JSON.stringify(key), json, ""].join(SEPARATOR)}\n`;
}

function parse(text: string): unknown {
  return attempt(() => JSON.parse(text));
}

/** Replaces the lines of a journal. Sets the modification time of the file to the time of the newest line. */
export async function writeJournal(file: string, lines: readonly JournalLine[]): Promise<void> {
  const draft = `${file}.tmp`;
  try {
    await writeFile(draft, lines.map(textOf).join(""), FILE);
    const last = Math.max(0, ...lines.map(({ at }) => at)) / 1_000;
    await utimes(draft, last, last);
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** Returns the paths of a directory's files whose names end with `ending`. Never rejects. */
export async function journalsIn(directory: string, ending = JOURNAL): Promise<string[]> {
  const names = await readdir(directory).catch((): string[] => []);
  return names.filter((name) => name.endsWith(ending)).map((name) => join(directory, name));
}

/**
 * Removes journals older than `maxAge` (ms). Then removes the oldest journals until the rest fits into `maxSize`
 * (bytes).
 * @param files journals of Neovim instances that have ended
 */
export async function pruneJournals(
  files: readonly string[],
  maxAge: number,
  maxSize: number,
): Promise<void> {
  const found = await Promise.all(
    files.map(async (path) => {
      const { mtimeMs = 0, size = 0 } = (await stat(path).catch(() => undefined)) ?? {};
      return { path, mtimeMs, size };
    }),
  );
  let total = 0;
  for (const { path, mtimeMs, size } of found.sort((a, b) => b.mtimeMs - a.mtimeMs)) {
    total += size;
    if (size === 0 || Date.now() - mtimeMs > maxAge || total > maxSize)
      await rm(path, { force: true }).catch(() => {});
  }
}
