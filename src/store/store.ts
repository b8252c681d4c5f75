/**
 * Stores what survives a restart of the host process or of Neovim: small lists of values, and long texts that belong to
 * the values. Each Neovim has its own folder, which only the user can read. The folder contains one file with all lists
 * (lists-file.ts), which is replaced at most once a second, and one file for each text (text-files.ts).
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import type * as z from "zod";
import { attempt } from "../base/attempt.ts";
import type { Log } from "../base/log.ts";
import { createYielder } from "../base/work-slices.ts";
import { machineName } from "../system/container.ts";
import { pruneFolders, type TakenFolder, takeFolders } from "./folders.ts";
import { readLists, sizeOf, type WrittenEntry, writeLists } from "./lists-file.ts";
import { createTextFiles } from "./text-files.ts";

/** Minimum time between two writes. */
const WRITE_INTERVAL_MS = 1_000;

/** Delay before the next attempt after a failed write, for example on a full disk. */
const RETRY_DELAY_MS = 10_000;

/** Texts by name. Each character stands for one byte (latin1). */
export type Texts = Readonly<Record<string, string>>;

export interface StoredEntry<T> {
  readonly key: string;
  /** Time at which the value was set (Unix milliseconds). */
  readonly at: number;
  readonly value: T;
}

/** A list of values, each with a unique key. */
export interface StoredList<T> {
  /** Sets a value, and replaces all its texts. The value must not change afterwards. */
  set(key: string, value: T, texts?: Texts): void;
  delete(key: string): void;
  /** Returns the entries that are not too old, in the order in which their keys were added. */
  entries(): StoredEntry<T>[];
  /** Returns the texts of an entry; undefined if the entry is unknown, or if a text is missing or damaged. */
  texts(key: string): Texts | undefined;
}

interface ListOptions<T> {
  /** Unique name of the list. */
  name: string;
  /** Schema of the values, without transformations. Stored values that do not match are dropped. */
  schema: z.ZodType<T>;
  /** Maximum age of an entry (ms). Older entries are removed at the next write, and are not restored. */
  maxAge: number;
  /** Maximum total size of all texts (bytes). Beyond this limit, the oldest entries are removed at the next write. */
  maxSize: number;
}

export interface Store {
  /** Opens a list with the values that an earlier host of this Neovim has stored. Call once for each name. */
  list<T>(options: ListOptions<T>): StoredList<T>;
  /**
   * Adds the entries of ended Neovims that had one of these directories open, except entries whose key is already
   * known. Removes folders of ended Neovims that are too old or too large. Call when all lists are open. Never rejects.
   */
  takeOver(directories: readonly string[]): Promise<void>;
  /** Records which directories are open in this Neovim. A later Neovim with one of them takes the folder over. */
  opened(directories: readonly string[]): void;
  /** Writes everything synchronously, because the process is about to end. */
  storeNow(): void;
  /** Writes everything, and gives up what cannot be written. Idempotent. */
  close(): Promise<void>;
}

interface StoreOptions {
  /** Directory of the plugin's own files. Other users cannot write there. */
  directory: string;
  /** Id of this Neovim: its process id and its start time (seconds), such as "123-1700000000". */
  instance: string;
  log: Log;
}

/**
 * An entry in memory. `unwritten`: texts that are not written yet. They replace `texts`. `from`: folder of the ended
 * Neovim in which the texts still are.
 */
interface Entry extends StoredEntry<unknown>, Pick<WrittenEntry, "texts"> {
  unwritten?: Texts | undefined;
  from?: string | undefined;
}

/** A list in memory, by key. `options` is undefined until the list is opened. */
interface List {
  readonly entries: Map<string, Entry>;
  options?: ListOptions<unknown>;
}

export function createStore({ directory, instance, log }: StoreOptions): Store {
  const machine = join(directory, "store", machineName());
  const folder = join(machine, instance);
  const files = createTextFiles(folder);
  const lists = new Map<string, List>();
  let directories: readonly string[] = [];
  /** Entries whose texts are not in the own folder yet. */
  const unwritten = new Set<Entry>();
  /** Folders of ended Neovims whose entries are in `lists`, but not written yet. */
  const taken = new Set<string>();
  let isDirty = false;
  let hasFailed = false;
  let isClosed = false;
  /** The write in slices. */
  let running: Iterable<void> = [];
  let timer: NodeJS.Timeout | undefined;
  let lastWrite = 0;
  let writing: Promise<unknown> = Promise.resolve();

  function listOf(name: string): List {
    const list = lists.get(name) ?? { entries: new Map() };
    lists.set(name, list);
    return list;
  }

  /** Adds a stored entry. @returns false if its key is already known, or if the entry is too old or does not match */
  function add({ entries, options }: List, entry: Entry): boolean {
    if (entries.has(entry.key)) return false;
    const isTooOld = options && entry.at < Date.now() - options.maxAge;
    if (isTooOld || options?.schema.safeParse(entry.value).success === false) return false;
    entries.set(entry.key, entry);
    return true;
  }

  /** Removes entries that are too old. Then removes the oldest entries until the texts of the rest fit into the limit. */
  function trim({ entries, options }: List): void {
    if (!options) return;
    const oldest = Date.now() - options.maxAge;
    let size = 0;
    for (const entry of [...entries.values()].sort((a, b) => b.at - a.at)) {
      size += sizeOf(entry) + lengthOf(entry.unwritten);
      if (entry.at >= oldest && size <= options.maxSize) continue;
      entries.delete(entry.key);
      unwritten.delete(entry);
    }
  }

  function storeTexts(entry: Entry): void {
    const { from, unwritten: texts } = entry;
    if (from !== undefined) for (const { hash } of Object.values(entry.texts)) files.adopt(hash, from);
    if (texts)
      entry.texts = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, files.put(text)]));
    entry.from = entry.unwritten = undefined;
  }

  /** Writes everything. Yields often, so that the caller can pause. @throws the errors of node:fs */
  function* write(): Generator<void, void> {
    for (const list of lists.values()) trim(list);
    for (const entry of unwritten) {
      storeTexts(entry);
      unwritten.delete(entry);
      yield;
    }
    if (!isDirty) return;
    isDirty = false; // entries may change while the lists are written
    try {
      yield* writeEntries();
    } catch (error) {
      isDirty = true;
      throw error;
    }
  }

  function* writeEntries(): Generator<void, void> {
    const filled = [...lists].flatMap(([name, { entries }]): [string, Entry[]][] =>
      entries.size > 0 ? [[name, [...entries.values()]]] : [],
    );
    if (filled.length > 0)
      yield* writeLists(folder, { directories: [...directories], lists: Object.fromEntries(filled) });
    const texts = filled.flatMap(([, entries]) => entries.flatMap((entry) => Object.values(entry.texts)));
    yield* files.removeExcept(new Set(texts.map(({ hash }) => hash)));
    if (filled.length === 0) rmSync(folder, { recursive: true, force: true });
    for (const other of taken) {
      yield* createTextFiles(other).removeExcept(new Set());
      rmSync(other, { recursive: true, force: true });
      taken.delete(other);
    }
  }

  /** Writes everything in the background. Never rejects. */
  async function writeInSlices(): Promise<void> {
    const yieldIfDue = createYielder();
    running = write();
    try {
      for (const _ of running) await yieldIfDue();
      hasFailed = false;
    } catch (error) {
      if (!hasFailed) log.warn("not stored for a later start:", error);
      hasFailed = true;
    }
    lastWrite = Date.now();
  }

  function changed(): void {
    isDirty = true;
    if (timer || isClosed) return;
    const wait = hasFailed ? RETRY_DELAY_MS : Math.max(0, lastWrite + WRITE_INTERVAL_MS - Date.now());
    const begin = async () => {
      writing = writeInSlices();
      await writing;
      timer = undefined;
      if (isDirty) changed();
    };
    timer = setTimeout(begin, wait).unref();
  }

  for (const [name, entries] of Object.entries(readLists(folder)?.lists ?? {}))
    for (const entry of entries) add(listOf(name), entry);

  return {
    list<T>(options: ListOptions<T>): StoredList<T> {
      const list = listOf(options.name);
      const { entries } = list;
      const earlier = [...entries.values()];
      entries.clear();
      list.options = options;
      for (const entry of earlier) add(list, entry);
      return {
        set(key, value, texts) {
          const replaced = entries.get(key);
          if (replaced) unwritten.delete(replaced);
          const entry: Entry = { key, at: Date.now(), value, texts: {}, unwritten: texts };
          if (texts) unwritten.add(entry);
          entries.set(key, entry);
          changed();
        },
        delete(key) {
          const entry = entries.get(key);
          if (!entry) return;
          unwritten.delete(entry);
          entries.delete(key);
          changed();
        },
        entries() {
          const oldest = Date.now() - options.maxAge;
          const young = [...entries.values()].filter(({ at }) => at >= oldest);
          return young.map(({ key, at, value }) => ({ key, at, value: value as T }));
        },
        texts(key) {
          const entry = entries.get(key);
          if (!entry || entry.unwritten) return entry?.unwritten;
          const texts: Record<string, string> = {};
          for (const [name, { hash }] of Object.entries(entry.texts)) {
            const text = files.read(hash, entry.from);
            if (text === undefined) return undefined;
            texts[name] = text;
          }
          return texts;
        },
      };
    },
    async takeOver(open) {
      directories = open;
      try {
        const found = await takeFolders(machine, instance, open);
        for (const { name, entry } of newestOf(found)) if (add(listOf(name), entry)) unwritten.add(entry);
        for (const { path } of found) taken.add(path);
        if (found.length > 0) changed();
        await pruneFolders(machine, instance);
      } catch (error) {
        log.warn("what an earlier Neovim has stored cannot be read:", error);
      }
    },
    opened(open) {
      directories = open;
      changed();
    },
    storeNow() {
      // A write in slices is completed first.
      for (const steps of [running, write()])
        attempt(() => {
          for (const _ of steps);
        });
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await writing;
      await writeInSlices();
    },
  };
}

/**
 * Returns the newest entry of each key, in the order in which the keys were added. In an older entry, the user may have
 * kept or undone something since.
 */
function newestOf(folders: readonly TakenFolder[]): { name: string; entry: Entry }[] {
  const newest = new Map<string, { name: string; entry: Entry }>();
  const all = folders.flatMap(({ path: from, lists }) =>
    Object.entries(lists).flatMap(([name, entries]) =>
      entries.map((entry) => ({ name, entry: { ...entry, from } })),
    ),
  );
  for (const one of all) {
    const id = JSON.stringify([one.name, one.entry.key]);
    if (one.entry.at > (newest.get(id)?.entry.at ?? 0)) newest.set(id, one);
  }
  return [...newest.values()];
}

function lengthOf(texts: Texts = {}): number {
  return Object.values(texts).reduce((sum, text) => sum + text.length, 0);
}
