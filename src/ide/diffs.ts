/** The diffs under review: each belongs to one session and is resolved exactly once. */

/** `filePath` is spelled as the session spelled it in `openDiff`. */
export interface Diff {
  readonly id: number;
  readonly sessionId: string;
  readonly filePath: string;
}

export interface Diffs {
  /** The pending diff of this session for this file, or a new one. */
  open(sessionId: string, filePath: string): Diff;
  find(sessionId: string, filePath: string): Diff | undefined;
  /** Takes the diff out: the first caller gets it, every later one gets `undefined`. */
  resolve(id: number): Diff | undefined;
  ofSession(sessionId: string): Diff[];
  all(): Diff[];
}

/**
 * @param lastId the highest id that is already taken.
 * @param known diffs that are pending already.
 */
export function createDiffs(lastId: number, known: readonly Diff[] = []): Diffs {
  const pending = new Map(known.map((diff) => [diff.id, diff]));
  let last = lastId;
  const find = (sessionId: string, filePath: string) =>
    [...pending.values()].find((diff) => diff.sessionId === sessionId && diff.filePath === filePath);
  return {
    find,
    open(sessionId, filePath) {
      const known = find(sessionId, filePath);
      if (known) return known;
      const diff = { id: ++last, sessionId, filePath };
      pending.set(diff.id, diff);
      return diff;
    },
    resolve(id) {
      const diff = pending.get(id);
      pending.delete(id);
      return diff;
    },
    all: () => [...pending.values()],
    ofSession: (sessionId) => [...pending.values()].filter((diff) => diff.sessionId === sessionId),
  };
}
