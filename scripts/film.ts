/** Draws what a screen showed over a time as one SVG that moves by itself, and begins anew when it is over. */
import type { Grid } from "./grid.ts";
import { cursorOf, elements, left, pictureOf, top } from "./svg.ts";

export interface Frame {
  /** Milliseconds since anything. */
  at: number;
  grid: Grid;
}

/** What is over before anyone sees it is left out, and nobody wants to wait (milliseconds). */
const SHORTEST = 50;
const LONGEST = 1200;
/** For how long the last frame stays. */
const END = 4000;

/** Keeps the frames of a screen, which is drawn again and again. */
export function createRecorder() {
  const frames: Frame[] = [];
  return {
    frames,
    flushed(grid: Grid): void {
      // Cells are replaced, never changed.
      const copy = { ...grid, cursor: { ...grid.cursor }, rows: grid.rows.map((row) => [...row]) };
      frames.push({ at: performance.now(), grid: copy });
    },
  };
}

/** The frames that are seen, with the time from the first on at which each begins. */
function paced(frames: readonly Frame[]): Frame[] {
  const seen = frames.filter(({ at }, index) => (frames[index + 1]?.at ?? Infinity) - at >= SHORTEST);
  let now = 0;
  return seen.map(({ at, grid }, index) => {
    now += Math.min(at - (seen[index - 1]?.at ?? at), LONGEST);
    return { at: now, grid };
  });
}

export function toFilm(recorded: readonly Frame[], title: string): string {
  const frames = paced(recorded);
  const last = frames.at(-1);
  if (!last) throw new Error("nothing was recorded");
  const duration = last.at + END;
  const share = (index: number) => ((frames[index]?.at ?? 0) / duration).toFixed(4);

  /** Makes an attribute what it is in each frame. */
  function animate(attribute: string, values: readonly unknown[]): string {
    const changes = values.flatMap((value, index) => (value === values[index - 1] ? [] : [index]));
    if (changes.length === 1) return "";
    const times = changes.map(share).join(";");
    const list = changes.map((index) => values[index]).join(";");
    return `<animate attributeName="${attribute}" dur="${(duration / 1000).toFixed(2)}s" calcMode="discrete" repeatCount="indefinite" keyTimes="${times}" values="${list}"/>`;
  }

  /** Elements with the frames that they are in. */
  const shown = new Map<string, Set<number>>();
  frames.forEach(({ grid }, index) => {
    for (const element of elements(grid)) shown.set(element, (shown.get(element) ?? new Set()).add(index));
  });
  // Where nothing moves, as for who wants no motion, the last frame is what stays.
  const end = frames.length - 1;

  /** What comes and goes together is told so once. */
  function groupsOf(kind: string): string[] {
    const groups = new Map<string, string[]>();
    for (const [element, indices] of shown) {
      if (!element.startsWith(kind)) continue;
      const visibility = frames.map((_, index) => (indices.has(index) ? "visible" : "hidden"));
      const start = `<g visibility="${visibility[end]}">${animate("visibility", visibility)}`;
      groups.set(start, [...(groups.get(start) ?? []), element]);
    }
    return [...groups].map(([start, members]) => `${start}${members.join("\n")}</g>`);
  }
  // One background may be that of many texts, which are to be above it.
  const body = [...groupsOf("<rect"), ...groupsOf("<text")];
  const cursor = cursorOf(
    last.grid,
    animate(
      "x",
      frames.map(({ grid }) => left(grid.cursor.column)),
    ) +
      animate(
        "y",
        frames.map(({ grid }) => top(grid.cursor.row)),
      ),
  );
  return pictureOf(last.grid, title, [...body, cursor]);
}
