/** What the editor's snapshots add up to: its buffers, and when each had the focus. Nothing here looks at the disk. */
import type { Snapshot } from "../contract/neovim.ts";

export type Active = NonNullable<Snapshot["active"]>;
export type Sharing = NonNullable<Snapshot["sharing"]>;

export interface OpenBuffer {
  bufnr: number;
  path: string;
  /** Last focus in Unix milliseconds; `undefined` when it never had the focus. */
  focused: number | undefined;
}

export interface OpenBuffers {
  /** Adds what a snapshot says. */
  add(snapshot: Snapshot): void;
  /** The candidates, the last focused first; those never focused come last, by number. */
  all(): readonly OpenBuffer[];
  path(bufnr: number): string | undefined;
  /** The ordinary file buffer that had the focus last. */
  active(): Active | undefined;
  sharing(): Sharing;
}

/**
 * Of so many buffers it is kept when they had the focus; no more than thirty of them ever count. Terminals and other
 * buffers that are no candidates have it too, and nobody tells when they go.
 */
const MAX_FOCUSED = 1_000;

const NOTHING_SAID: Sharing = { paused: false, exclude: [] };

export function createOpenBuffers(): OpenBuffers {
  const paths = new Map<number, string>();
  let focused = new Map<number, number>();
  let active: Active | undefined;
  let sharing = NOTHING_SAID;
  /** Sorted once for all the snapshots that only move the cursor. */
  let sorted: OpenBuffer[] | undefined;

  function sort(): OpenBuffer[] {
    const buffers = [...paths].map(([bufnr, path]) => ({ bufnr, path, focused: focused.get(bufnr) }));
    return buffers.sort((a, b) => (b.focused ?? 0) - (a.focused ?? 0) || a.bufnr - b.bufnr);
  }

  /** Not each time that there is one too many, as it sorts them. */
  function forgetOldest(): void {
    if (focused.size < 2 * MAX_FOCUSED) return;
    focused = new Map([...focused].sort(([, a], [, b]) => b - a).slice(0, MAX_FOCUSED));
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
