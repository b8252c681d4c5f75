/** A real Neovim with the real CLI and a scripted model, for pictures. */
import { delimiter, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { geminiHooks } from "../src/profiles/hooks.ts";
import { type Model, startModel } from "../test/support/model.ts";
import { type Nvim, root, startNvim } from "../test/support/nvim.ts";
import { writeFiles } from "../test/support/sandbox.ts";
import type { Scope } from "../test/support/scope.ts";

/** One for each of a reader's colour schemes. */
export const SCHEMES = [
  { background: "dark", theme: "Default", suffix: "" },
  { background: "light", theme: "Default Light", suffix: "-light" },
];
export type Scheme = (typeof SCHEMES)[number];

/** Of one who types (milliseconds). */
const KEY = 60;

/** As after the CLI's first start, `/ide enable`, an API key, and with the extension. */
const settings = (theme: string) => ({
  ...JSON.parse(JSON.stringify(geminiHooks(`"${root}/extension/hooks/hook.sh"`))),
  security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
  ide: { enabled: true, hasSeenNudge: true },
  general: { enableAutoUpdate: false },
  privacy: { usageStatisticsEnabled: false },
  ui: { hideTips: true, hideBanner: true, theme },
});

// What has another default in each release of Neovim is set, or each would take another picture.
const init = (background: string, terminal: number) => `
vim.o.background, vim.o.diffopt = "${background}", "internal,filler,closeoff,linematch:40"
vim.o.termguicolors, vim.o.number, vim.o.signcolumn, vim.o.showmode, vim.o.fillchars = true, true, "no", false, "eob: "
vim.o.laststatus, vim.o.statusline = 3, " lua/slug.lua %= %{v:lua.require'gemini-bridge'.statusline()} "
vim.o.ruler, vim.o.cmdheight = false, 1
vim.api.nvim_set_hl(0, "StatusLine", { link = "Visual" })
require("gemini-bridge").setup({ terminal = { size = ${terminal} } })
`;

/** All lines of the CLI's terminal. */
const SCREEN = `(function()
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.bo[buf].buftype == "terminal" then
      return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\\n")
    end
  end
  return ""
end)()`;

export interface Stage {
  nvim: Nvim;
  model: Model;
  /** Waits until the CLI is there and has found Neovim. */
  connected(): Promise<void>;
  /** Waits until the CLI's terminal shows a text, or none of it. */
  shows(text: string, wanted?: boolean): Promise<void>;
  /** Sends a prompt to the CLI. */
  prompt(text: string): Promise<void>;
  /** Types as a person does, each key in Neovim's notation apart from the next. */
  type(keys: string): Promise<void>;
}

/** @param terminal columns of the CLI */
export async function openStage(
  scope: Scope,
  { background, theme }: Scheme,
  files: Readonly<Record<string, string>>,
  terminal: number,
): Promise<Stage> {
  const model = await startModel(scope);
  const nvim = await startNvim(scope, {
    files,
    args: Object.keys(files).slice(0, 1),
    init: init(background, terminal),
    env: {
      PATH: [join(root, "node_modules/.bin"), process.env["PATH"]].join(delimiter),
      COLORTERM: "truecolor",
      GEMINI_API_KEY: "any",
      GOOGLE_GEMINI_BASE_URL: model.url,
      GEMINI_CLI_NO_RELAUNCH: "true",
    },
  });
  writeFiles(nvim.dirs.home, { ".gemini/settings.json": JSON.stringify(settings(theme)) });
  const screen = async () => z.string().parse(await nvim.lua(`return ${SCREEN}`));
  const shows = async (text: string, wanted = true) => {
    await nvim.waitFor(async () => (await screen()).includes(text) === wanted, text, 30_000);
  };
  return {
    nvim,
    model,
    shows,
    async connected() {
      await shows("Type your message");
      await nvim.waitFor("#require('gemini-bridge').status().clients == 1", "the CLI to connect", 20_000);
    },
    async prompt(text) {
      await nvim.lua(
        "require('gemini-bridge').send({ source = 'nothing', text = ..., submit = true })",
        text,
      );
    },
    async type(keys) {
      for (const [key] of keys.matchAll(/<[^<>]+>|./g)) {
        await nvim.input(key);
        await pause(KEY);
      }
    },
  };
}
