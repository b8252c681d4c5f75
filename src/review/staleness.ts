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
import type { FollowedFile, Review } from "./review.ts";

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
  resume(review: Review): void;
  /** The user's own buffer of the file holds another text than when the review opened, or the same again. */
  edited(review: Review, edited: boolean): void;
  end(review: Review): void;
  /** Stops looking at the disk. May run twice. */
  close(): void;
}

export interface StalenessOptions {
  bridge: Bridge;
  log: Log;
  /** Called when the baseline of a review has changed. */
  noted: () => void;
  /** The file holds the proposal. */
  written: (review: Review) => Promise<void>;
}

export function createStaleness({ bridge, log, noted, written }: StalenessOptions): Staleness {
  const followed = new Set<Review>();
  /** Looked at one after the other: a disk that does not answer takes no more than one of Node's threads. */
  const due = new Set<Review>();
  let looking = false;
  const watch = createFileWatch(() => lookAt([...followed]));

  /** Starts anew for a text that replaces another one. */
  function follow(review: Review): FollowedFile {
    const before = review.file;
    const file: FollowedFile = {
      edited: review.baseline?.edited ?? before?.edited ?? false,
      stale: before?.stale ?? false,
      places: before?.places ?? [],
    };
    review.file = file;
    followed.add(review);
    return file;
  }

  function watchAll(): void {
    if (followed.size === 0) watch.close();
    else watch.set([...followed].flatMap(({ file }) => file?.places ?? []));
  }

  function lookAt(some: readonly Review[]): void {
    for (const one of some) due.add(one);
    if (!looking) void lookAtDue();
  }

  async function lookAtDue(): Promise<void> {
    looking = true;
    for (const one of due) {
      due.delete(one); // what changes from now on makes it due again, which this loop sees
      await look(one).catch((error: unknown) => log.warn(`review ${one.id}:`, error));
    }
    looking = false;
  }

  async function look(one: Review): Promise<void> {
    const { filePath, file } = one;
    if (!file) return;
    if (file.seen && (await readVersion(filePath)) === file.seen.version) return;
    await untilStill(filePath);
    // A link may lead elsewhere, and a folder be there, by now; watched before it is read, so that nothing is missed.
    await place(one, file);
    const found = await readDiskText(filePath);
    const isCurrent = () => followed.has(one) && one.file === file;
    if (!isCurrent() || !one.baseline) return;
    const isOther = found.hash !== file.seen?.hash;
    if (isOther && found.hash !== one.baseline.disk && (await holdsProposal(one, found))) return written(one);
    if (!isCurrent()) return;
    file.seen = { hash: found.hash, version: found.version };
    tell(one, isOther);
  }

  async function holdsProposal({ id, baseline }: Review, { bytes, hash }: DiskText): Promise<boolean> {
    if (!bytes) return false;
    if (hashOfPlain(bytes) === baseline?.proposed) return true;
    const { content } = await bridge.call("diff_read", { id });
    return hashOf(content) === hash;
  }

  function tell({ id, file, baseline }: Review, isOther: boolean): void {
    if (!file || !baseline) return;
    const stale = file.edited || file.seen?.hash !== baseline.disk;
    if (!isOther && stale === file.stale) return;
    file.stale = stale;
    bridge.tell("diff_update", { id, stale });
  }

  async function place(one: Review, file: FollowedFile): Promise<void> {
    file.places = await disk.run(one.filePath, () => placesOf(one.filePath));
    if (followed.has(one)) watchAll();
  }

  return {
    async begin(review, original, proposed) {
      const file = follow(review);
      const [{ hash, version }] = await Promise.all([original, setImmediate()]); // the client is answered first
      if (!followed.has(review) || review.file !== file) return;
      file.seen = { hash, version };
      review.baseline = { disk: hash, proposed: hashOfPlain(proposed), edited: file.edited };
      noted();
      tell(review, false);
      await place(review, file);
      lookAt([review]); // it was not watched until now
    },
    resume(review) {
      if (!review.baseline) return;
      follow(review);
      lookAt([review]);
    },
    edited(review, edited) {
      const { file, baseline } = review;
      if (!file) return;
      file.edited = edited;
      if (!baseline) return;
      review.baseline = { ...baseline, edited };
      noted();
      tell(review, false);
    },
    end(review) {
      if (followed.delete(review)) watchAll();
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
