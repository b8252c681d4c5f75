/** What is to outlive the host, as files that only the user can read: JSON, one file for each key. */
import { createHash } from "node:crypto";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { Log } from "../base/log.ts";
import { createPauses } from "../base/pauses.ts";
import { disk } from "../system/disk.ts";
import { MAX_SMALL } from "../system/small-file.ts";

/** Only the user's. */
const FOLDER = { recursive: true, mode: 0o700 };
const FILE = { mode: 0o600 };

export interface KeptFiles {
  /** Writes it in the background; of several for one key the last counts. */
  save(key: string, value: unknown): void;
  remove(key: string): void;
  /** Resolves when everything that is due has been written. */
  flush(): Promise<void>;
  /** Reads what was saved before this call, as far as it can be read, in no order. Later writes wait for that. */
  load(): Promise<unknown[]>;
}

/** @param directory is made when it is needed */
export function createKeptFiles(directory: string, log: Log): KeptFiles {
  /** Serialized as late as that, so that what changes again at once costs nothing. Nothing: to be removed. */
  const due = new Map<string, unknown>();
  /** The directory has been made. */
  let isMade = false;
  /** Until nothing is due. */
  let writing: Promise<void> | undefined;
  let reading: Promise<unknown> = Promise.resolve();

  const fileOf = (key: string) =>
    join(directory, `${createHash("sha256").update(key).digest("hex").slice(0, 32)}.json`);

  async function put(key: string, value: unknown): Promise<void> {
    const path = fileOf(key);
    if (value === undefined) return rm(path, { force: true });
    const draft = `${path}.tmp`;
    const text = JSON.stringify(value);
    if (text.length <= MAX_SMALL && !disk.moment().isOnNetwork(directory)) {
      if (!isMade) mkdirSync(directory, FOLDER);
      writeFileSync(draft, text, FILE);
      renameSync(draft, path);
    } else {
      await mkdir(directory, FOLDER);
      await writeFile(draft, text, FILE);
      await rename(draft, path);
    }
    isMade = true;
  }

  async function write(afterReading: Promise<unknown>): Promise<void> {
    await setImmediate(); // an agent may wait for whoever saves
    await afterReading;
    const pause = createPauses();
    for (const key of due.keys()) {
      await pause();
      const value = due.get(key); // a newer one may have come during the pause
      due.delete(key); // a value that is saved from now on is due again, and this loop sees it
      try {
        await put(key, value);
      } catch (error) {
        isMade = false;
        log.warn("not kept for a later host:", error);
      }
    }
    writing = undefined;
  }

  function save(key: string, value: unknown): void {
    due.delete(key);
    due.set(key, value);
    writing ??= write(reading);
  }

  /** Never rejects. */
  async function readAll(): Promise<unknown[]> {
    const names = await readdir(directory).catch((): string[] => []);
    const read = async (name: string): Promise<unknown[]> => {
      try {
        return [JSON.parse(await readFile(join(directory, name), "utf8"))];
      } catch {
        return []; // half written, or gone meanwhile
      }
    };
    return (await Promise.all(names.filter((name) => name.endsWith(".json")).map(read))).flat();
  }

  return {
    save,
    remove: (key) => save(key, undefined),
    flush: async () => writing,
    load() {
      const loaded = (writing ?? Promise.resolve()).then(readAll);
      reading = loaded.then(() => {}); // without the values, which may be large
      return loaded;
    },
  };
}

/**
 * Removes what is older, and beyond a size the oldest.
 * @param maxAge milliseconds
 * @param maxSize bytes; of a directory what is in it does not count
 */
export async function prune(
  directory: string,
  maxAge: number,
  maxSize = Number.POSITIVE_INFINITY,
): Promise<void> {
  const names = await readdir(directory).catch((): string[] => []);
  const found = await Promise.all(
    names.map(async (name) => {
      const path = join(directory, name);
      const { mtimeMs = 0, size = 0 } = (await stat(path).catch(() => undefined)) ?? {};
      return { path, mtimeMs, size };
    }),
  );
  let size = 0;
  for (const one of found.sort((a, b) => b.mtimeMs - a.mtimeMs)) {
    size += one.size;
    if (Date.now() - one.mtimeMs > maxAge || size > maxSize)
      await rm(one.path, { recursive: true, force: true }).catch(() => {});
  }
}

/** Has {@link prune} take a directory for new. */
export function touch(directory: string): Promise<void> {
  return utimes(directory, new Date(), new Date()).catch(() => {});
}
