/** Formats answers for a model: short lines, and a note about omitted parts. */

export const SEVERITIES = ["error", "warning", "info", "hint"] as const;

/** Formats a number with its noun: `3 errors`, `1 error`. */
export function count(number: number, noun: string, plural = `${noun}s`): string {
  return `${number} ${number === 1 ? noun : plural}`;
}

/**
 * Shortens a text to one line without control characters. A line break in the text could make one entry look like two.
 */
export function oneLine(text: string, units = 300): string {
  const line = text.replace(/[\s\p{Cc}]+/gu, " ").trim();
  return line.length > units ? `${line.slice(0, units)}…` : line;
}

/** Formats the number of diagnostics, such as `3 errors, 1 hint`. @param counts by severity, the most severe first */
export function tally(counts: readonly number[]): string {
  const parts = SEVERITIES.flatMap((severity, index) => {
    const number = counts[index] ?? 0;
    return number > 0 ? [count(number, severity)] : [];
  });
  return parts.length > 0 ? parts.join(", ") : "no diagnostics";
}

/**
 * Returns a line that tells how many entries of a list are shown. Returns no line for a complete list.
 * @param how advice for getting the other entries
 */
export function cutOff(shown: number, total: number, how: string): string[] {
  return total > shown ? [`(${shown} of ${total} shown; ${how})`] : [];
}

/** Truncates a text, preferably at the end of a line. */
export function beginning(text: string, units: number): string {
  if (text.length <= units) return text;
  const end = text.lastIndexOf("\n", units);
  const cut = text.slice(0, end > 0 ? end : units);
  return `${cut.replace(/[\uD800-\uDBFF]$/, "")}\n(cut off: ${text.length - cut.length} of ${text.length} characters are not shown)`;
}

/** Formats a place: `name:line:character rest`. */
export function at(name: string, line: number, character: number, rest: string): string {
  return `${name}:${line}:${character} ${rest}`.trimEnd();
}
