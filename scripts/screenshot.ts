/** `make screenshot`: the README's pictures, from real runs of the real CLI with a scripted model. */
import { writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { z } from "zod";
import { geminiHooks } from "../src/agent/hooks.ts";
import { type Model, startModel } from "../test/support/model.ts";
import { type Nvim, root, startNvim } from "../test/support/nvim.ts";
import { writeFiles } from "../test/support/sandbox.ts";
import { attachGrid } from "./grid.ts";
import { toSvg } from "./svg.ts";

/** One for each of a reader's colour schemes. */
const SCHEMES = [
  { background: "dark", theme: "Default", suffix: "" },
  { background: "light", theme: "Default Light", suffix: "-light" },
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

interface Stage {
  nvim: Nvim;
  model: Model;
  /** Waits until the CLI's terminal shows a text, or none of it. */
  shows(text: string, wanted?: boolean): Promise<void>;
  /** Types a prompt into the CLI. */
  prompt(text: string): Promise<void>;
}

interface Scene {
  name: string;
  /** What the picture shows, for those who do not see it. */
  title: string;
  /** Of `:Gemini`. */
  args: string;
  play(stage: Stage): Promise<void>;
}

const PATH = "lua/slug.lua";

const SCENES: Scene[] = [
  {
    name: "review",
    title: "A review in Neovim: the file, the proposal, and Gemini CLI's own question",
    args: "",
    async play({ nvim, model, shows, prompt }) {
      const args = { file_path: nvim.path(PATH), content: AFTER };
      model.say([{ functionCall: { name: "write_file", args } }]);
      await prompt("Punctuation must not get into a slug.");
      await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the review", 20_000);
      await shows("Apply this change?");
      // As one who looks at the change before deciding.
      await nvim.input("<C-\\\\\\\\><C-n>");
      await nvim.command("GeminiReview");
    },
  },
  {
    name: "changes",
    title: "What Gemini CLI changed without asking: marked in the file, with the old lines, and listed",
    args: " --yolo",
    async play({ nvim, model, shows, prompt }) {
      const replace = (name: string, old_string: string, new_string: string) => {
        const args = { file_path: nvim.path(name), instruction: "Do it.", old_string, new_string };
        return [{ functionCall: { name: "replace", args } }];
      };
      model.say(
        replace(PATH, BEFORE, AFTER),
        replace(PATH, "an address.", "an address: letters, digits and hyphens."),
        replace("README.md", "# Slugs\n", "# Slugs\n\nWithout punctuation.\n"),
        [{ text: "A slug has no punctuation any more." }],
      );
      await prompt("Punctuation must not get into a slug.");
      await shows("no punctuation any more");
      await nvim.waitFor("#require('gemini-bridge').changes() == 2", "the changes", 20_000);
      await shows("Executing Hook", false);
      await nvim.input("<C-\\\\\\\\><C-n>");
      await nvim.command("wincmd h | set signcolumn=yes | 8");
      await nvim.command('execute "normal \\<Plug>(gemini-old-lines)"');
      await nvim.waitFor(OLD_LINES, "the old lines");
      await nvim.command("GeminiChanges");
      await nvim.command("resize 3 | wincmd p");
    },
  },
];

/** Whether what stood there before is shown. */
const OLD_LINES = `(function()
  local namespace = vim.api.nvim_get_namespaces()["gemini-bridge.changes.old"]
  return namespace and #vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, {}) == 2
end)()`;

const disposals: (() => unknown)[] = [];
const scope = { teardown: (dispose: () => unknown) => void disposals.push(dispose) };

async function takePicture(
  scene: Scene,
  { background, theme, suffix }: (typeof SCHEMES)[number],
): Promise<void> {
  const model = await startModel(scope);
  const nvim = await startNvim(scope, {
    files: { [PATH]: BEFORE, "README.md": "# Slugs\n" },
    args: [PATH],
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
  const terminal = async () => z.string().parse(await nvim.lua(`return ${SCREEN}`));
  const shows = async (text: string, wanted = true) => {
    await nvim.waitFor(async () => (await terminal()).includes(text) === wanted, text, 30_000);
  };

  await nvim.command(`Gemini${scene.args}`);
  await shows("Type your message");
  await nvim.waitFor("#require('gemini-bridge').status().clients == 1", "the CLI to connect", 20_000);
  const send = "require('gemini-bridge').send({ source = 'nothing', text = ..., submit = true })";
  const prompt = async (text: string) => void (await nvim.lua(send, text));
  await scene.play({ nvim, model, shows, prompt });
  await nvim.command("redraw!");
  await nvim.lua("return true"); // what was drawn has arrived before this answer
  const path = join(root, `doc/${scene.name}${suffix}.svg`);
  writeFileSync(path, toSvg(grid, scene.title));
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
