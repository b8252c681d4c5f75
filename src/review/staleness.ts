/**
 * Whether a review is stale: the disk holds other bytes than when the proposal came, or the user has edited the file's
 * buffer. It is no longer when both are as they were. A file that holds the proposal by now needs no review.
 */
import { promises, realpathSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as delay, setImmediate } from "node:timers/promises";
import type { Log } from "../base/log.ts";
import type { Bridge } from "../neovim/bridge.ts";
import { disk } from "../system/disk.ts";
import { type DiskText, hashOf, hashOfPlain, readDiskText, readVersion } from "../system/disk-text.ts";
import { createFileWatch } from "../system/watch.ts";
import type { Baseline, Review } from "./records.ts";

/** A write is first seen half done: a file counts when it has been still so long (milliseconds). */
const STILL = 30;

/** After so many looks it counts although it is never still. */
const MAX_LOOKS = 20;

export interface Staleness {
  /**
   * A proposal has come, or another text in its place.
   * @param original what was on disk then
   */
  begin(review: Review, original: Promise<DiskText>, proposed: string): Promise<void>;
  /** Goes on with a review of a host before this one, which may not have seen the last change. */
  resume(review: Review, baseline: Baseline): void;
  /** The user's own buffer of the file holds another text than when the review opened, or the same again. */
  edited(review: Review, edited: boolean): void;
  end(review: Review): void;
  /** Stops looking at the disk. May run twice. */
  close(): void;
}

export interface StalenessOptions {
  bridge: Bridge;
  log: Log;
  /** Told of what a later host needs in order to go on, whenever it is something else. */
  noted: (review: Review, baseline: Baseline) => void;
  /** The file holds the proposal. */
  written: (review: Review) => Promise<void>;
}

interface Followed {
  readonly review: Review;
  /** `undefined` until it is known what was on disk. */
  baseline: Baseline | undefined;
  edited: boolean;
  /** What was on disk at the last look. */
  seen: Pick<DiskText, "hash" | "version"> | undefined;
  /** What Lua was told last. */
  stale: boolean;
  /** Paths whose folders are watched. */
  places: string[];
}

export function createStaleness({ bridge, log, noted, written }: StalenessOptions): Staleness {
  const followed = new Map<number, Followed>();
  /** To be looked at, one after the other: a disk that does not answer takes no more than one of Node's threads. */
  const due = new Set<Followed>();
  let looking = false;
  const watch = createFileWatch(() => lookAt([...followed.values()]));

  const isFollowed = (one: Followed) => followed.get(one.review.id) === one;

  function follow(review: Review, baseline?: Baseline): Followed {
    const before = followed.get(review.id);
    const one: Followed = {
      review,
      baseline,
      edited: baseline?.edited ?? before?.edited ?? false,
      seen: undefined,
      stale: before?.stale ?? false,
      places: before?.places ?? [],
    };
    followed.set(review.id, one);
    return one;
  }

  function watchAll(): void {
    if (followed.size === 0) watch.close();
    else watch.set([...followed.values()].flatMap(({ places }) => places));
  }

  function lookAt(some: readonly Followed[]): void {
    for (const one of some) due.add(one);
    if (!looking) void lookAtDue();
  }

  async function lookAtDue(): Promise<void> {
    looking = true;
    for (const one of due) {
      due.delete(one); // what changes from now on makes it due again, which this loop sees
      await look(one).catch((error: unknown) => log.warn(`review ${one.review.id}:`, error));
    }
    looking = false;
  }

  async function look(one: Followed): Promise<void> {
    const { filePath } = one.review;
    if (one.seen && (await readVersion(filePath)) === one.seen.version) return;
    await untilStill(filePath);
    // A link may lead elsewhere, and a folder be there, by now; watched before it is read, so that nothing is missed.
    await place(one);
    const found = await readDiskText(filePath);
    if (!isFollowed(one) || !one.baseline) return;
    const isOther = found.hash !== one.seen?.hash;
    if (isOther && found.hash !== one.baseline.disk && (await holdsProposal(one, one.baseline, found)))
      return written(one.review);
    if (!isFollowed(one)) return;
    one.seen = { hash: found.hash, version: found.version };
    tell(one, isOther);
  }

  async function holdsProposal(
    { review }: Followed,
    { proposed }: Baseline,
    { bytes, hash }: DiskText,
  ): Promise<boolean> {
    if (!bytes) return false;
    if (hashOfPlain(bytes) === proposed) return true;
    const { content } = await bridge.call("diff_read", { id: review.id });
    return hashOf(content) === hash;
  }

  function tell(one: Followed, isOther: boolean): void {
    if (!one.baseline) return;
    const stale = one.edited || one.seen?.hash !== one.baseline.disk;
    if (!isOther && stale === one.stale) return;
    one.stale = stale;
    bridge.tell("diff_update", { id: one.review.id, stale });
  }

  async function place(one: Followed): Promise<void> {
    const { filePath } = one.review;
    one.places = await disk.run(filePath, () => placesOf(filePath));
    if (isFollowed(one)) watchAll();
  }

  return {
    async begin(review, original, proposed) {
      const one = follow(review);
      const [{ hash, version }] = await Promise.all([original, setImmediate()]); // the client is answered first
      if (!isFollowed(one)) return;
      one.seen = { hash, version };
      one.baseline = { disk: hash, proposed: hashOfPlain(proposed), edited: one.edited };
      noted(review, one.baseline);
      tell(one, false);
      await place(one);
      lookAt([one]); // it was not watched until now
    },
    resume(review, baseline) {
      lookAt([follow(review, baseline)]);
    },
    edited(review, edited) {
      const one = followed.get(review.id);
      if (!one) return;
      one.edited = edited;
      if (!one.baseline) return;
      one.baseline = { ...one.baseline, edited };
      noted(review, one.baseline);
      tell(one, false);
    },
    end(review) {
      if (followed.delete(review.id)) watchAll();
    },
    close() {
      followed.clear();
      watch.close();
    },
  };
}

export async function untilStill(path: string): Promise<void> {
  let before = await readVersion(path);
  for (let looks = 0; looks < MAX_LOOKS; looks++) {
    await delay(STILL);
    const now = await readVersion(path);
    if (now === before) return;
    before = now;
  }
}

/** Where a change of a file shows: at its name, where a link leads to, or at the first folder that is missing. */
export async function placesOf(path: string): Promise<string[]> {
  const isOnNetwork = disk.moment().isOnNetwork(path);
  const realpath = isOnNetwork ? promises.realpath : realpathSync.native;
  const stat = isOnNetwork ? promises.stat : statSync;
  async function exists(folder: string): Promise<boolean> {
    try {
      await stat(folder);
      return true;
    } catch {
      return false;
    }
  }

  try {
    return [path, await realpath(path)];
  } catch {
    let missing = path;
    while (dirname(missing) !== missing && !(await exists(dirname(missing)))) missing = dirname(missing);
    return [missing];
  }
}
