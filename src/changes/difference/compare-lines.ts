/**
 * Splits texts into lines, and compares them. Each character of a text stands for one byte of its file (latin1), so
 * that all bytes are preserved. A line includes its line break, so that different or missing line breaks count as
 * differences.
 */
import { diffArrays } from "diff";

/** An edit: replaces `removed` lines, starting at line `at` (0-based), with the `inserted` lines. */
export interface Edit {
  at: number;
  removed: number;
  inserted: string[];
}

/**
 * Limits for the algorithm that finds the fewest differences. The cost grows with the product of differences and lines.
 */
const MAX_EDITS = 200;
const MAX_COST = 2_000_000;

/** Splits a text into lines, including their line breaks. An empty text has no lines. */
export function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/**
 * Returns the lines of a text as Neovim would load them into a buffer: without line breaks and byte order mark. Decodes
 * each line as UTF-8, or as Latin-1 if its bytes are not valid UTF-8.
 */
export function bufferLines(text: string): string[] {
  return splitLines(text.replace(/^\xef\xbb\xbf/, "")).map((line) => {
    const bytes = Buffer.from(line.replace(/\r?\n$/, ""), "latin1");
    const decoded = bytes.toString("utf8");
    return decoded.includes("\uFFFD") ? bytes.toString("latin1") : decoded;
  });
}

/** A range of lines in each text (0-based). `to` is exclusive. */
interface Part {
  readonly a: readonly [from: number, to: number];
  readonly b: readonly [from: number, to: number];
}

/**
 * Compares two texts line by line. For texts with many differences, pairs the lines that occur exactly once in each
 * text, and compares the parts between these lines. A part that still differs too much is a single edit.
 * @returns edits from top to bottom, with line numbers of `before`. Two edits are separated by at least one unchanged
 * line
 */
export function diffLines(before: readonly string[], after: readonly string[]): Edit[] {
  const whole = trimmed(before, after, { a: [0, before.length], b: [0, after.length] });
  const joined: Part[] = [];
  for (const part of fewest(before, after, whole) ?? betweenUniques(before, after, whole)) {
    const last = joined.at(-1);
    if (last?.a[1] !== part.a[0]) joined.push(part);
    else joined[joined.length - 1] = { a: [last.a[0], part.a[1]], b: [last.b[0], part.b[1]] };
  }
  return joined.map(({ a, b }) => ({ at: a[0], removed: a[1] - a[0], inserted: after.slice(...b) }));
}

type Lines = readonly string[];

function betweenUniques(a: Lines, b: Lines, part: Part): Part[] {
  let [fromA, fromB] = [part.a[0], part.b[0]];
  const end: Pair = [part.a[1], part.b[1]];
  return [...uniqueInBoth(a, b, part), end].flatMap(([atA, atB]) => {
    const gap = trimmed(a, b, { a: [fromA, atA], b: [fromB, atB] });
    [fromA, fromB] = [atA + 1, atB + 1];
    return fewest(a, b, gap) ?? [gap];
  });
}

/** Leaves out equal lines at the beginning and the end of a part. */
function trimmed(a: Lines, b: Lines, part: Part): Part {
  let [[fromA, toA], [fromB, toB]] = [part.a, part.b];
  for (; fromA < toA && fromB < toB && a[fromA] === b[fromB]; fromA += 1) fromB += 1;
  for (; fromA < toA && fromB < toB && a[toA - 1] === b[toB - 1]; toA -= 1) toB -= 1;
  return { a: [fromA, toA], b: [fromB, toB] };
}

type Pair = readonly [atA: number, atB: number];

/**
 * Pairs lines that occur exactly once in each text. Returns as many pairs as possible that have the same order in both
 * texts.
 */
function uniqueInBoth(a: Lines, b: Lines, part: Part): Pair[] {
  const [inA, inB] = [uniques(a, part.a), uniques(b, part.b)];
  const pairs: Pair[] = [];
  for (const [line, atA] of inA) {
    const atB = inB.get(line);
    if (atA !== undefined && atB !== undefined) pairs.push([atA, atB]);
  }
  return longestRise(pairs.sort(([first], [second]) => first - second));
}

/** Returns the index of each line. The index is undefined for a line that occurs several times. */
function uniques(lines: Lines, [from, to]: Part["a"]): Map<string, number | undefined> {
  const places = new Map<string, number | undefined>();
  for (let at = from; at < to; at += 1) {
    const line = lines[at] ?? "";
    places.set(line, places.has(line) ? undefined : at);
  }
  return places;
}

/** Returns the longest subsequence of the pairs in which the second number increases from pair to pair. */
function longestRise(pairs: readonly Pair[]): Pair[] {
  /** Each pair, with the index of the previous pair in the longest subsequence that ends here. */
  const ends: { pair: Pair; before: number }[] = [];
  /** `bestEnds[n - 1]` is the index in `ends` of the last pair of the best subsequence of length n. */
  const bestEnds: number[] = [];
  for (const pair of pairs) {
    let [low, high] = [0, bestEnds.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((ends[bestEnds[middle] ?? 0]?.pair[1] ?? 0) < pair[1]) low = middle + 1;
      else high = middle;
    }
    ends.push({ pair, before: bestEnds[low - 1] ?? -1 });
    bestEnds[low] = ends.length - 1;
  }
  const rise: Pair[] = [];
  for (let at = bestEnds.at(-1) ?? -1; at >= 0; ) {
    const { pair, before } = ends[at] ?? { pair: [0, 0] as const, before: -1 };
    rise.push(pair);
    at = before;
  }
  return rise.reverse();
}

/** Finds the fewest differences. @returns undefined if there are too many differences */
function fewest(a: Lines, b: Lines, part: Part): Part[] | undefined {
  const [ours, theirs] = [a.slice(...part.a), b.slice(...part.b)];
  if (ours.length + theirs.length === 0) return [];
  const known = new Set(ours);
  if (!theirs.some((line) => known.has(line))) return [part];
  const maxEditLength = Math.min(MAX_EDITS, Math.ceil(MAX_COST / (ours.length + theirs.length)));
  const changes = diffArrays(ours, theirs, { maxEditLength });
  if (!changes) return undefined;
  const parts: Part[] = [];
  let [atA, atB] = [part.a[0], part.b[0]];
  for (const { added, removed, value } of changes) {
    const [toA, toB] = [added ? atA : atA + value.length, removed ? atB : atB + value.length];
    if (added || removed) parts.push({ a: [atA, toA], b: [atB, toB] });
    [atA, atB] = [toA, toB];
  }
  return parts;
}
