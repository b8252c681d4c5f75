/** Builds the context for CLIs from Neovim's snapshots, after checking each file on disk. */
import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { type IdeContext, MAX_OPEN_FILES } from "../contract/companion.ts";
import type { Shared, Snapshot } from "../contract/neovim.ts";
import type { SelectedRange } from "../contract/snapshot.ts";
import { createFiles, type FilesOptions, type SharingSnapshot } from "../sharing/files.ts";
import { IGNORE_FILE } from "../sharing/geminiignore.ts";
import { createFileWatch } from "../system/file-watch.ts";
import { type Active, type OpenBuffer, openFiles } from "./files-within-limits.ts";

/**
 * Maximum number of watched files. It is higher than the maximum of listed files, because missing files are watched,
 * too, in case they are created.
 */
const MAX_WATCHED_FILES = 3 * MAX_OPEN_FILES;

/** Maximum number of problems in the status. The log has all of them. */
const MAX_PROBLEMS = 5;

export interface Context {
  /** @returns the new context, or `undefined` if nothing has changed */
  apply(snapshot: Snapshot): IdeContext | undefined;
  current(): IdeContext;
  /** Returns the place of the selected text in the active file. */
  selected(): SelectedRange | undefined;
  /** Returns which files are shared and which are withheld, to show this to the user. */
  shared(): Shared;
  /** Stops watching the disk until the next snapshot. Idempotent. */
  close(): void;
}

interface ContextOptions {
  /** Called when the context changed because a file was created or deleted. */
  changed?: () => void;
  report?: FilesOptions["report"];
}

/** An empty context, which clears the previous one in the CLI. */
const EMPTY: IdeContext = { workspaceState: { openFiles: [] } };

export function createContext({ changed = () => {}, report }: ContextOptions = {}): Context {
  const buffers = createOpenBuffers();
  const started = Date.now();
  let current = EMPTY;
  let selected: SelectedRange | undefined;
  /** The last active file that exists on disk. A new, unwritten file does not replace it. */
  let active: Active | undefined;
  /** The path of the active file if it must not be shared. */
  let excluded: string | undefined;
  const lookAgain = () => {
    if (refresh()) changed();
  };
  const watch = createFileWatch(lookAgain);
  const files = createFiles({ report, answered: lookAgain });

  /** Updates the active file. @returns its path if the file must not be shared */
  function chooseActive(verdictOf: SharingSnapshot): string | undefined {
    const wanted = buffers.active();
    const path = wanted && buffers.path(wanted.bufnr);
    const verdict = path && verdictOf(path);
    if (verdict && verdict !== "absent") active = wanted;
    else if (active && (active.bufnr === wanted?.bufnr || !buffers.path(active.bufnr))) active = undefined;
    return verdict === "excluded" ? path : undefined;
  }

  /** Chooses the most recently focused files that may be shared, and watches them. */
  function chooseFiles(verdictOf: SharingSnapshot): OpenBuffer[] {
    const chosen: OpenBuffer[] = [];
    const watched: string[] = [];
    for (const buffer of buffers.all()) {
      if (chosen.length === MAX_OPEN_FILES) break;
      if (verdictOf(buffer.path) === "shared") chosen.push(buffer);
      if (watched.length < MAX_WATCHED_FILES) watched.push(buffer.path);
    }
    const rules = watched.map((path) => join(dirname(path), IGNORE_FILE));
    watch.set([...watched, ...rules, ...files.ignoreFiles()]);
    return chosen;
  }

  function close(): void {
    watch.close();
    files.close();
  }

  function build(): { next: IdeContext; withheld?: string | undefined } {
    const { paused, trusted, exclude } = buffers.sharing();
    if (paused) {
      close();
      return { next: EMPTY };
    }
    const verdictOf = files.takeSnapshot(exclude);
    const withheld = chooseActive(verdictOf);
    const listed = openFiles(chooseFiles(verdictOf), active, started);
    const isTrusted = trusted === undefined ? {} : { isTrusted: trusted };
    return { next: { workspaceState: { openFiles: listed, ...isTrusted } }, withheld };
  }

  function refresh(): IdeContext | undefined {
    const { next, withheld } = build();
    excluded = withheld;
    const isSelected = next.workspaceState?.openFiles?.some(({ selectedText }) => selectedText !== undefined);
    const range = isSelected ? active?.selected : undefined;
    if (isDeepStrictEqual([next, range], [current, selected])) return undefined;
    current = next;
    selected = range;
    return next;
  }

  return {
    apply(snapshot) {
      buffers.add(snapshot);
      return snapshot.more ? undefined : refresh();
    },
    current: () => current,
    selected: () => selected,
    shared() {
      const openFiles = current.workspaceState?.openFiles ?? [];
      const activeFile = openFiles.find(({ isActive }) => isActive);
      return {
        paused: buffers.sharing().paused,
        files: openFiles.map(({ path }) => path),
        active: activeFile?.path,
        selected: activeFile?.selectedText?.length,
        excluded,
        unusable: files.problems().slice(0, MAX_PROBLEMS),
      };
    },
    close,
  };
}

interface OpenBuffers {
  add(snapshot: Snapshot): void;
  /** All file buffers, the last focused first. Buffers that never had the focus come last, sorted by number. */
  all(): readonly OpenBuffer[];
  path(bufnr: number): string | undefined;
  /** The file buffer that was focused last. */
  active(): Active | undefined;
  sharing(): Sharing;
}

/**
 * Maximum number of stored focus times. The context needs only thirty. Without a limit, the times of terminals and
 * other buffers without a file would pile up, because Neovim does not report the deletion of these buffers.
 */
const MAX_FOCUS_TIMES = 1_000;

type Sharing = NonNullable<Snapshot["sharing"]>;

const DEFAULT_SHARING: Sharing = { paused: false, exclude: [] };

/** Collects buffers and focus times from snapshots, without looking at the disk. */
export function createOpenBuffers(): OpenBuffers {
  const paths = new Map<number, string>();
  let focused = new Map<number, number>();
  let active: Active | undefined;
  let sharing = DEFAULT_SHARING;
  /** Cached order, which stays valid while only the cursor moves. */
  let sorted: OpenBuffer[] | undefined;

  function sort(): OpenBuffer[] {
    const buffers = [...paths].map(([bufnr, path]) => ({ bufnr, path, focused: focused.get(bufnr) }));
    return buffers.sort((a, b) => (b.focused ?? 0) - (a.focused ?? 0) || a.bufnr - b.bufnr);
  }

  /**
   * Drops the oldest focus times. Waits until there are twice as many as allowed, because sorting them each time would
   * be slow.
   */
  function forgetOldest(): void {
    if (focused.size < 2 * MAX_FOCUS_TIMES) return;
    focused = new Map([...focused].sort(([, a], [, b]) => b - a).slice(0, MAX_FOCUS_TIMES));
  }

  return {
    add(snapshot) {
      if (snapshot.reset) {
        paths.clear();
        focused.clear();
      }
      for (const { bufnr, path } of snapshot.buffers) {
        if (path === undefined) paths.delete(bufnr);
        else paths.set(bufnr, path);
      }
      for (const { bufnr, time } of snapshot.focus) focused.set(bufnr, time);
      forgetOldest();
      if (snapshot.reset || snapshot.buffers.length > 0 || snapshot.focus.length > 0) sorted = undefined;
      active = snapshot.active;
      sharing = snapshot.sharing ?? sharing;
    },
    all() {
      sorted ??= sort();
      return sorted;
    },
    path: (bufnr) => paths.get(bufnr),
    active: () => active,
    sharing: () => sharing,
  };
}
