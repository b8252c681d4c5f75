/** Formats the rows of the results, for the terminal and as Markdown. */
import { type Summary, summarize } from "./stats.ts";

/** The budget of a figure: a limit for its difference from the floor (`more`), or for the figure itself (`most`). */
export type Goal = { more: number } | { most: number };

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

/** Whether a figure is over its budget. */
export function isMissed({ figure, floor, goal }: Row): boolean {
  if (!goal) return false;
  return "most" in goal
    ? figure.median > goal.most
    : figure.median - (floor?.median ?? Number.NaN) > goal.more;
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
  return "more" in row.goal
    ? `≤ ${row.goal.more} ${row.unit} more`
    : `≤ ${withUnit(`${row.goal.most}`, row)}`;
}

const HEADERS = ["row", "figure", "floor", "budget", ""];

function cells(row: Row): string[] {
  return [
    row.name,
    withUnit(spread(row.figure), row),
    row.floor ? spread(row.floor) : "",
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
  return [
    `## ${nvim}`,
    "",
    line(HEADERS),
    line(HEADERS.map(() => "---")),
    ...rows.map((row) => line(cells(row))),
    "",
  ].join("\n");
}
