/**
 * Watches all files that have had a review. When such a file changes, tells Neovim to reload the file. A CLI writes the
 * file after the user's decision, and may write it again later without a review.
 */
import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Bridge } from "../neovim/bridge.ts";
import { disk } from "../system/disk.ts";
import { readVersion } from "../system/disk-text.ts";
import { createFileWatch } from "../system/file-watch.ts";

/** Time without changes after which a write counts as complete. */
const STABLE_AFTER_MS = 30;

/** Maximum number of checks of a file that keeps changing. */
const MAX_CHECKS = 20;

interface ReviewedFiles {
  /** Watches this file until `close` is called. */
  follow(path: string): void;
  /** Stops watching. Idempotent. */
  close(): void;
}

interface Followed {
  /** Paths whose folders are watched. */
  paths: string[];
  /** Version of the file that was last reported to Neovim. */
  version: string;
  isChecking: boolean;
}

/** Creates the watch for reviewed files. @param changed called when a write to a file is complete */
export function createReviewedFiles(
  bridge: Pick<Bridge, "tell">,
  changed: (path: string) => void,
): ReviewedFiles {
  const files = new Map<string, Followed>();
  let isClosed = false;
  const watch = createFileWatch((written) => {
    for (const [path, { paths }] of files) if (paths.some((one) => written.has(one))) void check(path);
  });

  /**
   * Watches the folders of a file. Callers must read the file's version after this call, because a version that was
   * read earlier could miss a write.
   */
  async function watchPaths(path: string, file: Followed): Promise<void> {
    file.paths = await disk.run(path, () => pathsToWatch(path));
    if (!isClosed) watch.set([...files.values()].flatMap(({ paths }) => paths));
  }

  async function check(path: string): Promise<void> {
    const file = files.get(path);
    if (!file || file.isChecking) return;
    file.isChecking = true;
    await untilStill(path);
    file.isChecking = false;
    await watchPaths(path, file);
    const version = await readVersion(path);
    if (isClosed || version === file.version) return;
    file.version = version;
    bridge.tell("file_changed", { path });
    changed(path);
  }

  return {
    follow(path) {
      if (files.has(path)) return;
      const file: Followed = { paths: [], version: "", isChecking: false };
      files.set(path, file);
      void watchPaths(path, file).then(async () => {
        file.version ||= await readVersion(path);
      });
    },
    close() {
      isClosed = true;
      watch.close();
    },
  };
}

/** Waits until a file stops changing, because a write may be in progress. */
export async function untilStill(path: string): Promise<void> {
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
