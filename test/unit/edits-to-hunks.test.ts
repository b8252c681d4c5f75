import fc from "fast-check";
import t from "tap";
import {
  editedByUser,
  editedByAgent as editedInTurn,
  keep,
  reference,
  type TrackedText,
  trackText,
  undo,
} from "../../src/changes/difference/edits-to-hunks.ts";
import { fuzz } from "../support/fuzz.ts";

const all = (text: TrackedText) => new Set(text.hunks.map(({ id }) => id));
const editedByAgent = (text: TrackedText, lines: readonly string[]) => editedInTurn(text, lines, 1);
const track = (...lines: string[]) => trackText(lines);

t.test("edits of the user beside a hunk stay, and edits inside a hunk are a conflict", async (t) => {
  const text = editedByAgent(track("1", "2", "3", "4", "5"), ["1", "2", "A", "4", "5"]);
  t.match(text.hunks, [{ line: 2, count: 1, old: ["3"], conflict: false }]);

  const beside = editedByUser(text, ["0", "1", "two", "A", "4", "5", "6"]);
  t.match(beside.hunks, [{ id: text.hunks[0]?.id, line: 3, count: 1, old: ["3"], conflict: false }]);
  t.strictSame(undo(beside, all(beside)).lines, ["0", "1", "two", "3", "4", "5", "6"]);

  const within = editedByUser(text, ["1", "2", "A, edited", "4", "5"]);
  t.match(within.hunks, [{ conflict: true }]);
  t.strictSame(undo(within, all(within)).lines, within.lines, "which is not undone");
  t.strictSame(keep(within, all(within)).hunks, [], "but can be kept");

  t.strictSame(editedByUser(text, ["1", "2", "3", "4", "5"]).hunks, [], "undone by the user");
});

t.test("undoing an agent's change of lines that the user has edited restores the user's lines", async (t) => {
  const text = editedByUser(editedByAgent(track("1", "2", "3"), ["1", "A", "B", "3"]), [
    "1",
    "A",
    "mine",
    "3",
  ]);
  t.match(text.hunks, [{ line: 1, count: 2, old: ["2"], conflict: true }]);
  for (const now of [["1", "C", "3"], ["1", "2", "3"], ["1", "A", "mine", "C", "3"], ["1"], []]) {
    const over = editedByAgent(editedByAgent(text, ["1", "A", "C", "C", "3"]), now);
    t.match(over.hunks, [{ conflict: false }]);
    const back = undo(over, all(over));
    t.strictSame(back.lines, text.lines, now.join());
    t.match(back.hunks, [{ line: 1, count: 2, old: ["2"], conflict: true }]);
  }
  t.match(
    editedByAgent(editedByAgent(text, ["1"]), text.lines).hunks,
    [{ conflict: true }],
    "put back by the agent",
  );
  const apart = editedByAgent(text, ["0", "1", "A", "mine", "3"]);
  t.match(apart.hunks, [{ conflict: false }, { conflict: true }], "elsewhere it is none of that");
  const gone = editedByAgent(apart, []);
  t.strictSame(undo(gone, all(gone)).lines, text.lines, "of which the rest is undone, too");
});

t.test("lines that equal the lines of a hunk are inserted above the hunk", async (t) => {
  const text = editedByAgent(track("x"), ["/**", "agent", "x"]);
  const now = editedByUser(text, ["/**", "user", "/**", "agent", "x"]);
  t.match(now.hunks, [{ line: 2, count: 2, conflict: false }]);
  t.strictSame(undo(now, all(now)).lines, ["/**", "user", "x"]);
});

/** One random operation on a text. The numbers are mapped to existing lines. */
const step = fc.record({
  kind: fc.constantFrom("agent", "agent", "user", "user", "keep", "undo"),
  places: fc.array(fc.tuple(fc.nat(40), fc.nat(3), fc.nat(3)), { minLength: 1, maxLength: 3 }),
});

/** Edits lines. Each new line is unique, and contains the name of its author. */
function edited(lines: readonly string[], places: [number, number, number][], write: () => string): string[] {
  const result = [...lines];
  for (const [at, removed, inserted] of places)
    result.splice(at % (result.length + 1), removed, ...Array.from({ length: inserted }, write));
  return result;
}

/** Returns whether `lines` contains the lines of `some` in the same order. */
function isWithin(some: readonly string[], lines: readonly string[]): boolean {
  let at = -1;
  return some.every((line) => {
    at = lines.indexOf(line, at + 1);
    return at >= 0;
  });
}

t.test("no sequence of edits by agent and user loses a line of the user", async (t) => {
  let written = 0;
  const run = (steps: { kind: string; places: [number, number, number][] }[]) => {
    let text = trackText(["o1", "o2", "o3", "o4", "o5", "o6", "o7", "o8"]);
    const kept = new Set<string>();
    const ours = (lines: readonly string[]) => lines.filter((line) => line.startsWith("u"));
    for (const { kind, places } of steps) {
      const before = text;
      const some = new Set(
        before.hunks.filter((_, i) => places.some(([at]) => at % 3 === i % 3)).map(({ id }) => id),
      );
      if (kind === "agent") {
        const after = edited(text.lines, places, () => `a${++written}`);
        text = editedByAgent(text, after);
        t.strictSame(text.lines, after);
        t.strictSame(reference(text), reference(before), "the reference is what it was");
        const last = undo(text, all(text)).lines;
        t.ok(isWithin(ours(undo(before, all(before)).lines), last), "the user's lines come back");
      } else if (kind === "user") {
        const after = edited(text.lines, places, () => `u${++written}`);
        text = editedByUser(text, after);
        t.strictSame(text.lines, after);
      } else if (kind === "keep") {
        text = keep(text, some);
        t.strictSame(text.lines, before.lines, "keep changes nothing");
        const conflicts = text.hunks.flatMap(({ line, count }) => text.lines.slice(line, line + count));
        for (const line of text.lines) if (!conflicts.includes(line)) kept.add(line);
      } else {
        text = undo(text, some);
        t.ok(isWithin(ours(before.lines), text.lines), "undo leaves the user's lines, in their order");
        t.strictSame(reference(text), reference(before));
      }
      for (const { line, count, old, edited } of text.hunks)
        t.ok(line >= 0 && line + count <= text.lines.length && (count > 0 || old.length > 0 || edited));
      const undone = undo(text, all(text));
      t.ok(isWithin(ours(text.lines), undone.lines), "all that can be undone leaves them");
      const disputed = undone.hunks.flatMap(({ line, count }) => undone.lines.slice(line, line + count));
      for (const line of undone.lines)
        t.ok(
          !line.startsWith("a") || kept.has(line) || disputed.includes(line),
          `nothing of the agent's stays: ${line}`,
        );
    }
  };
  fc.assert(fc.property(fc.array(step, { maxLength: 12 }), run), fuzz(t, "edits, keeps and undos", 300));
});
