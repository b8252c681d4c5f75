import fc from "fast-check";
import t from "tap";
import { diffLines, splitLines } from "../../src/changes/difference/compare-lines.ts";
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

t.test("any bytes split into lines lose nothing, and edits convert one text to the other", async (t) => {
  const bytes = fc.string({
    unit: fc.constantFrom("a", "b\n", "\n", "\r\n", "\xff\n", "\0\n"),
    maxLength: 16,
  });
  fc.assert(
    fc.property(bytes, bytes, (before, after) => {
      const [from, to] = [splitLines(before), splitLines(after)];
      t.equal(from.join(""), before);
      t.ok(from.every((line) => /^[^\n]*\n$|^[^\n]+$/.test(line)));
      t.strictSame(apply(from, to), to);
      const edits = diffLines(from, to);
      for (const [i, { at, removed }] of edits.entries())
        if (edits[i + 1]) t.ok((edits[i + 1]?.at ?? 0) > at + removed, "a line between two edits");
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

  const usage = process.cpuUsage();
  const source = lines(1_500, (i) => (i % 7 === 0 ? "}" : i % 11 === 0 ? "" : `line ${i}`));
  const reindented = source.map((line) => (line === "" ? line : `  ${line}`));
  for (let file = 0; file < 40; file += 1) t.strictSame(apply(source, reindented), reindented);
  t.ok(process.cpuUsage(usage).user < 10_000_000, "40 reindented files, which took 25 s");

  const all = lines(40_000, (i) => `${i}`);
  const others = all.map((line) => `new ${line}`);
  t.strictSame(diffLines(all, others), [{ at: 0, removed: 40_000, inserted: others }]);

  const same = lines(20_000, (i) => `${i % 50}`);
  const other = same.map((line, i) => (i % 3 === 0 ? "x" : line));
  t.strictSame(apply(same, other), other, "lines that stand there hundreds of times");
});
