/** The pictures of the README, which are drawn here. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { createRecorder, type Frame, toFilm } from "../../scripts/film.ts";
import type { Cell, Grid } from "../../scripts/grid.ts";
import { toSvg } from "../../scripts/svg.ts";

const doc = join(import.meta.dirname, "../../doc");

/** What a README may weigh (bytes). */
const MOST = 300_000;

const plain = {};
const loud = { bold: true, background: 0x112233 };
const cells = (text: string, style: Cell["style"] = plain) =>
  Array.from(text, (each) => ({ text: each, style }));
const screen = (...rows: Cell[][]): Grid => ({
  rows,
  cursor: { row: 0, column: 0 },
  foreground: 0xffffff,
  background: 0,
});

const TEXT = /<text x="(\d+)" y="([\d.]+)" textLength="(\d+)"[^>]*>([^<]*)</g;
const texts = (svg: string) =>
  [...svg.matchAll(TEXT)].map(([, x, , width, text]) => [Number(x), Number(width), text]);

t.test("each text stands at its column, without blanks that renderers make one", async (t) => {
  const row = [
    ...cells("  a b   c "),
    ...cells("if ", loud),
    { text: "漢", style: plain },
    { text: "", style: plain },
  ];
  t.same(texts(toSvg(screen(row), "x")), [
    [12 + 2 * 8, 3 * 8, "a b"],
    [12 + 8 * 8, 8, "c"],
    [12 + 10 * 8, 2 * 8, "if"],
    [12 + 13 * 8, 2 * 8, "漢"],
  ]);
  for (const name of readdirSync(doc).filter((each) => each.endsWith(".svg"))) {
    const svg = readFileSync(join(doc, name), "utf8");
    const found = texts(svg).map(([, , text]) => String(text));
    t.ok(found.length > 50, name);
    t.same(
      found.filter((text) => /^ | $| {2}/.test(text)),
      [],
      name,
    );
    t.ok(statSync(join(doc, name)).size < MOST, `${name} is small`);
  }
});

/** What a film shows at a time: its texts and backgrounds, in the order in which they are drawn. */
function at(film: string, seconds: number): string[] {
  const groups = film.matchAll(
    /<g visibility="(\w+)">(?:<animate [^>]*dur="([\d.]+)s"[^>]*keyTimes="([^"]*)" values="([^"]*)"\/>)?([\s\S]*?)<\/g>/g,
  );
  return [...groups].flatMap(([, always, duration, times = "", values = "", members = ""]) => {
    const index = times.split(";").findLastIndex((share) => Number(share) * Number(duration) <= seconds);
    const visibility = duration === undefined ? always : values.split(";")[index];
    if (visibility !== "visible") return [];
    return [...members.matchAll(/<text[^>]*>([^<]*)|<(rect)/g)].map(([, text, rect]) => text ?? rect ?? "");
  });
}

t.test("a film shows each frame in its time", async (t) => {
  const frames: Frame[] = [
    { at: 5000, grid: screen(cells("one"), cells("same")) },
    { at: 5100, grid: screen(cells("unseen"), cells("same")) },
    { at: 5115, grid: screen(cells("two", loud), cells("same")) },
    { at: 5515, grid: screen(cells("one"), cells("same")) },
    { at: 99_515, grid: screen(cells("six", loud), cells("same")) },
  ];
  const film = toFilm(frames, "x");
  t.same(at(film, 0).sort(), ["one", "same"]);
  t.same(at(film, 0.2), ["rect", "same", "two"]);
  t.same(at(film, 0.7).sort(), ["one", "same"]);
  t.same(at(film, 1.9), ["rect", "same", "six"], "nobody waits longer than a second or so");
  t.notMatch(film, "unseen");
  t.throws(() => toFilm([], "x"), /nothing was recorded/);
});

t.test("a recorder keeps what was there", async (t) => {
  const grid = screen(cells("one"));
  const { frames, flushed } = createRecorder();
  flushed(grid);
  grid.rows[0]?.splice(0, 3, ...cells("two"));
  flushed(grid);
  t.same(
    frames.map((frame) => texts(toSvg(frame.grid, "x"))[0]?.[2]),
    ["one", "two"],
  );
});
