/**
 * Predicts the results of decisions on parts of files, and of reverting these decisions, from the hunks that the user
 * sees.
 */
import assert from "node:assert/strict";
import type { ShownHunk } from "../../src/contract/changes.ts";
import type { ChangesHost } from "./changes.ts";
import { bytesOf, type Content, type File, isSame, type State, type Step } from "./turn-steps.ts";

/** The base and the current text of a file. Undo restores the base. */
interface Pair {
  readonly base: State;
  readonly now: State;
}

/** Part of a hunk: the lines from `from` to `to` (exclusive), counted from the start of the hunk. */
interface Part {
  readonly from: number;
  readonly to: number;
}

/** A decision that the host can revert. */
interface Decision {
  readonly verb: "keep" | "undo";
  /** Undefined if the result cannot be predicted. */
  readonly files: readonly { file: File; before: Pair; after: Pair; agentWrites: number }[] | undefined;
}

/** Returns the part of a hunk in a range of lines, 1-based and inclusive. A removal belongs to the line above. */
function partIn({ line, count }: ShownHunk, range: { from: number; to: number }): Part | undefined {
  const first = Math.max(line, 1);
  const [from, to] = [Math.max(first, range.from), Math.min(Math.max(line + count - 1, first), range.to)];
  if (from > to) return undefined;
  return count === 0 ? { from: 0, to: 0 } : { from: from - line, to: to - line + 1 };
}

/**
 * Predicts the result of a decision.
 * @param partOf returns the part of a hunk to which the decision applies
 */
function decided(
  verb: Decision["verb"],
  { base, now }: Pair,
  hunks: readonly ShownHunk[],
  partOf: (hunk: ShownHunk) => Part | undefined,
): Pair {
  if (!hunks.some(partOf)) return { base, now };
  // A created or deleted file is one hunk.
  if (!base || !now) {
    return verb === "keep" ? { base: now, now } : { base, now: base };
  }
  const [old, current] = [linesOf(base), linesOf(now)];
  const growth = hunks.reduce((sum, { count, removed }) => sum + count - removed, 0);
  let shift = -growth;
  for (const hunk of [...hunks].reverse()) {
    const { line, count, removed } = hunk;
    shift += count - removed;
    const part = partOf(hunk);
    if (!part) continue;
    const at = count > 0 ? line - 1 : line;
    const from = at + shift + Math.min(part.from, removed);
    const to = at + shift + (part.to === count ? removed : Math.min(part.to, removed));
    if (verb === "undo") current.splice(at + part.from, part.to - part.from, ...old.slice(from, to));
    else old.splice(from, to - from, ...current.slice(at + part.from, at + part.to));
  }
  const next = { base: contentOf(old, base), now: contentOf(current, now) };
  if (!isSame(next.base, next.now)) return next;
  // The decision on the last hunk also decides the mode of the file.
  return verb === "keep" ? { base: now, now } : { base: next.base, now: next.base };
}

/**
 * Predicts a file after a decision was reverted. Returns "refused" if the host must refuse to revert the decision.
 * Returns undefined if the result cannot be predicted, for example if the user has edited a hunk of the decision.
 */
function reverted(
  verb: Decision["verb"],
  { file, before, after, agentWrites }: NonNullable<Decision["files"]>[number],
): Pair | "refused" | undefined {
  if (Number.isNaN(file.agentWrites)) return undefined;
  if (file.agentWrites !== agentWrites) return "refused";
  if (isSame(file.now, after.now)) return before;
  if (verb === "undo") return "refused";
  const { base, now } = before;
  if (!file.now || !now || !base) return undefined;
  const slots: string[] = [];
  for (const [i, slot] of file.now.slots.entries()) {
    const isKept = base.slots[i] !== now.slots[i];
    if (slot !== now.slots[i] && isKept) return undefined;
    slots.push(isKept ? (base.slots[i] ?? "") : slot);
  }
  return { base: { ...base, slots }, now: file.now };
}

function linesOf(content: Content): string[] {
  return (
    bytesOf(content)
      .toString("latin1")
      .match(/[^\n]*\n/g) ?? []
  );
}

function contentOf(lines: readonly string[], { mode }: Content): Content {
  const slots = lines.join("").split(/separator \d\n/);
  return { slots: slots.slice(0, -1), mode };
}

export class Decisions {
  /** Oldest first. */
  readonly #decisions: Decision[] = [];

  constructor(readonly host: () => ChangesHost) {}

  /** Clears the decisions when a host has ended. */
  clear(): void {
    this.#decisions.length = 0;
  }

  /** Starts a decision. The returned function stores the decision if the host has carried it out. */
  begin(verb: Decision["verb"], files: readonly File[], isKnown: boolean): () => void {
    const before = files.map(({ base, now }) => ({ base, now }));
    this.host().clearMessages();
    return () => {
      if (!/^(Kept|Undid) /.test(String(this.host().message()))) return;
      const steps = files.flatMap((file, i) => {
        const { base, now, agentWrites } = file;
        const [pair, after] = [before[i], { base, now }];
        const isDecided = pair && !(isSame(pair.base, base) && isSame(pair.now, now));
        return isDecided ? { file, before: pair, after, agentWrites } : [];
      });
      this.#decisions.push({ verb, files: isKnown ? steps : undefined });
    };
  }

  /** @param others files that a decision on a whole turn may affect */
  async decidePart(
    named: File,
    others: readonly File[],
    step: Extract<Step, { hunk: number }>,
  ): Promise<void> {
    const host = this.host();
    const verb = step.kind.startsWith("undo") ? "undo" : "keep";
    const hunksOf = (file: File) => host.change(file.name)?.hunks ?? [];
    const chosen = hunksOf(named)[step.hunk];
    if (!chosen) return;
    const isTurn = step.kind.endsWith("turn");
    const files = isTurn ? others : [named];
    const range = rangeOf(chosen, step, named);
    const partOf = (hunk: ShownHunk) => {
      if (!isTurn) return partIn(hunk, range);
      return hunk.turn === chosen.turn ? { from: 0, to: hunk.count } : undefined;
    };
    const pairs = files.map((file) => decided(verb, file, hunksOf(file), partOf));
    const paths = files.map(({ name }) => ({ path: host.path(name), ...(!isTurn && { range }) }));
    const remember = this.begin(verb, files, true);
    const turn = isTurn ? chosen.turn : undefined;
    await host.changes.handlers[`changes_${verb}`]({ files: paths, unsaved: [], turn });
    for (const [i, file] of files.entries()) Object.assign(file, pairs[i]);
    remember();
    assert.deepEqual(host.messages(), [], step.kind);
  }

  /** Reverts the last decision if the result can be predicted. */
  async revert(isAwaited: (file: File) => boolean): Promise<void> {
    const { verb, files } = this.#decisions.at(-1) ?? { verb: "keep", files: [] };
    if (!files) return;
    const results = files.map((one) => ({
      file: one.file,
      pair: isAwaited(one.file) ? "refused" : reverted(verb, one),
    }));
    if (results.some(({ pair }) => pair === undefined)) return;
    this.#decisions.pop();
    const host = this.host();
    host.clearMessages();
    await host.revert();
    for (const { file, pair } of results) if (typeof pair === "object") Object.assign(file, pair);
    const isRefused = results.some(({ pair }) => pair === "refused");
    assert.equal(host.messages().length, isRefused ? 1 : 0, host.messages().join());
    host.clearMessages();
  }
}

/**
 * Returns the lines of a hunk that a step names, 1-based and inclusive. For a created or deleted file, returns the
 * whole hunk.
 */
function rangeOf({ line, count }: ShownHunk, step: { from: number; to: number }, { base, now }: Pair) {
  const first = Math.max(line, 1);
  const last = Math.max(line + count - 1, first);
  if (!base || !now) return { from: first, to: last };
  return {
    from: Math.min(first + step.from, last),
    to: Math.min(first + Math.max(step.to, step.from), last),
  };
}
