/** Keeps the discovery file in place, with a fresh modification time, while the bridge runs. */
import type { Profile } from "../profiles/profiles.ts";
import { createFileWatch } from "../system/file-watch.ts";
import type { Announcement } from "./content.ts";
import { createDiscoveryFile, type DiscoveryFile } from "./file.ts";

/**
 * Interval for checking the discovery file and updating its modification time (ms). Programs in another PID namespace
 * cannot see Neovim's process: only a recent modification time shows them that Neovim still runs.
 */
const CHECK_INTERVAL_MS = 50_000;

/**
 * Delay before a removed discovery file is restored (ms). A program that has removed the file may be about to remove
 * the file's directory, too.
 */
const RESTORE_DELAY_MS = 250;

export interface Discovery extends Pick<DiscoveryFile, "path" | "remove"> {
  /**
   * Publishes these workspace roots. From now on, the discovery file is restored whenever another program removes it.
   * @throws {DiscoveryError}
   */
  publish(workspace: readonly string[]): void;
  /**
   * Writes the discovery file again if it is missing. Does not overwrite a file that another program has put in its
   * place.
   * @throws {DiscoveryError}
   */
  restore(): void;
  /** Updates the modification time of the discovery file. Some CLIs choose the editor with the newest file. */
  refresh(): void;
}

interface DiscoveryOptions {
  profile: Profile;
  announcement: Announcement;
  /** Called when the discovery file was restored, or could not be restored. */
  report?: (text: string, ...details: unknown[]) => void;
  /** Interval for checking the discovery file (ms). Default: CHECK_INTERVAL_MS. */
  interval?: number;
}

export function createDiscovery(options: DiscoveryOptions): Discovery {
  const { report = () => {}, interval = CHECK_INTERVAL_MS } = options;
  const file = createDiscoveryFile(options.profile, options.announcement);
  /** The published workspace roots; undefined before the first `publish` and after `remove`. */
  let workspace: readonly string[] | undefined;
  /** Whether the current problem was already reported. */
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
    watch.close(); // the directory may have been replaced by a new directory
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
   * Restores the discovery file if necessary.
   * @param refresh whether to update the modification time. False for the file watcher: the update would trigger the
   * watcher again
   */
  function check(refresh: boolean): void {
    try {
      restore();
      if (refresh && file.state() === "ours") file.refresh();
    } catch (error) {
      complain("cannot restore the discovery file:", error);
    }
  }

  /** Reports a problem once, instead of at each check. */
  function complain(...words: [text: string, detail: unknown]): void {
    if (!complained) report(...words);
    complained = true;
  }

  return {
    path: file.path,
    publish(directories) {
      const isFirst = !workspace;
      workspace = directories;
      // Starts the checks before the first write, because a check writes the file as soon as a problem is solved.
      clock ??= setInterval(() => check(true), interval).unref();
      // If there is already a file at the first call of `publish`, an earlier host has left this file. It may be
      // overwritten.
      if (isFirst || file.state() !== "foreign") write();
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
