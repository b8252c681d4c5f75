/** Looks after the discovery file: for as long as the bridge runs it is there, and its date is fresh. */
import { type FSWatcher, watch } from "node:fs";
import { basename, dirname } from "node:path";
import type { Profile } from "../profiles/profiles.ts";
import type { Announcement } from "./content.ts";
import { createDiscoveryFile } from "./file.ts";

/**
 * So often the file is looked for, and its date made new. Where its process cannot be seen, in another PID namespace,
 * that tells it from one that a dead editor has left (milliseconds).
 */
const INTERVAL = 50_000;

/** Whoever removes the file may be about to remove its directory, too (milliseconds). */
const SETTLE = 250;

export interface Discovery {
  readonly path: string;
  /**
   * Publishes these roots. From then on the file comes back whenever something removes it.
   * @throws {DiscoveryError}
   */
  publish(workspace: readonly string[]): void;
  /**
   * Puts the file back if it is gone. A file in its place that is somebody else's stays.
   * @throws {DiscoveryError}
   */
  restore(): void;
  /** Makes the file's date that of now: of several editors some CLIs take the one with the newest. */
  refresh(): void;
  /** Deletes the file, synchronously, so that it also works in a signal handler. May run twice. */
  remove(): void;
}

export interface DiscoveryOptions {
  profile: Profile;
  announcement: Announcement;
  /** Told when the file came back, and when it cannot. */
  report?: (text: string, ...details: unknown[]) => void;
  /** Milliseconds. */
  interval?: number;
}

export function createDiscovery(options: DiscoveryOptions): Discovery {
  const { report = () => {}, interval = INTERVAL } = options;
  const file = createDiscoveryFile(options.profile, options.announcement);
  const directory = dirname(file.path);
  const names = [basename(file.path), basename(directory)];
  /** Published, and to be kept so. */
  let workspace: readonly string[] | undefined;
  /** It is not there, which was said. */
  let complained = false;
  let watcher: FSWatcher | undefined;
  let clock: NodeJS.Timeout | undefined;
  let pause: NodeJS.Timeout | undefined;

  function write(): void {
    if (!workspace) return;
    file.write(workspace);
    watchDirectory();
  }

  function restore(): void {
    if (!workspace) return;
    const state = file.state();
    if (state === "foreign") complain("another file has taken the place of", file.path);
    if (state === "gone") {
      write();
      report("it was gone, and is back:", file.path);
    }
    if (state !== "foreign") complained = false;
  }

  /** @param refresh also makes its date new, which a watch would take for a change */
  function look(refresh: boolean): void {
    try {
      restore();
      if (refresh && file.state() === "ours") file.refresh();
    } catch (error) {
      complain("the discovery file is gone:", error);
    }
  }

  /** Once, and not with each look. */
  function complain(...words: [text: string, detail: unknown]): void {
    if (!complained) report(...words);
    complained = true;
  }

  /** Anew after each write, for it may be another directory by then. */
  function watchDirectory(): void {
    watcher?.close();
    try {
      const next = watch(directory, { persistent: false }, (_, name) => {
        // Other editors' files are there, too.
        if (name !== null && !names.includes(name)) return;
        pause ??= setTimeout(() => {
          pause = undefined;
          look(false);
        }, SETTLE).unref();
      });
      next.on("error", () => next.close());
      watcher = next;
    } catch {
      watcher = undefined; // the system has no watch left: the clock remains
    }
  }

  return {
    path: file.path,
    publish(directories) {
      const isFirst = !workspace;
      workspace = directories;
      // The first time it is a file that the host before this one left.
      if (isFirst || file.state() !== "foreign") write();
      clock ??= setInterval(() => look(true), interval).unref();
    },
    restore,
    refresh() {
      if (workspace) look(true);
    },
    remove() {
      workspace = undefined;
      watcher?.close();
      clearInterval(clock);
      clearTimeout(pause);
      clock = pause = undefined;
      file.remove();
    },
  };
}
