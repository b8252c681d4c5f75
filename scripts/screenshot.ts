/** `make screenshot`: the README's pictures, from real runs of the real CLI with a scripted model. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../test/support/nvim.ts";
import { createRecorder, toFilm } from "./film.ts";
import { attachGrid } from "./grid.ts";
import { FILES, SCENES, type Scene } from "./scenes.ts";
import { openStage, SCHEMES, type Scheme } from "./stage.ts";
import { toSvg } from "./svg.ts";

const disposals: (() => unknown)[] = [];
const scope = { teardown: (dispose: () => unknown) => void disposals.push(dispose) };

async function takePicture(scene: Scene, scheme: Scheme): Promise<void> {
  const { columns, lines, terminal, name, title } = scene;
  const stage = await openStage(scope, scheme, FILES, terminal);
  const recorder = createRecorder();
  const flushed = scene.isFilm ? recorder.flushed : undefined;
  const grid = await attachGrid(stage.nvim.nvim, columns, lines, flushed);
  await scene.play(stage);
  await stage.nvim.command("redraw!");
  await stage.nvim.lua("return true"); // what was drawn has arrived before this answer
  const path = join(root, `doc/${name}${scheme.suffix}.svg`);
  writeFileSync(path, scene.isFilm ? toFilm(recorder.frames, title) : toSvg(grid, title));
  console.log(path);
}

const named = process.argv.slice(2);
for (const scene of SCENES.filter(({ name }) => named.length === 0 || named.includes(name)))
  for (const scheme of SCHEMES) {
    try {
      await takePicture(scene, scheme);
    } finally {
      for (const dispose of disposals.splice(0).reverse()) await dispose();
    }
  }
