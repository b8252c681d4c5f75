/** Tests the recordings of the README. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { FONT_SIZE, type Screen, toAnimation } from "../../scripts/picture.ts";

const doc = join(import.meta.dirname, "../../doc");

/** Maximum size of a picture (bytes). */
const MOST = 300_000;

const TEXT = /<text x="(\d+)" y="([\d.]+)" textLength="(\d+)"[^>]*>([^<]*)</g;
const texts = (svg: string) =>
  [...svg.matchAll(TEXT)].map(([, x, , width, text]) => [Number(x), Number(width), text]);

t.test("each text of a picture is at its column, and needs no repeated blanks", async (t) => {
  const screen: Screen = {
    columns: 15,
    rows: [
      [
        { column: 0, texts: [..."  a b   c "], style: {} },
        { column: 10, texts: [..."if "], style: { bold: true, background: 0x112233 } },
        { column: 13, texts: ["漢", ""], style: {} },
      ],
    ],
    cursor: [0, 0],
    foreground: 0xffffff,
    background: 0,
  };
  t.same(texts(toAnimation([{ screen, seconds: 1, caption: "" }], "x")), [
    [12 + 2 * 8, 3 * 8, "a b"],
    [12 + 8 * 8, 8, "c"],
    [12 + 10 * 8, 2 * 8, "if"],
    [12 + 13 * 8, 2 * 8, "漢"],
  ]);
  for (const name of readdirSync(doc).filter((each) => each.endsWith(".svg"))) {
    const svg = readFileSync(join(doc, name), "utf8");
    const found = texts(svg).map(([, , text]) => String(text));
    t.ok(found.length > 50, name);
    t.match(svg, /^<title>.{40,}<\/title>$/m, `${name} is described in words`);
    const [, width = ""] = /viewBox="0 0 (\d+) /.exec(svg) ?? [];
    t.ok(800 / Number(width) > 10 / FONT_SIZE, `letters of ${name} have ten pixels on a page of 800 pixels`);
    t.same(
      found.filter((text) => /^ | $| {2}/.test(text)),
      [],
      name,
    );
    t.ok(statSync(join(doc, name)).size < MOST, `${name} is small`);
  }
});

t.test("an animation draws shared rows once, and shows its longest frame without motion", async (t) => {
  const screen = (...lines: string[]): Screen => ({
    columns: 9,
    rows: lines.map((line) => [{ column: 0, texts: [...line], style: {} }]),
    cursor: [0, 0],
    foreground: 0xffffff,
    background: 0,
  });
  const svg = toAnimation(
    [
      { screen: screen("same", "old"), seconds: 1, caption: "" },
      { screen: screen("same", "new"), seconds: 3, caption: "x: undo" },
    ],
    "x",
  );
  const groups = [...svg.matchAll(/<g class="(f\d)"( visibility="hidden")?>([\s\S]*?)<\/g>/g)];
  const shown = groups.map(([, name, hidden = "", content = ""]) => [
    [...content.matchAll(/>([^<]+)<\/text>/g)].map(([, text]) => text).join(),
    hidden !== "",
    new RegExp(`@keyframes ${name}\\{(.*?)\\} `).exec(svg)?.[1],
  ]);
  const steps = (first: string, second: string) => `0.00%{visibility:${first}}25.00%{visibility:${second}}`;
  t.same(shown, [
    ["same", false, steps("visible", "visible")],
    ["old", true, steps("visible", "hidden")],
    ["new,x: undo", false, steps("hidden", "visible")],
  ]);
  t.match(svg, "animation:4s step-end infinite");
  t.match(svg, "prefers-reduced-motion");
});
