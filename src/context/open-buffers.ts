/** Collects buffers and focus times from Neovim's snapshots, without looking at the disk. */
import type { Snapshot } from "../contract/neovim.ts";

export type Active = NonNullable<Snapshot["active"]>;
export type Sharing = NonNullable<Snapshot["sharing"]>;

export interface OpenBuffer {
  bufnr: number;
  path: string;
  /** Last focus (Unix milliseconds); `undefined` without any. */
  focused: number | undefined;
}

export interface OpenBuffers {
  /** Applies a snapshot. */
  add(snapshot: Snapshot): void;
  /** All file buffers: the last focused first, then those without focus, by number. */
  all(): readonly OpenBuffer[];
  path(bufnr: number): string | undefined;
  /** The file buffer that was focused last. */
  active(): Active | undefined;
  sharing(): Sharing;
}

/**
 * Maximum number of focus times. At most thirty are used. The others may belong to terminals and other buffers without
 * a file, whose deletion is not reported.
 */
const MAX_FOCUS_TIMES = 1_000;

const DEFAULT_SHARING: Sharing = { paused: false, exclude: [] };

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

  /** Drops the oldest focus times. Runs only beyond twice the maximum, because it sorts all times. */
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
