/** Builds the context for CLIs (open files, cursor and selection) from Neovim's snapshots. Checks each file on disk. */
import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { type IdeContext, MAX_OPEN_FILES } from "../contract/companion.ts";
import type { Shared, Snapshot } from "../contract/neovim.ts";
import type { SelectedRange } from "../contract/snapshot.ts";
import { IGNORE_FILES } from "../profiles/profiles.ts";
import { createFiles, type FilesOptions, type SharingSnapshot } from "../sharing/files.ts";
import { createFileWatch } from "../system/file-watch.ts";
import { type Active, type OpenBuffer, openFiles } from "./files-within-limits.ts";

/**
 * Maximum number of watched files. Higher than the maximum number of listed files: missing files are watched, too,
 * because they may be created later.
 */
const MAX_WATCHED_FILES = 3 * MAX_OPEN_FILES;

export interface Context {
  /** Applies a snapshot. @returns the new context; undefined if the context has not changed */
  apply(snapshot: Snapshot): IdeContext | undefined;
  current(): IdeContext;
  /** Returns the position of the selected text in the active file. */
  selected(): SelectedRange | undefined;
  /** Returns the shared and withheld files, for display to the user. */
  shared(): Shared;
  /** Stops watching the disk until the next snapshot. Idempotent. */
  close(): void;
}

interface ContextOptions {
  /** Called when the creation or deletion of a file has changed the context. */
  changed?: () => void;
  report?: FilesOptions["report"];
}

/** An empty context. It clears the previous context in the CLI. */
const EMPTY: IdeContext = { workspaceState: { openFiles: [] } };

export function createContext({ changed = () => {}, report }: ContextOptions = {}): Context {
  const buffers = createOpenBuffers();
  const started = Date.now();
  let current = EMPTY;
  let selected: SelectedRange | undefined;
  /** Last active file that exists on disk. A new file becomes active only after the first write. */
  let active: Active | undefined;
  /** Path of the active file if the file must not be shared. */
  let excluded: string | undefined;
  const lookAgain = () => {
    if (refresh()) changed();
  };
  const watch = createFileWatch(lookAgain);
  const files = createFiles({ report, answered: lookAgain });

  /** Updates the active file. @returns the path of the file if the file must not be shared */
  function chooseActive(verdictOf: SharingSnapshot): string | undefined {
    const wanted = buffers.active();
    const path = wanted && buffers.path(wanted.bufnr);
    const verdict = path && verdictOf(path);
    if (verdict && verdict !== "absent") active = wanted;
    else if (active && (active.bufnr === wanted?.bufnr || !buffers.path(active.bufnr))) active = undefined;
    return verdict === "excluded" ? path : undefined;
  }

  /** Returns the most recently focused files that may be shared, and watches files for changes. */
  function chooseFiles(verdictOf: SharingSnapshot): OpenBuffer[] {
    const chosen: OpenBuffer[] = [];
    const watched: string[] = [];
    for (const buffer of buffers.all()) {
      if (chosen.length === MAX_OPEN_FILES) break;
      if (verdictOf(buffer.path) === "shared") chosen.push(buffer);
      if (watched.length < MAX_WATCHED_FILES) watched.push(buffer.path);
    }
    const folders = [...new Set(watched.map((path) => dirname(path)))];
    const rules = folders.flatMap((folder) => IGNORE_FILES.map((name) => join(folder, name)));
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
      };
    },
    close,
  };
}

interface OpenBuffers {
  add(snapshot: Snapshot): void;
  /**
   * Returns all file buffers, most recently focused first. Buffers that never had the focus come last, by buffer
   * number.
   */
  all(): readonly OpenBuffer[];
  path(bufnr: number): string | undefined;
  /** Returns the file buffer that had the focus last. */
  active(): Active | undefined;
  sharing(): Sharing;
}

/**
 * Maximum number of stored focus times. The context needs only thirty. Neovim does not report the deletion of terminals
 * and other buffers without a file, so the number of their focus times would grow without a limit.
 */
const MAX_FOCUS_TIMES = 1_000;

type Sharing = NonNullable<Snapshot["sharing"]>;

const DEFAULT_SHARING: Sharing = { paused: false, exclude: [] };

/** Collects buffers and focus times from snapshots. Does not read the disk. */
export function createOpenBuffers(): OpenBuffers {
  const paths = new Map<number, string>();
  let focused = new Map<number, number>();
  let active: Active | undefined;
  let sharing = DEFAULT_SHARING;

  /** Drops the oldest focus times. Waits until there are twice as many as allowed, so that this happens rarely. */
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
      active = snapshot.active;
      sharing = snapshot.sharing ?? sharing;
    },
    all() {
      const buffers = [...paths].map(([bufnr, path]) => ({ bufnr, path, focused: focused.get(bufnr) }));
      return buffers.sort((a, b) => (b.focused ?? 0) - (a.focused ?? 0) || a.bufnr - b.bufnr);
    },
    path: (bufnr) => paths.get(bufnr),
    active: () => active,
    sharing: () => sharing,
  };
}
