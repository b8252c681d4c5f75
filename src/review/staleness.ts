/**
 * Detects stale reviews. A review becomes stale when its file changes after the text was proposed: the bytes on disk
 * have changed, or the user has edited the file's buffer. A review is closed when the file on disk contains the
 * proposed text.
 */
import { setImmediate } from "node:timers/promises";
import type { Log } from "../base/log.ts";
import type { Bridge } from "../neovim/bridge.ts";
import { type DiskText, hashOf, hashOfPlain, readDiskText, readVersion } from "../system/disk-text.ts";
import type { FollowedFile, Review } from "./records.ts";
import { untilStill } from "./reviewed-files.ts";

interface Staleness {
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
  /** Called when the file at this path has changed on disk. */
  changed(path: string): void;
  /** Called when the user has edited the buffer of the file, or has undone all edits. */
  edited(review: Review, edited: boolean): void;
  end(review: Review): void;
  /** Stops following all files. Idempotent. */
  close(): void;
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
  const followed = new Set<Review>();
  /**
   * Reviews whose files must be checked. Files are checked one after the other, so that an unresponsive network drive
   * blocks only one of Node's threads.
   */
  const due = new Set<Review>();
  let isChecking = false;

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
    changed(path) {
      for (const review of followed) if (review.filePath === path) checkLater(review);
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
      followed.clear();
    },
  };
}
