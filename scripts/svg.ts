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

/** Cells side by side that look alike. */
interface Run {
  column: number;
  length: number;
  text: string;
  style: Style;
}

function runs(row: readonly Cell[]): Run[] {
  const found: Run[] = [];
  row.forEach(({ text, style }, column) => {
    const last = found.at(-1);
    if (last && last.style === style) {
      last.text += text;
      last.length++;
    } else {
      found.push({ column, length: 1, text, style });
    }
  });
  return found;
}

/** @param title what a reader hears who does not see the picture. */
export function toSvg(grid: Grid, title: string): string {
  const colors = ({ foreground = grid.foreground, background = grid.background, reverse }: Style) =>
    reverse ? { ink: background, paper: foreground } : { ink: foreground, paper: background };

  function draw({ column, length, text, style }: Run, row: number): string {
    const { ink, paper } = colors(style);
    const x = MARGIN + column * WIDTH;
    const y = MARGIN + row * HEIGHT;
    const width = length * WIDTH;
    const rect =
      paper === grid.background
        ? ""
        : `<rect x="${x}" y="${y}" width="${width}" height="${HEIGHT}" fill="${hex(paper)}"/>`;
    if (text.trim() === "") return rect;
    const look = [
      `fill="${hex(ink)}"`,
      style.bold ? 'font-weight="bold"' : "",
      style.italic ? 'font-style="italic"' : "",
      style.underline ? 'text-decoration="underline"' : "",
    ];
    const attributes = look.filter(Boolean).join(" ");
    // The length keeps columns in line whatever font there is.
    return `${rect}<text x="${x}" y="${y + BASELINE}" textLength="${width}" ${attributes}>${escaped(text)}</text>`;
  }

  const columns = grid.rows[0]?.length ?? 0;
  const width = columns * WIDTH + 2 * MARGIN;
  const height = grid.rows.length * HEIGHT + 2 * MARGIN;
  const body = grid.rows.flatMap((row, index) => runs(row).map((run) => draw(run, index)));
  const { row, column } = grid.cursor;
  const cursor = `<rect x="${MARGIN + column * WIDTH}" y="${MARGIN + row * HEIGHT}" width="${WIDTH}" height="${HEIGHT}" fill="${hex(grid.foreground)}" fill-opacity="0.6"/>`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`,
    `  font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="${FONT_SIZE}" xml:space="preserve">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="100%" height="100%" rx="8" fill="${hex(grid.background)}"/>`,
    ...body.filter(Boolean),
    cursor,
    "</svg>",
    "",
  ].join("\n");
}
