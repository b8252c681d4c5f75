/** Draws a screen as an SVG. */
import type { Cell, Grid, Style } from "./grid.ts";

/** Of one cell, in pixels. */
const WIDTH = 8;
const HEIGHT = 18;
const FONT_SIZE = 13.3;
/** From the top of a cell to the line that letters stand on. */
const BASELINE = 13.5;
const MARGIN = 12;

const hex = (color: number) => `#${color.toString(16).padStart(6, "0")}`;
const escaped = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** Cells side by side. */
interface Run {
  column: number;
  cells: Cell[];
}

/** @param joins whether a cell belongs to the run before it */
function runs(cells: readonly Cell[], first: number, joins: (cell: Cell, run: Run) => boolean): Run[] {
  const found: Run[] = [];
  cells.forEach((cell, index) => {
    const last = found.at(-1);
    if (last && joins(cell, last)) last.cells.push(cell);
    else found.push({ column: first + index, cells: [cell] });
  });
  return found;
}

/** Cells that look alike. */
const alike = (row: readonly Cell[]) => runs(row, 0, ({ style }, { cells }) => cells[0]?.style === style);

const isBlank = (cell: Cell | undefined) => cell?.text === " ";

/** What is written without two blanks on end, of which programs make one, or none at the ends. */
function pieces({ column, cells }: Run): Run[] {
  const joined = runs(
    cells,
    column,
    (cell, run) => !isBlank(run.cells[0]) && !(isBlank(cell) && isBlank(run.cells.at(-1))),
  );
  for (const piece of joined) while (isBlank(piece.cells.at(-1))) piece.cells.pop();
  return joined.filter((piece) => piece.cells.length > 0);
}

function draw(run: Run, row: number, grid: Grid): string[] {
  const style: Style = run.cells[0]?.style ?? {};
  const { foreground = grid.foreground, background = grid.background } = style;
  const [ink, paper] = style.reverse ? [background, foreground] : [foreground, background];
  const y = top(row);
  const rect = `<rect x="${left(run.column)}" y="${y}" width="${run.cells.length * WIDTH}" height="${HEIGHT}" fill="${hex(paper)}"/>`;
  const look = [
    `fill="${hex(ink)}"`,
    style.bold ? 'font-weight="bold"' : "",
    style.italic ? 'font-style="italic"' : "",
    style.underline ? 'text-decoration="underline"' : "",
  ];
  const attributes = look.filter(Boolean).join(" ");
  const texts = pieces(run).map(({ column, cells }) => {
    const text = escaped(cells.map((cell) => cell.text).join(""));
    // The length keeps columns in line whatever font there is.
    return `<text x="${left(column)}" y="${y + BASELINE}" textLength="${cells.length * WIDTH}" ${attributes}>${text}</text>`;
  });
  return paper === grid.background ? texts : [rect, ...texts];
}

/** Where a column begins, and a row. */
export const left = (column: number) => MARGIN + column * WIDTH;
export const top = (row: number) => MARGIN + row * HEIGHT;

/** What is on a screen, each thing as an element that stands for itself. */
export function elements(grid: Grid): string[] {
  return grid.rows.flatMap((row, index) => alike(row).flatMap((run) => draw(run, index, grid)));
}

/** @param inside of the element, such as what moves it */
export function cursorOf(grid: Grid, inside = ""): string {
  const { row, column } = grid.cursor;
  return `<rect x="${left(column)}" y="${top(row)}" width="${WIDTH}" height="${HEIGHT}" fill="${hex(grid.foreground)}" fill-opacity="0.6">${inside}</rect>`;
}

/**
 * @param title what a reader hears who does not see the picture
 * @param body what is drawn upon the background of the screen
 */
export function pictureOf(grid: Grid, title: string, body: readonly string[]): string {
  const width = left(grid.rows[0]?.length ?? 0) + MARGIN;
  const height = top(grid.rows.length) + MARGIN;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`,
    `  font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="${FONT_SIZE}">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="100%" height="100%" rx="8" fill="${hex(grid.background)}"/>`,
    ...body,
    "</svg>",
    "",
  ].join("\n");
}

export function toSvg(grid: Grid, title: string): string {
  return pictureOf(grid, title, [...elements(grid), cursorOf(grid)]);
}
