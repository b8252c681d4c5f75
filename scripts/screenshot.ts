/**
 * `make screenshot`: draws the README's recordings from real runs of the real CLI with a scripted model.
 * usage: screenshot.ts [scene ...]
 */
import { writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { z } from "zod";
import { geminiHooks } from "../src/profiles/hooks.ts";
import { SETTINGS } from "../test/support/cli.ts";
import { startModel } from "../test/support/model.ts";
import { root, startNvim } from "../test/support/nvim.ts";
import { writeFiles } from "../test/support/sandbox.ts";
import { type Scope, within } from "../test/support/scope.ts";
import { attachScreen, type Frame, toAnimation } from "./picture.ts";
import { SCENES, type Scene } from "./scenes.ts";

/** Size of the screen (cells). Letters can still be read if a page shows the recording 800 pixels wide. */
const COLUMNS = 116;
const LINES = 27;
const TERMINAL_COLUMNS = 46;

/** Color schemes. Each recording is drawn twice: for readers with a dark page, and for readers with a light page. */
const SCHEMES = [
  { background: "dark", theme: "Default", suffix: "" },
  { background: "light", theme: "Default Light", suffix: "-light" },
];

/** Sets options whose defaults differ between releases of Neovim, so that the recordings stay the same. */
const init = (background: string, file = "") => `
vim.o.background, vim.o.diffopt = "${background}", "internal,filler,closeoff,linematch:40"
vim.o.termguicolors, vim.o.number, vim.o.signcolumn, vim.o.showmode, vim.o.fillchars = true, true, "no", false, "eob: "
vim.o.laststatus, vim.o.statusline = 3, " ${file} %= %{v:lua.require'gemini-bridge'.statusline()} "
vim.o.ruler, vim.o.cmdheight = false, 1
vim.api.nvim_set_hl(0, "StatusLine", { link = "Visual" })
require("gemini-bridge").setup({ terminal = { size = ${TERMINAL_COLUMNS} }, extension = false })
`;

/** Lua code that returns the text of the CLI's terminal. */
const TERMINAL = `
for _, buf in ipairs(vim.api.nvim_list_bufs()) do
  if vim.bo[buf].buftype == "terminal" then
    return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\\n")
  end
end
return ""`;

async function takePicture(
  scope: Scope,
  { name, title, files, play }: Scene,
  scheme: (typeof SCHEMES)[number],
): Promise<void> {
  const model = await startModel(scope);
  const nvim = await startNvim(scope, {
    files,
    args: Object.keys(files).slice(0, 1),
    init: init(scheme.background, Object.keys(files)[0]),
    env: {
      PATH: [join(root, "node_modules/.bin"), process.env["PATH"]].join(delimiter),
      COLORTERM: "truecolor",
      GEMINI_API_KEY: "any",
      GOOGLE_GEMINI_BASE_URL: model.url,
      GEMINI_CLI_NO_RELAUNCH: "true",
    },
  });
  const hooks = geminiHooks(`"${root}/extension/hooks/hook.sh"`);
  const ui = { hideTips: true, hideBanner: true, theme: scheme.theme };
  writeFiles(nvim.dirs.home, { ".gemini/settings.json": JSON.stringify({ ...SETTINGS, ...hooks, ui }) });
  const readScreen = await attachScreen(nvim, COLUMNS, LINES);
  async function shows(text: string, wanted = true): Promise<void> {
    const screen = async () => z.string().parse(await nvim.lua(TERMINAL));
    await nvim.waitFor(async () => (await screen()).includes(text) === wanted, text, 120_000);
  }
  async function start(command: string): Promise<void> {
    await nvim.command(command);
    await shows("Type your message");
    await nvim.waitFor("#require('gemini-bridge').status().clients == 1", "the CLI to connect", 20_000);
  }
  const frames: Frame[] = [];
  async function frame(seconds: number, caption = ""): Promise<void> {
    await shows("Executing Hook", false);
    let screen = await readScreen();
    await nvim.waitFor(async () => {
      const last = JSON.stringify(screen);
      screen = await readScreen();
      return JSON.stringify(screen) === last;
    }, "a screen that stays the same");
    frames.push({ screen, seconds, caption });
  }
  await play({ nvim, model, start, shows, frame });
  const path = join(root, `doc/${name}${scheme.suffix}.svg`);
  writeFileSync(path, toAnimation(frames, title));
  console.log(path);
}

const wanted = process.argv.slice(2);
for (const scene of SCENES.filter(({ name }) => wanted.length === 0 || wanted.includes(name)))
  for (const scheme of SCHEMES) await within((scope) => takePicture(scope, scene, scheme));
