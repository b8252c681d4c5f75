/** A screen of Neovim's, cell by cell, as its UI protocol (`ext_linegrid`) draws it. */
import type { NeovimClient } from "neovim";
import { z } from "zod";

const Style = z.object({
  foreground: z.number().optional(),
  background: z.number().optional(),
  reverse: z.boolean().optional(),
  bold: z.boolean().optional(),
  italic: z.boolean().optional(),
  underline: z.boolean().optional(),
});
export type Style = z.infer<typeof Style>;

/** `text` is empty in the second half of a wide character. */
export interface Cell {
  text: string;
  style: Style;
}

export interface Grid {
  rows: Cell[][];
  /** 0-based. */
  cursor: { row: number; column: number };
  /** Colours of what has none of its own, as 0xRRGGBB. */
  foreground: number;
  background: number;
}

const CellUpdate = z
  .tuple([z.string(), z.number().optional(), z.number().optional()])
  .or(z.tuple([z.string(), z.number()]))
  .or(z.tuple([z.string()]));
const Line = z.tuple([z.number(), z.number(), z.number(), z.array(CellUpdate)]).rest(z.unknown());
const Numbers = z.array(z.number());

/**
 * Attaches a UI of that size.
 * @param flushed is called whenever the screen is what is to be seen
 * @returns the screen, which follows Neovim from then on
 */
export async function attachGrid(
  nvim: NeovimClient,
  columns: number,
  lines: number,
  flushed: (grid: Grid) => void = () => {},
): Promise<Grid> {
  const empty = (): Cell[][] =>
    Array.from({ length: lines }, () => Array.from({ length: columns }, () => ({ text: " ", style: {} })));
  const grid: Grid = {
    rows: empty(),
    cursor: { row: 0, column: 0 },
    foreground: 0xe0e2ea,
    background: 0x14161b,
  };
  const styles = new Map<number, Style>();

  function drawLine(args: unknown): void {
    const [, row, start, updates] = Line.parse(args);
    let column = start;
    let style: Style = {};
    for (const [text, id, repeat = 1] of updates) {
      if (id !== undefined) style = styles.get(id) ?? {};
      for (let i = 0; i < repeat; i++) (grid.rows[row] ?? [])[column++] = { text, style };
    }
  }

  function scroll([, top = 0, bottom = 0, left = 0, right = 0, by = 0]: number[]): void {
    const before = grid.rows.map((row) => [...row]);
    for (let row = top; row < bottom; row++) {
      const source = row + by;
      if (source < top || source >= bottom) continue;
      grid.rows[row]?.splice(left, right - left, ...(before[source]?.slice(left, right) ?? []));
    }
  }

  const draw: Record<string, (args: unknown) => void> = {
    grid_line: drawLine,
    grid_scroll: (args) => scroll(Numbers.parse(args)),
    grid_clear: () => {
      grid.rows = empty();
    },
    grid_cursor_goto: (args) => {
      const [, row = 0, column = 0] = Numbers.parse(args);
      grid.cursor = { row, column };
    },
    default_colors_set: (args) => {
      const [foreground = grid.foreground, background = grid.background] = z.array(z.number()).parse(args);
      Object.assign(grid, { foreground, background });
    },
    flush: () => flushed(grid),
    hl_attr_define: (args) => {
      const [id, style] = z.tuple([z.number(), Style]).rest(z.unknown()).parse(args);
      styles.set(id, style);
    },
  };
  nvim.on("notification", (method: string, events: unknown) => {
    if (method !== "redraw") return;
    for (const [name, ...calls] of z.array(z.tuple([z.string()]).rest(z.unknown())).parse(events)) {
      for (const args of calls) draw[name]?.(args);
    }
  });
  await nvim.request("nvim_ui_attach", [columns, lines, { rgb: true, ext_linegrid: true }]);
  return grid;
}
