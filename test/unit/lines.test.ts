import fc from "fast-check";
import t from "tap";
import { diffLines } from "../../src/changes/line-diff.ts";
import { fuzz } from "../support/fuzz.ts";

function apply(before: readonly string[], after: readonly string[]): string[] {
  let at = 0;
  const parts: (readonly string[])[] = [];
  for (const edit of diffLines(before, after)) {
    parts.push(before.slice(at, edit.at), edit.inserted);
    at = edit.at + edit.removed;
  }
  return [...parts, before.slice(at)].flat();
}

t.test("the edits convert one text to the other, with a line between two edits", async (t) => {
  const text = fc.array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 12 });
  fc.assert(
    fc.property(text, text, (before, after) => {
      t.strictSame(apply(before, after), after);
      const edits = diffLines(before, after);
      for (const [i, { at, removed }] of edits.entries())
        if (edits[i + 1]) t.ok((edits[i + 1]?.at ?? 0) > at + removed);
    }),
    fuzz(t, "texts", 500),
  );
});

const lines = (count: number, text: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => text(i));

t.test("the cost of many differences is proportional to their number", async (t) => {
  const before = lines(6_000, (i) => (i % 7 === 0 ? "}" : `line ${i}`));
  const after = before.map((line, i) => (i % 2 === 0 ? `new ${line}` : line));
  t.equal(diffLines(before, after).length, 3_000);

  const started = performance.now();
  const source = lines(1_500, (i) => (i % 7 === 0 ? "}" : i % 11 === 0 ? "" : `line ${i}`));
  const reindented = source.map((line) => (line === "" ? line : `  ${line}`));
  for (let file = 0; file < 40; file += 1) t.strictSame(apply(source, reindented), reindented);
  t.ok(performance.now() - started < 10_000, "40 reindented files, which took 25 s");

  const same = lines(20_000, (i) => `${i % 50}`);
  const other = same.map((line, i) => (i % 3 === 0 ? "x" : line));
  t.strictSame(apply(same, other), other, "lines that stand there hundreds of times");
});
