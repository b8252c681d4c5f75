/** Keeps the discovery file in place, with a fresh modification time, while the bridge runs. */
import type { Profile } from "../profiles/profiles.ts";
import { createFileWatch } from "../system/file-watch.ts";
import type { Announcement } from "./content.ts";
import { createDiscoveryFile } from "./file.ts";

/**
 * Interval for checking the file and updating its modification time. Programs in another PID namespace cannot see
 * Neovim's process: for them, only a recent time shows that Neovim still runs.
 */
const CHECK_INTERVAL_MS = 50_000;

/** Delay before a removed file is restored, because whatever removed it may be about to remove its directory, too. */
const RESTORE_DELAY_MS = 250;

export interface Discovery {
  readonly path: string;
  /**
   * Publishes these roots. From now on, the file is restored whenever it is removed.
   * @throws {DiscoveryError}
   */
  publish(workspace: readonly string[]): void;
  /**
   * Writes the file again if it is missing. Does not overwrite a file that another program has put in its place.
   * @throws {DiscoveryError}
   */
  restore(): void;
  /** Updates the modification time. Some CLIs choose the editor with the newest file. */
  refresh(): void;
  /** Deletes the file. Synchronous, so that a signal handler can call it. Idempotent. */
  remove(): void;
}

interface DiscoveryOptions {
  profile: Profile;
  announcement: Announcement;
  /** Called when the file was restored, or could not be restored. */
  report?: (text: string, ...details: unknown[]) => void;
  /** Milliseconds. Default: CHECK_INTERVAL_MS. */
  interval?: number;
}

export function createDiscovery(options: DiscoveryOptions): Discovery {
  const { report = () => {}, interval = CHECK_INTERVAL_MS } = options;
  const file = createDiscoveryFile(options.profile, options.announcement);
  /** The published roots; undefined before the start and after `remove`. */
  let workspace: readonly string[] | undefined;
  /** Whether the current problem was reported. */
  let complained = false;
  let clock: NodeJS.Timeout | undefined;
  let pause: NodeJS.Timeout | undefined;
  const watch = createFileWatch(() => {
    pause ??= setTimeout(() => {
      pause = undefined;
      check(false);
    }, RESTORE_DELAY_MS).unref();
  });

  function write(): void {
    if (!workspace) return;
    file.write(workspace);
    watch.close(); // the directory may be a new one
    watch.set([file.path]);
  }

  function restore(): void {
    if (!workspace) return;
    const state = file.state();
    if (state === "foreign") complain("another file has taken the place of", file.path);
    if (state === "gone") {
      write();
      report("the discovery file was missing and has been restored:", file.path);
    }
    if (state !== "foreign") complained = false;
  }

  /**
   * Restores the file if necessary.
   * @param refresh whether to update the modification time. The watcher passes false, because the update would trigger
   * the watcher again
   */
  function check(refresh: boolean): void {
    try {
      restore();
      if (refresh && file.state() === "ours") file.refresh();
    } catch (error) {
      complain("cannot restore the discovery file:", error);
    }
  }

  /** Reports a problem once, not with each check. */
  function complain(...words: [text: string, detail: unknown]): void {
    if (!complained) report(...words);
    complained = true;
  }

  return {
    path: file.path,
    publish(directories) {
      const isFirst = !workspace;
      workspace = directories;
      // A file that exists at the first call was left by an earlier host, and may be overwritten.
      if (isFirst || file.state() !== "foreign") write();
      clock ??= setInterval(() => check(true), interval).unref();
    },
    restore,
    refresh() {
      if (workspace) check(true);
    },
    remove() {
      workspace = undefined;
      watch.close();
      clearInterval(clock);
      clearTimeout(pause);
      clock = pause = undefined;
      file.remove();
    },
  };
}
