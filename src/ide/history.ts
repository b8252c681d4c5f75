/** What the editor's snapshots add up to. Pure; nothing here looks at the disk. */
import type { Snapshot } from "../nvim/protocol.ts";

export type Active = NonNullable<Snapshot["active"]>;
export type Sharing = NonNullable<Snapshot["sharing"]>;

export interface OpenBuffer {
  bufnr: number;
  path: string;
  /** Last focus in Unix milliseconds; `undefined` when it never had the focus. */
  focused: number | undefined;
}

export interface History {
  /** Adds what a snapshot says. */
  add(snapshot: Snapshot): void;
  /** The candidates, the last focused first; those never focused come last, by number. */
  buffers(): readonly OpenBuffer[];
  path(bufnr: number): string | undefined;
  /** The ordinary file buffer that had the focus last. */
  active(): Active | undefined;
  sharing(): Sharing;
}

const NOTHING_SAID: Sharing = { paused: false, exclude: [] };

export function createHistory(): History {
  const paths = new Map<number, string>();
  const focused = new Map<number, number>();
  let active: Active | undefined;
  let sharing = NOTHING_SAID;
  /** Sorted once for all the snapshots that only move the cursor. */
  let sorted: OpenBuffer[] | undefined;

  function sort(): OpenBuffer[] {
    const buffers = [...paths].map(([bufnr, path]) => ({ bufnr, path, focused: focused.get(bufnr) }));
    return buffers.sort((a, b) => (b.focused ?? 0) - (a.focused ?? 0) || a.bufnr - b.bufnr);
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
      if (snapshot.reset || snapshot.buffers.length > 0 || snapshot.focus.length > 0) sorted = undefined;
      active = snapshot.active;
      sharing = snapshot.sharing ?? sharing;
    },
    buffers() {
      sorted ??= sort();
      return sorted;
    },
    path: (bufnr) => paths.get(bufnr),
    active: () => active,
    sharing: () => sharing,
  };
}
