/** Defines random steps of two agents and a user, and the files that these steps change. */
import { chmodSync, existsSync, rmSync, writeFileSync } from "node:fs";
import fc from "fast-check";

/**
 * Number of editable slots in a file. Lines between the slots are never edited, because adjacent hunks would be merged.
 */
const SLOTS = 3;
/** Names of the files. The last two files do not exist at first. */
export const NAMES = ["clean.txt", "dirty.txt", "untracked.txt", "new.txt", "other.txt"];
export const MODES = [0o644, 0o600, 0o755, 0o644, 0o644];

const which = fc.nat(NAMES.length - 1);
const agent = fc.nat(1);
const slots = fc.array(fc.option(fc.nat(3), { nil: undefined }), { minLength: SLOTS, maxLength: SLOTS });
const operation = fc.record({
  kind: fc.constantFrom("write", "write", "delete", "move", "checkout"),
  file: which,
  to: which,
  slots,
});
const oneFile = <K extends string>(...kinds: K[]) =>
  fc.record({ kind: fc.constantFrom(...kinds), file: which, slots });

/** A step of a random history. A step is skipped if it is impossible at that time. */
export const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant("edit"), agent, file: which, slots, deletes: fc.nat(4) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("command"),
      agent,
      operations: fc.array(operation, { minLength: 1, maxLength: 3 }),
      isEarly: fc.boolean(),
    }),
  },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("finish"), agent }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom("cancel", "end turn"), agent }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("accept"), agent, file: which, slots }) },
  { weight: 8, arbitrary: oneFile("save", "save", "write", "delete", "undo", "undo", "keep") },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("undo all", "keep all", "commit", "refresh") }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom("restart", "quit"), file: which, slots }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("prompt"), agent }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom("undo lines", "keep lines", "undo turn", "keep turn"),
      file: which,
      /** Index of the hunk. `from` and `to` are the first and the last line in the hunk. */
      hunk: fc.nat(1),
      from: fc.nat(2),
      to: fc.nat(2),
    }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("revert") }) },
);
export type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
export type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

/** New content of each slot: undefined keeps the slot, a number replaces the slot by this number of new lines. */
export type Edits = readonly (number | undefined)[];

/** Content of a file. A file that does not exist is null. */
export interface Content {
  readonly slots: readonly string[];
  readonly mode: number;
}
export type State = Content | null;

export interface File {
  readonly name: string;
  /** The text that undo restores: the user's text, including kept and accepted changes. */
  base: State;
  now: State;
  /** The content that `git checkout` restores. */
  head: State;
  /** True if the bridge may not have noticed the user's last write yet. */
  isUnnoticed: boolean;
  /** Number of writes by agents. */
  agentWrites: number;
  /** True if the user has committed the current content. */
  isCommitted: boolean;
}

export function bytesOf({ slots }: Content): Buffer {
  return Buffer.from(slots.map((slot, i) => `${slot}separator ${i}\n`).join(""), "latin1");
}

/**
 * Returns a content with new text in slots. If the file does not exist, starts with an empty file.
 * @param newLine creates a line
 */
export function edited(state: State, slots: Edits, newLine: () => string): Content {
  const old = state ?? { slots: Array<string>(SLOTS).fill(""), mode: 0o644 };
  const lines = (count: number) => Array.from({ length: count }, newLine).join("");
  return {
    ...old,
    slots: old.slots.map((slot, i) => {
      const count = slots[i];
      return count === undefined ? slot : lines(count);
    }),
  };
}

/** Writes a file, or deletes it if `next` is null. */
export function write(path: string, next: State): void {
  const isNew = !existsSync(path);
  if (next) writeFileSync(path, bytesOf(next));
  else rmSync(path, { force: true });
  if (next && isNew) chmodSync(path, next.mode);
}

export function isSame(a: State, b: State): boolean {
  return a && b ? a.slots.join("|") === b.slots.join("|") : a === b;
}

/** Returns the state of a file that does not exist yet. */
export function fileNamed(name: string): File {
  return { name, base: null, now: null, head: null, isUnnoticed: false, agentWrites: 0, isCommitted: false };
}
