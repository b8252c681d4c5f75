/**
 * Adopts the unreviewed changes of Neovim instances that have ended. Each Neovim has its own journal. A new Neovim
 * first renames the journal of an ended Neovim, so that no other Neovim adopts the same changes. It then takes the
 * changes in its own directories, and puts the other changes back.
 */
import { randomUUID } from "node:crypto";
import { readFile, rename, rm } from "node:fs/promises";
import { basename, dirname, isAbsolute, join } from "node:path";
import { platform } from "../system/platform.ts";
import { isAlive } from "../system/processes.ts";
import {
  JOURNAL,
  type Journal,
  type JournalLine,
  journalsIn,
  parseLines,
  pruneJournals,
  valuesOf,
  writeJournal,
} from "./journal.ts";

/** Maximum age of stored changes. */
const MAX_AGE_MS = 7 * 24 * 60 * 60 * 1_000;

/** Maximum total size of the journals of ended Neovim instances (bytes). The oldest journals are removed first. */
const MAX_SIZE_BYTES = 64 * 1024 * 1024;

/** Maximum difference between the start time in a journal's name and the start time in the process table. */
const CLOCK_TOLERANCE_MS = 5_000;

interface LeftChanges {
  /**
   * Moves the stored changes of the wanted files into the journal of this Neovim.
   * @returns the stored values, oldest first
   */
  take(isWanted: (path: string) => boolean): Promise<unknown[]>;
  /** Removes journals that are too old. Then removes the oldest journals until the rest fits into the size limit. */
  prune(): Promise<void>;
}

interface Taken {
  readonly file: string;
  /** New path of the journal. Only this Neovim uses this path. */
  readonly target: string;
  readonly wanted: readonly JournalLine[];
  readonly others: readonly JournalLine[];
}

/**
 * Gives access to the journals of ended Neovim instances.
 * @param own the journal of this Neovim: `<machine>/<instance>.jsonl`. The instance consists of Neovim's process id and
 * start time. Journals of other machines are not adopted, because their Neovim may still run
 */
export function createLeftChanges(own: string, journal: Journal): LeftChanges {
  const machine = dirname(own);

  /** Lists the journals of Neovim instances that have ended. */
  async function left(): Promise<string[]> {
    const found: string[] = [];
    for (const file of await journalsIn(machine))
      if (instanceOf(file) !== instanceOf(own) && !(await isRunning(file))) found.push(file);
    return found;
  }

  async function takeFrom(file: string, isWanted: (path: string) => boolean): Promise<Taken[]> {
    const target = join(machine, `${instanceOf(own)}+${randomUUID().slice(0, 8)}${JOURNAL}`);
    let lines: JournalLine[];
    try {
      await rename(file, target);
      lines = await parseLines(await readFile(target, "utf8"));
    } catch {
      return []; // another Neovim has taken the journal, or the journal belongs to root
    }
    const oldest = Date.now() - MAX_AGE_MS;
    // Takes only values whose key is an absolute path, because these are changes of files. Other values are useless
    // after their Neovim has ended.
    const changes = lines.filter(({ key, at }) => isAbsolute(key) && at > oldest);
    const wanted = changes.filter(({ key }) => isWanted(key));
    return [{ file, target, wanted, others: changes.filter((one) => !wanted.includes(one)) }];
  }

  async function putBack({ file, target, others }: Taken): Promise<void> {
    if (others.length > 0) await writeJournal(file, others);
    await rm(target, { force: true });
  }

  return {
    async take(isWanted) {
      const taken: Taken[] = [];
      for (const file of await left()) taken.push(...(await takeFrom(file, isWanted)));
      const newest = new Map<string, JournalLine>();
      // Sorts by time, so that the newest value of each key wins. An older value may contain changes that the user has
      // already kept or undone.
      for (const one of taken.flatMap(({ wanted }) => wanted).sort((a, b) => a.at - b.at))
        newest.set(one.key, one);
      const values: unknown[] = [];
      let size = 0;
      for (const one of [...newest.values()].reverse()) {
        size += one.json.length;
        if (size > MAX_SIZE_BYTES) break;
        const [value] = valuesOf(one);
        journal.save(one.key, value);
        values.push(value);
      }
      const putAllBack = () => Promise.allSettled(taken.map(putBack));
      // Until all values are written, which a full disk may delay, a later Neovim finds them in the taken journal.
      if (await journal.flush()) await putAllBack();
      else void journal.stored().then(putAllBack);
      return values.reverse();
    },
    async prune() {
      await pruneJournals(await left(), MAX_AGE_MS, MAX_SIZE_BYTES);
      const machines = (await journalsIn(dirname(machine), "")).filter((one) => one !== machine);
      for (const other of machines) await pruneJournals(await journalsIn(other), MAX_AGE_MS, MAX_SIZE_BYTES);
    },
  };
}

function instanceOf(file: string): string {
  return basename(file, JOURNAL).replace(/\+.*/, "");
}

/**
 * Returns whether the Neovim of a journal still runs. A process with the same id that started later is another process.
 */
async function isRunning(file: string): Promise<boolean> {
  const [, pid, seconds] = /^(\d+)-(\d+)$/.exec(instanceOf(file)) ?? [];
  if (!isAlive(Number(pid ?? 0))) return false;
  const start = await platform.startOf(Number(pid));
  return start === undefined || start <= Number(seconds) * 1_000 + CLOCK_TOLERANCE_MS;
}
