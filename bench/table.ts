/** Formats the rows of the results, for the terminal and as Markdown. */
import { reasonFor } from "./reasons.ts";
import { type Summary, summarize } from "./stats.ts";

/**
 * The goal of a figure: a limit for its ratio to the floor (`ratio`), for its difference from the floor (`more`), or
 * for the figure itself (`most`).
 */
export type Goal = { ratio: number } | { more: number } | { most: number };

export interface Row {
  name: string;
  /** Unit of the figure. Empty for an exponent, which has no unit. */
  unit: "ms" | "us" | "MB" | "KB" | "";
  figure: Summary;
  floor?: Summary;
  goal?: Goal;
}

const summaryOf = (samples: Summary | readonly number[]): Summary =>
  "median" in samples ? samples : summarize(samples);

/** Creates a row from samples or their summary, in `unit`. */
export function row(
  name: string,
  unit: Row["unit"],
  figure: Summary | readonly number[],
  { floor, goal }: { floor?: Summary | readonly number[]; goal?: Goal | undefined } = {},
): Row {
  return {
    name,
    unit,
    figure: summaryOf(figure),
    ...(floor && { floor: summaryOf(floor) }),
    ...(goal && { goal }),
  };
}

export interface Results {
  /** Version of Neovim, such as `NVIM v0.10.4`. */
  nvim: string;
  rows: Row[];
}

/** Returns the value that is compared with the goal. */
function comparedValue({ figure, floor, goal }: Row): number | undefined {
  if (!floor || (goal && "most" in goal)) return figure.median;
  return goal && "more" in goal ? figure.median - floor.median : figure.median / floor.median;
}

function limit(goal: Goal): number {
  return "ratio" in goal ? goal.ratio : "more" in goal ? goal.more : goal.most;
}

export function isMissed(row: Row): boolean {
  const value = comparedValue(row);
  return row.goal !== undefined && value !== undefined && value > limit(row.goal);
}

function number(value: number): string {
  if (Number.isNaN(value)) return "–";
  return value.toFixed(Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2);
}

function withUnit(text: string, { unit }: Row): string {
  return unit ? `${text} ${unit}` : text;
}

function spread({ median, low, high }: Summary): string {
  return low === high ? number(median) : `${number(median)} (${number(low)}–${number(high)})`;
}

function goalText(row: Row): string {
  if (!row.goal) return "";
  if ("ratio" in row.goal) return `≤ ${row.goal.ratio} ×`;
  return "more" in row.goal
    ? `≤ ${row.goal.more} ${row.unit} more`
    : `≤ ${withUnit(`${row.goal.most}`, row)}`;
}

function ratioText(row: Row): string {
  const value = comparedValue(row);
  if (!row.floor || value === undefined || (row.goal && "most" in row.goal)) return "";
  return row.goal && "more" in row.goal ? `${value < 0 ? "" : "+"}${number(value)}` : `${number(value)} ×`;
}

const HEADERS = ["row", "figure", "floor", "ratio", "goal", ""];

function cells(row: Row): string[] {
  return [
    row.name,
    withUnit(spread(row.figure), row),
    row.floor ? spread(row.floor) : "",
    ratioText(row),
    goalText(row),
    row.goal ? (isMissed(row) ? "missed" : "met") : "",
  ];
}

function align(lines: readonly string[][]): string[] {
  const widths = lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths?.[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

export function formatTerminal({ nvim, rows }: Results): string {
  return [`\n${nvim}`, ...align([HEADERS, ...rows.map(cells)])].join("\n");
}

export function formatMarkdown({ nvim, rows }: Results): string {
  const line = (cells: string[]) => `| ${cells.join(" | ")} |`;
  const reasons = new Set(rows.filter(isMissed).flatMap(({ name }) => reasonFor(name) ?? []));
  return [
    `## ${nvim}`,
    "",
    line(HEADERS),
    line(HEADERS.map(() => "---")),
    ...rows.map((row) => line(cells(row))),
    ...(reasons.size > 0
      ? ["", "Why goals are missed:", "", ...[...reasons].map((text) => `- ${text}`)]
      : []),
    "",
  ].join("\n");
}

/** Formats the figures of two plugins side by side. */
export function formatComparison(
  nvim: string,
  name: string,
  ours: readonly Row[],
  theirs: readonly Row[],
): string {
  const lines = ours.map((row) => {
    const other = theirs.find((candidate) => candidate.name === row.name);
    const ratio = other ? `${number(other.figure.median / row.figure.median)} ×` : "";
    return [
      row.name,
      `${spread(row.figure)} ${row.unit}`,
      other ? `${spread(other.figure)} ${row.unit}` : "–",
      ratio,
    ];
  });
  return [`\n${nvim}`, ...align([["row", "gemini-bridge.nvim", name, "theirs / ours"], ...lines])].join("\n");
}
