/**
 * Watches all files that have had a review, and detects stale reviews. A review becomes stale when its file changes
 * after the text was proposed: the bytes on disk have changed, or the user has edited the file's buffer. A review is
 * closed when the file on disk contains the proposed text.
 */
import { dirname } from "node:path";
import { setTimeout as delay, setImmediate } from "node:timers/promises";
import type { Log } from "../base/log.ts";
import type { Bridge } from "../neovim/bridge.ts";
import { disk } from "../system/disk.ts";
import { type DiskText, hashOf, hashOfPlain, readDiskText, readVersion } from "../system/disk-text.ts";
import { createFileWatch } from "../system/file-watch.ts";
import type { FollowedFile, Review } from "./records.ts";

/** Time without changes after which a write counts as complete. */
const STABLE_AFTER_MS = 30;

/** Maximum number of checks of a file that keeps changing. */
const MAX_CHECKS = 20;

interface Staleness {
  /**
   * Watches a file until `close` is called. When the file changes, tells Neovim to reload it. A CLI writes the file
   * after the user's decision, and may write it again later without a review.
   */
  watch(path: string): void;
  /**
   * Follows the file of a review that shows a new text.
   * @param original the file at the time when the text was shown
   */
  begin(review: Review, original: Promise<DiskText>, proposed: string): Promise<void>;
  /**
   * Follows the file again after a restart of the host process. Checks the file at once, because it may have changed
   * meanwhile.
   */
  resume(review: Review): void;
  /** Called when the user has edited the buffer of the file, or has undone all edits. */
  edited(review: Review, edited: boolean): void;
  end(review: Review): void;
  /** Stops watching all files. Idempotent. */
  close(): void;
}

interface WatchedFile {
  /** Paths whose folders are watched. */
  paths: string[];
  /** Version of the file that was last reported to Neovim. */
  version: string;
  isChecking: boolean;
}

interface StalenessOptions {
  bridge: Bridge;
  log: Log;
  /**
   * Called when stored data of a review has changed: the state of the file, or the note that the user has edited the
   * buffer.
   */
  noted: () => void;
  /** Called when the file on disk contains the proposed text. */
  written: (review: Review) => Promise<void>;
}

export function createStaleness({ bridge, log, noted, written }: StalenessOptions): Staleness {
  /** Files that have had a review, by path. */
  const watched = new Map<string, WatchedFile>();
  /** Open reviews whose files are compared with the state at the time of the proposal. */
  const followed = new Set<Review>();
  /**
   * Reviews whose files must be checked. Files are checked one after the other, so that an unresponsive network drive
   * blocks only one of Node's threads.
   */
  const due = new Set<Review>();
  let isChecking = false;
  let isClosed = false;
  const fileWatch = createFileWatch((changed) => {
    for (const [path, { paths }] of watched) if (paths.some((one) => changed.has(one))) void report(path);
  });

  /**
   * Watches the folders of a file. Callers must read the file's version after this call, because a version that was
   * read earlier could miss a write.
   */
  async function watchPaths(path: string, file: WatchedFile): Promise<void> {
    file.paths = await disk.run(path, () => pathsToWatch(path));
    if (!isClosed) fileWatch.set([...watched.values()].flatMap(({ paths }) => paths));
  }

  /** Tells Neovim that a file has changed, after the write is complete. */
  async function report(path: string): Promise<void> {
    const file = watched.get(path);
    if (!file || file.isChecking) return;
    file.isChecking = true;
    await untilStill(path);
    file.isChecking = false;
    await watchPaths(path, file);
    const version = await readVersion(path);
    if (isClosed || version === file.version) return;
    file.version = version;
    bridge.tell("file_changed", { path });
    for (const review of followed) if (review.filePath === path) checkLater(review);
  }

  /** Starts to follow the file of a review. Keeps the state that is already known. */
  function follow(review: Review): FollowedFile {
    const before = review.file;
    const file: FollowedFile = {
      edited: review.baseline?.edited ?? before?.edited ?? false,
      stale: before?.stale ?? false,
    };
    review.file = file;
    followed.add(review);
    return file;
  }

  function checkLater(review: Review): void {
    due.add(review);
    if (!isChecking) void checkDue();
  }

  async function checkDue(): Promise<void> {
    isChecking = true;
    for (const review of due) {
      due.delete(review); // a later change of the file adds the review again, and this loop then reaches it
      await check(review).catch((error: unknown) => log.warn(`review ${review.id}:`, error));
    }
    isChecking = false;
  }

  async function check(review: Review): Promise<void> {
    const { filePath, file } = review;
    if (!file) return;
    if (file.seen && (await readVersion(filePath)) === file.seen.version) return;
    await untilStill(filePath);
    const found = await readDiskText(filePath);
    const isCurrent = () => followed.has(review) && review.file === file;
    if (!isCurrent() || !review.baseline) return;
    const isOther = found.hash !== file.seen?.hash;
    if (isOther && found.hash !== review.baseline.disk && (await holdsProposal(review, found)))
      return written(review);
    if (!isCurrent()) return;
    file.seen = { hash: found.hash, version: found.version };
    tell(review, isOther);
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

  return {
    watch(path) {
      if (watched.has(path)) return;
      const file: WatchedFile = { paths: [], version: "", isChecking: false };
      watched.set(path, file);
      void watchPaths(path, file).then(async () => {
        file.version ||= await readVersion(path);
      });
    },
    async begin(review, original, proposed) {
      const file = follow(review);
      const [{ hash, version }] = await Promise.all([original, setImmediate()]); // the client gets its answer first
      if (!followed.has(review) || review.file !== file) return;
      file.seen = { hash, version };
      review.baseline = { disk: hash, proposed: hashOfPlain(proposed), edited: file.edited };
      noted();
      tell(review, false);
      checkLater(review); // the file may have changed after it was read
    },
    resume(review) {
      if (!review.baseline) return;
      follow(review);
      checkLater(review);
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
      followed.delete(review);
    },
    close() {
      isClosed = true;
      fileWatch.close();
      followed.clear();
    },
  };
}

/** Waits until a file stops changing, because a write may be in progress. */
async function untilStill(path: string): Promise<void> {
  let before = await readVersion(path);
  for (let checks = 0; checks < MAX_CHECKS; checks++) {
    await delay(STABLE_AFTER_MS);
    const now = await readVersion(path);
    if (now === before) return;
    before = now;
  }
}

/**
 * Returns the paths to watch for a file: its path and its real path. If folders are missing, returns only the outermost
 * missing folder.
 */
async function pathsToWatch(path: string): Promise<string[]> {
  const exists = (folder: string) =>
    disk.stat(folder).then(
      () => true,
      () => false,
    );
  try {
    return [path, await disk.realpath(path)];
  } catch {
    let missing = path;
    while (dirname(missing) !== missing && !(await exists(dirname(missing)))) missing = dirname(missing);
    return [missing];
  }
}
