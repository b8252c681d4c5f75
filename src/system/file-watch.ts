/** Watches files: reports when they appear, change or disappear. */
import { type FSWatcher, watch } from "node:fs";
import { basename, dirname, join } from "node:path";
import { disk, fileSystem } from "./disk.ts";
import { codeOf } from "./error-code.ts";

/** Delay before events are reported (ms). A file that is being saved may disappear for a moment. */
const DEBOUNCE_MS = 50;

/**
 * Polling interval of a folder if the system has no free watches (ms). The number of watches is limited by fs.inotify
 * in sysctl.
 */
const POLL_INTERVAL_MS = 2_000;

interface FileWatch {
  /** Watches exactly these files (absolute paths). */
  set(paths: Iterable<string>): void;
  /** Watches one more file. */
  add(path: string): void;
  remove(path: string): void;
  /** Ends all watches. A later `set` starts new watches. Idempotent. */
  close(): void;
}

/** A folder that contains watched files. */
interface Folder {
  names: Set<string>;
  /**
   * Watcher of the folder. Undefined while its network drive has not answered, because watching a silent drive would
   * block.
   */
  watcher: Pick<FSWatcher, "close"> | undefined;
}

/**
 * Creates a watch without files.
 * @param changed called with files that may have changed or disappeared
 */
export function createFileWatch(changed: (paths: ReadonlySet<string>) => void): FileWatch {
  const folders = new Map<string, Folder>();
  let timer: NodeJS.Timeout | undefined;
  let due = new Set<string>();

  function drop(folder: string): void {
    folders.get(folder)?.watcher?.close();
    folders.delete(folder);
  }

  function add(folder: string, names: Set<string>): void {
    const one: Folder = { names, watcher: undefined };
    folders.set(folder, one);
    const begin = () => {
      if (folders.get(folder) !== one) return;
      one.watcher = begun(folder);
      if (!one.watcher) folders.delete(folder);
    };
    const moment = disk.moment();
    if (moment.isOnNetwork(folder))
      Promise.resolve(moment.ask(() => fileSystem.stat(folder))).then(begin, () => drop(folder));
    else begin();
  }

  /** Starts to watch a folder. @returns undefined if the folder does not exist; the next `set` tries again */
  function begun(folder: string): Folder["watcher"] {
    try {
      const watcher = watch(folder, { persistent: false }, (event, name) => {
        const known = folders.get(folder)?.names;
        if (!known || (name && name !== basename(folder) && !known.has(name))) return;
        if (event === "rename") {
          // Replaces the watch, because the folder itself may have been replaced.
          drop(folder);
          add(folder, known);
        }
        tell(folder, name && known.has(name) ? [name] : known);
      });
      return watcher.on("error", () => drop(folder));
    } catch (error) {
      return ["ENOSPC", "EMFILE"].includes(codeOf(error)) ? polled(folder) : undefined;
    }
  }

  function polled(folder: string): Folder["watcher"] {
    const poll = setInterval(() => tell(folder, folders.get(folder)?.names ?? []), POLL_INTERVAL_MS).unref();
    return { close: () => clearInterval(poll) };
  }

  function tell(folder: string, names: Iterable<string>): void {
    for (const name of names) due.add(join(folder, name));
    timer ??= setTimeout(() => {
      timer = undefined;
      const paths = due;
      due = new Set();
      changed(paths);
    }, DEBOUNCE_MS);
  }

  return {
    set(paths) {
      const wanted = new Map<string, Set<string>>();
      for (const path of paths) {
        const names = wanted.get(dirname(path)) ?? new Set();
        wanted.set(dirname(path), names.add(basename(path)));
      }
      for (const folder of folders.keys()) if (!wanted.has(folder)) drop(folder);
      for (const [folder, names] of wanted) {
        const known = folders.get(folder);
        if (known) known.names = names;
        else add(folder, names);
      }
    },
    add(path) {
      const known = folders.get(dirname(path));
      if (known) known.names.add(basename(path));
      else add(dirname(path), new Set([basename(path)]));
    },
    remove(path) {
      const names = folders.get(dirname(path))?.names;
      if (names?.delete(basename(path)) && names.size === 0) drop(dirname(path));
    },
    close() {
      clearTimeout(timer);
      timer = undefined;
      for (const folder of [...folders.keys()]) drop(folder);
    },
  };
}
