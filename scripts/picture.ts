/**
 * Draws screens of a Neovim as an animated SVG picture. A terminal recorder could not do this: a scene waits for states of
 * Neovim and of the CLI, and only the RPC channel of this Neovim reports these states.
 */
import { z } from "zod";
import type { Nvim } from "../test/support/nvim.ts";

/** Size of a screen cell and of the letters in it (pixels). */
const WIDTH = 8;
const HEIGHT = 18;
export const FONT_SIZE = 13.3;
/** Distance from the top of a cell to the baseline of its letter. */
const BASELINE = 13.5;
const MARGIN = 12;

const Style = z.object({
  foreground: z.int().optional(),
  background: z.int().optional(),
  reverse: z.boolean().optional(),
  bold: z.boolean().optional(),
  italic: z.boolean().optional(),
  underline: z.boolean().optional(),
});

/** Adjacent cells of a row with the same highlight. The second cell of a wide character has no text. */
interface Run {
  column: number;
  texts: string[];
  style: z.infer<typeof Style>;
}

export interface Screen {
  columns: number;
  rows: Run[][];
  foreground: number;
  background: number;
  /** Row and column of the cursor, 0-based. */
  cursor: [number, number];
}

const Cell = z.tuple([z.string()]).rest(z.int());
const Line = z.tuple([z.int(), z.int(), z.int(), z.array(Cell)]).rest(z.unknown());
const Numbers = z.array(z.number());

/**
 * Attaches a UI with this number of columns and lines to Neovim.
 * @returns a function that redraws the screen and returns its content
 */
export async function attachScreen(
  nvim: Nvim,
  columns: number,
  lines: number,
): Promise<() => Promise<Screen>> {
  const styles = new Map<number, z.infer<typeof Style>>();
  const blank = (): Screen["rows"] => Array.from({ length: lines }, () => []);
  const screen: Screen = { columns, rows: blank(), foreground: 0, background: 0, cursor: [0, 0] };
  const draw: Record<string, (args: unknown) => void> = {
    // Handles no events that scroll or change cells, because a newly attached UI receives each cell once.
    grid_line(args) {
      const [, row, first, cells] = Line.parse(args);
      let column = first;
      for (const [text, id, repeat = 1] of cells) {
        const style = id === undefined ? screen.rows[row]?.at(-1)?.style : styles.get(id);
        screen.rows[row]?.push({ column, texts: Array(repeat).fill(text), style: style ?? {} });
        column += repeat;
      }
    },
    grid_cursor_goto(args) {
      const [, row = 0, column = 0] = Numbers.parse(args);
      screen.cursor = [row, column];
    },
    default_colors_set(args) {
      const [foreground = 0, background = 0] = Numbers.parse(args);
      Object.assign(screen, { foreground, background });
    },
    hl_attr_define(args) {
      const [id, style] = z.tuple([z.int(), Style]).rest(z.unknown()).parse(args);
      styles.set(id, style);
    },
  };
  nvim.nvim.on("notification", (method: string, events: unknown) => {
    if (method !== "redraw") return;
    for (const [name, ...calls] of z.array(z.tuple([z.string()]).rest(z.unknown())).parse(events))
      for (const args of calls) draw[name]?.(args);
  });
  const attach = () =>
    nvim.nvim.request("nvim_ui_attach", [columns, lines, { rgb: true, ext_linegrid: true }]);
  await attach();
  return async () => {
    await nvim.nvim.request("nvim_ui_detach", []);
    screen.rows = blank();
    await attach();
    await nvim.command("redraw");
    await nvim.lua("return true"); // all drawn lines arrive before this answer
    return { ...screen, rows: screen.rows.map(joined) };
  };
}

/** Joins adjacent cells with the same highlight. */
function joined(cells: readonly Run[]): Run[] {
  const runs: Run[] = [];
  for (const { column, texts, style } of cells) {
    const last = runs.at(-1);
    if (last && last.style === style && last.column + last.texts.length === column) last.texts.push(...texts);
    else runs.push({ column, texts: [...texts], style });
  }
  return runs;
}

const hex = (color: number) => `#${color.toString(16).padStart(6, "0")}`;
const escaped = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const left = (column: number) => MARGIN + column * WIDTH;
const top = (row: number) => MARGIN + row * HEIGHT;
const rect = (row: number, column: number, width: number, rest: string) =>
  `<rect x="${left(column)}" y="${top(row)}" width="${width * WIDTH}" height="${HEIGHT}" ${rest}/>`;

function draw({ column, texts, style }: Run, row: number, screen: Screen): string[] {
  const { foreground = screen.foreground, background = screen.background, reverse } = style;
  const [ink, paper] = reverse ? [background, foreground] : [foreground, background];
  const attributes = [
    `fill="${hex(ink)}"`,
    style.bold ? 'font-weight="bold"' : "",
    style.italic ? 'font-style="italic"' : "",
    style.underline ? 'text-decoration="underline"' : "",
  ];
  // Splits the row into texts without adjacent blanks, and without blanks at their ends, because renderers collapse
  // blanks. A NUL stands for the second cell of a wide character.
  const padded = texts.map((text) => text || "\u0000").join("");
  const written = [...padded.matchAll(/[^ ]+(?: [^ ]+)*/g)].map(({ 0: text, index }) => {
    const before = [...padded.slice(0, index)].length;
    // Sets `textLength`, so that the columns are aligned in any font.
    const place = `x="${left(column + before)}" y="${top(row) + BASELINE}" textLength="${[...text].length * WIDTH}"`;
    return `<text ${place} ${attributes.filter(Boolean).join(" ")}>${escaped(text.replaceAll("\u0000", ""))}</text>`;
  });
  return paper === screen.background
    ? written
    : [rect(row, column, texts.length, `fill="${hex(paper)}"`), ...written];
}

/** Draws a screen as parts. Each row is one part, and the cursor is the last part. */
function drawParts(screen: Screen): string[] {
  const { rows, cursor, foreground } = screen;
  const drawn = rows.map((runs, row) => runs.flatMap((run) => draw(run, row, screen)).join("\n"));
  return [...drawn, rect(...cursor, 1, `fill="${hex(foreground)}" fill-opacity="0.6"`)].filter(Boolean);
}

function wrap({ columns, rows, background }: Screen, title: string, content: readonly string[]): string {
  const [width, height] = [left(columns) + MARGIN, top(rows.length) + MARGIN];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`,
    `  font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="${FONT_SIZE}">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="100%" height="100%" rx="8" fill="${hex(background)}"/>`,
    ...content,
    "</svg>",
    "",
  ].join("\n");
}

export interface Frame {
  screen: Screen;
  seconds: number;
  /** Keys that led to this frame, or what it shows. Drawn in the lower right corner. */
  caption: string;
}

function drawCaption({ screen: { columns, rows, foreground, background }, caption }: Frame): string[] {
  if (!caption) return [];
  const width = caption.length + 4;
  const [column, row] = [columns - width - 1, rows.length - 3];
  const text = `<text x="${left(column + 2)}" y="${top(row) + BASELINE}" fill="${hex(background)}" font-weight="bold">`;
  return [`${rect(row, column, width, `rx="4" fill="${hex(foreground)}"`)}${text}${escaped(caption)}</text>`];
}

/**
 * Draws frames as an animation that repeats. Draws a row once if several frames share it. Renderers without animations,
 * and readers who prefer no motion, see the frame that is shown longest.
 * @param title describes the animation to readers who cannot see it
 */
export function toAnimation(frames: readonly Frame[], title: string): string {
  const total = frames.reduce((sum, { seconds }) => sum + seconds, 0);
  const longest = frames.reduce((best, frame) => (frame.seconds > best.seconds ? frame : best));
  const framesOf = new Map<string, number[]>();
  for (const [index, frame] of frames.entries())
    for (const part of [...drawParts(frame.screen), ...drawCaption(frame)])
      framesOf.set(part, [...(framesOf.get(part) ?? []), index]);
  const groups = new Map<string, string[]>();
  for (const [part, shown] of framesOf) groups.set(`${shown}`, [...(groups.get(`${shown}`) ?? []), part]);
  const styles: string[] = [];
  const drawn = [...groups].map(([key, parts], group) => {
    const shown = new Set(key.split(",").map(Number));
    let seconds = 0;
    const steps = frames.map((frame, index) => {
      const step = `${((100 * seconds) / total).toFixed(2)}%{visibility:${shown.has(index) ? "visible" : "hidden"}}`;
      seconds += frame.seconds;
      return step;
    });
    styles.push(`@keyframes f${group}{${steps.join("")}} .f${group}{animation-name:f${group}}`);
    return [
      `<g class="f${group}"${shown.has(frames.indexOf(longest)) ? "" : ' visibility="hidden"'}>`,
      ...parts,
      "</g>",
    ].join("\n");
  });
  styles.push(`g{animation:${total}s step-end infinite}`);
  styles.push("@media (prefers-reduced-motion:reduce){g{animation:none}}");
  return wrap(longest.screen, title, [`<style>${styles.join("\n")}</style>`, ...drawn]);
}
