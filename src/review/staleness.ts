/**
 * Detects stale reviews: the bytes of the file have changed since the proposal came, or the user has edited the file's
 * buffer. A review is no longer stale when both are as before. If the file contains the proposal, the review is closed.
 */
import { promises, realpathSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as delay, setImmediate } from "node:timers/promises";
import type { Log } from "../base/log.ts";
import type { Bridge } from "../neovim/bridge.ts";
import { disk } from "../system/disk.ts";
import { type DiskText, hashOf, hashOfPlain, readDiskText, readVersion } from "../system/disk-text.ts";
import { createFileWatch } from "../system/file-watch.ts";
import type { FollowedFile, Review } from "./records.ts";

/** Time without changes after which a write counts as complete (milliseconds). */
const STABLE_AFTER_MS = 30;

/** Maximum number of checks of a file that never stops changing. */
const MAX_CHECKS = 20;

export interface Staleness {
  /**
   * Starts to watch for a new proposal, or for a replaced text.
   * @param original the file at that moment
   */
  begin(review: Review, original: Promise<DiskText>, proposed: string): Promise<void>;
  /** Continues a review of an earlier host, which may have missed the last change. */
  resume(review: Review): void;
  /** Handles that the user has edited the buffer of the file, or undone all edits. */
  edited(review: Review, edited: boolean): void;
  end(review: Review): void;
  /** Stops watching. May run twice. */
  close(): void;
}

export interface StalenessOptions {
  bridge: Bridge;
  log: Log;
  /** Called when a review has a new baseline. */
  noted: () => void;
  /** Called when the file contains the proposal. */
  written: (review: Review) => Promise<void>;
}

export function createStaleness({ bridge, log, noted, written }: StalenessOptions): Staleness {
  const followed = new Set<Review>();
  /** Reviews to check, one after the other: an unresponsive network drive then blocks only one of Node's threads. */
  const due = new Set<Review>();
  let looking = false;
  const watch = createFileWatch(() => lookAt([...followed]));

  /** Returns the state of the review's file, or a new one if the review has a new text. */
  function follow(review: Review): FollowedFile {
    const before = review.file;
    const file: FollowedFile = {
      edited: review.baseline?.edited ?? before?.edited ?? false,
      stale: before?.stale ?? false,
      paths: before?.paths ?? [],
    };
    review.file = file;
    followed.add(review);
    return file;
  }

  function watchAll(): void {
    if (followed.size === 0) watch.close();
    else watch.set([...followed].flatMap(({ file }) => file?.paths ?? []));
  }

  function lookAt(some: readonly Review[]): void {
    for (const one of some) due.add(one);
    if (!looking) void lookAtDue();
  }

  async function lookAtDue(): Promise<void> {
    looking = true;
    for (const one of due) {
      due.delete(one); // a change from now on adds it again, and this loop sees that
      await look(one).catch((error: unknown) => log.warn(`review ${one.id}:`, error));
    }
    looking = false;
  }

  async function look(one: Review): Promise<void> {
    const { filePath, file } = one;
    if (!file) return;
    if (file.seen && (await readVersion(filePath)) === file.seen.version) return;
    await untilStill(filePath);
    // Updates the watched paths, because a link or a folder of the path may have changed. Must precede the reading, so
    // that no change is missed.
    await watchPaths(one, file);
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

  async function watchPaths(one: Review, file: FollowedFile): Promise<void> {
    file.paths = await disk.run(one.filePath, () => pathsToWatch(one.filePath));
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
      await watchPaths(review, file);
      lookAt([review]); // the file was not watched until now
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
  for (let checks = 0; checks < MAX_CHECKS; checks++) {
    await delay(STABLE_AFTER_MS);
    const now = await readVersion(path);
    if (now === before) return;
    before = now;
  }
}

/** Returns the paths to watch for a file: the path and the target of a link, or the first missing folder. */
export async function pathsToWatch(path: string): Promise<string[]> {
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
