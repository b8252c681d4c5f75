/** `make screenshot`: the README's pictures, from real runs of the real CLI with a scripted model. */
import { writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { z } from "zod";
import { startModel } from "../test/support/model.ts";
import { root, startNvim } from "../test/support/nvim.ts";
import { writeFiles } from "../test/support/sandbox.ts";
import { attachGrid } from "./grid.ts";
import { toSvg } from "./svg.ts";

/** One for each of a reader's colour schemes. */
const PICTURES = [
  { background: "dark", theme: "Default", path: join(root, "doc/review.svg") },
  { background: "light", theme: "Default Light", path: join(root, "doc/review-light.svg") },
];
const COLUMNS = 206;
const LINES = 29;

const BEFORE = `-- Turns a title into the part of an address.
local M = {}

function M.slug(title)
  local slug = title:lower()
  slug = slug:gsub("%s+", "-")
  return slug
end

return M
`;
const AFTER = BEFORE.replace(
  `  slug = slug:gsub("%s+", "-")
  return slug
`,
  `  slug = slug:gsub("[^%w%s-]", "")
  slug = slug:gsub("[%s-]+", "-")
  return (slug:gsub("^-", ""):gsub("-$", ""))
`,
);

/** As after the CLI's first start, `/ide enable` and an API key. */
const settings = (theme: string) => ({
  security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
  ide: { enabled: true, hasSeenNudge: true },
  general: { enableAutoUpdate: false },
  privacy: { usageStatisticsEnabled: false },
  ui: { hideTips: true, hideBanner: true, theme },
});

// What has another default in each release of Neovim is set, or each would take another picture.
const init = (background: string) => `
vim.o.background, vim.o.diffopt = "${background}", "internal,filler,closeoff,linematch:40"
vim.o.termguicolors, vim.o.number, vim.o.signcolumn, vim.o.showmode, vim.o.fillchars = true, true, "no", false, "eob: "
vim.o.laststatus, vim.o.statusline = 3, " lua/slug.lua %= %{v:lua.require'gemini-bridge'.statusline()} "
vim.o.ruler, vim.o.cmdheight = false, 1
vim.api.nvim_set_hl(0, "StatusLine", { link = "Visual" })
require("gemini-bridge").setup({ terminal = { size = 62 } })
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

const disposals: (() => unknown)[] = [];
const scope = { teardown: (dispose: () => unknown) => void disposals.push(dispose) };

async function takePicture({ background, theme, path: picture }: (typeof PICTURES)[number]): Promise<void> {
  const model = await startModel(scope);
  const nvim = await startNvim(scope, {
    files: { "lua/slug.lua": BEFORE, "README.md": "# Slugs\n" },
    args: ["lua/slug.lua"],
    init: init(background),
    env: {
      PATH: [join(root, "node_modules/.bin"), process.env["PATH"]].join(delimiter),
      COLORTERM: "truecolor",
      GEMINI_API_KEY: "any",
      GOOGLE_GEMINI_BASE_URL: model.url,
      GEMINI_CLI_NO_RELAUNCH: "true",
    },
  });
  writeFiles(nvim.dirs.home, { ".gemini/settings.json": JSON.stringify(settings(theme)) });
  const grid = await attachGrid(nvim.nvim, COLUMNS, LINES);
  const shows = async (text: string) =>
    z
      .string()
      .parse(await nvim.lua(`return ${SCREEN}`))
      .includes(text);

  const path = nvim.path("lua/slug.lua");
  model.say([{ functionCall: { name: "write_file", args: { file_path: path, content: AFTER } } }]);
  await nvim.command("Gemini");
  await nvim.waitFor(() => shows("Type your message"), "the CLI's prompt", 30_000);
  await nvim.waitFor("#require('gemini-bridge').status().clients == 1", "the CLI to connect", 20_000);
  await nvim.lua(
    "require('gemini-bridge').send({ source = 'nothing', text = ..., submit = true })",
    ["Punctuation must not get into a slug."].join(),
  );
  await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the review", 20_000);
  await nvim.waitFor(() => shows("Apply this change?"), "the CLI's question", 20_000);
  // As one who looks at the change before deciding.
  await nvim.input("<C-\\\\\\\\><C-n>");
  await nvim.command("GeminiReview");
  await nvim.command("redraw!");
  await nvim.lua("return true"); // what was drawn has arrived before this answer
  writeFileSync(
    picture,
    toSvg(grid, "A review in Neovim: the file, the proposal, and Gemini CLI's own question"),
  );
  console.log(picture);
}

for (const picture of PICTURES) {
  try {
    await takePicture(picture);
  } finally {
    for (const dispose of disposals.splice(0).reverse()) await dispose();
  }
}
