/**
 * Watches the files that were reviewed, and tells Neovim to reload them. The CLI writes such a file after the decision,
 * and may write it again without asking.
 */
import type { Bridge } from "../neovim/bridge.ts";
import { disk } from "../system/disk.ts";
import { readVersion } from "../system/disk-text.ts";
import { createFileWatch } from "../system/file-watch.ts";
import { pathsToWatch, untilStill } from "./staleness.ts";

export interface ReviewedFiles {
  /** Watches this file until `close`. */
  follow(path: string): void;
  /** May run twice. */
  close(): void;
}

interface Followed {
  /** Paths whose folders are watched. */
  paths: string[];
  /** The last version that was reported to Neovim. */
  version: string;
  isLooking: boolean;
}

export function createReviewedFiles(bridge: Pick<Bridge, "tell">): ReviewedFiles {
  const files = new Map<string, Followed>();
  let isClosed = false;
  const watch = createFileWatch((changed) => {
    for (const [path, { paths }] of files) if (paths.some((one) => changed.has(one))) void look(path);
  });

  /** Watches the folders of a file. The version is read afterwards, so that no write is missed. */
  async function watchPaths(path: string, file: Followed): Promise<void> {
    file.paths = await disk.run(path, () => pathsToWatch(path));
    if (!isClosed) watch.set([...files.values()].flatMap(({ paths }) => paths));
  }

  async function look(path: string): Promise<void> {
    const file = files.get(path);
    if (!file || file.isLooking) return;
    file.isLooking = true;
    await untilStill(path);
    file.isLooking = false;
    await watchPaths(path, file);
    const version = await readVersion(path);
    if (isClosed || version === file.version) return;
    file.version = version;
    bridge.tell("file_changed", { path });
  }

  return {
    follow(path) {
      if (files.has(path)) return;
      const file: Followed = { paths: [], version: "", isLooking: false };
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
