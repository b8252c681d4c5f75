/** Tells when files come, go or change on disk. */
import { type FSWatcher, watch } from "node:fs";
import { basename, dirname } from "node:path";
import { disk } from "../disk/disk.ts";

/** Several things happen to a folder at once: a file that is saved may go for a moment (milliseconds). */
const SETTLE = 50;

export interface FileWatch {
  /** Watches the folders of these files, absolute paths, and no others. */
  set(paths: Iterable<string>): void;
  /** May run twice; a `set` after it watches again. */
  close(): void;
}

/** @param changed one of the files may be another one, or gone. */
export function createFileWatch(changed: () => void): FileWatch {
  const folders = new Map<string, { names: Set<string>; watcher: FSWatcher }>();
  let timer: NodeJS.Timeout | undefined;

  function drop(folder: string): void {
    folders.get(folder)?.watcher.close();
    folders.delete(folder);
  }

  function add(folder: string, names: Set<string>): void {
    try {
      const watcher = watch(folder, { persistent: false }, (event, name) => {
        const known = folders.get(folder)?.names;
        if (!known || (name && name !== basename(folder) && !known.has(name))) return;
        if (event === "rename") {
          // The folder itself may be another one by now.
          drop(folder);
          add(folder, known);
        }
        timer ??= setTimeout(() => {
          timer = undefined;
          changed();
        }, SETTLE);
      });
      watcher.on("error", () => drop(folder));
      folders.set(folder, { names, watcher });
    } catch {
      // There is no such folder, or no watch is left: the next snapshot looks again.
    }
  }

  return {
    set(paths) {
      const wanted = new Map<string, Set<string>>();
      for (const path of paths) {
        const names = wanted.get(dirname(path)) ?? new Set();
        wanted.set(dirname(path), names.add(basename(path)));
      }
      for (const folder of folders.keys()) if (!wanted.has(folder)) drop(folder);
      const moment = disk.moment();
      for (const [folder, names] of wanted) {
        // To watch it would wait for the network, which tells of nobody else's changes anyway.
        if (moment.isOnNetwork(folder)) continue;
        const known = folders.get(folder);
        if (known) known.names = names;
        else add(folder, names);
      }
    },
    close() {
      clearTimeout(timer);
      timer = undefined;
      for (const folder of [...folders.keys()]) drop(folder);
    },
  };
}
