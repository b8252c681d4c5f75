/** The scenes of the README's pictures. */
import type { Model } from "../test/support/model.ts";
import type { Nvim } from "../test/support/nvim.ts";

export interface Stage {
  nvim: Nvim;
  model: Model;
  /** Starts the CLI in Neovim and waits until it has connected. */
  start(command: string): Promise<void>;
  /** Waits until the CLI's terminal shows a text, or no longer shows it. */
  shows(text: string, wanted?: boolean): Promise<void>;
}

export interface Scene {
  name: string;
  /** Describes the picture to readers who cannot see it. */
  title: string;
  play(stage: Stage): Promise<void>;
}

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

const PATH = "lua/slug.lua";

export const FILES = { [PATH]: BEFORE, "README.md": "# Slugs\n" };

const PROMPT =
  "return require('gemini-bridge').send({ source = 'nothing', text = 'Punctuation must not get into a slug.', submit = true })";

export const SCENES: Scene[] = [
  {
    name: "review",
    title: "A review in Neovim: the file, the proposal, and Gemini CLI's own question",
    async play({ nvim, model, start, shows }) {
      await start("Gemini");
      const args = { file_path: nvim.path(PATH), content: AFTER };
      model.say([{ functionCall: { name: "write_file", args } }]);
      await nvim.lua(PROMPT);
      await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the review", 20_000);
      await shows("Apply this change?");
      await shows("8 +");
      await nvim.input("<C-\\><C-n>");
      await nvim.command("GeminiReview");
    },
  },
  {
    name: "changes",
    title: "What Gemini CLI changed without asking: marked in the file, with the old lines, and listed",
    async play({ nvim, model, start, shows }) {
      await start("Gemini --yolo");
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
      await nvim.lua(PROMPT);
      await shows("no punctuation any more");
      await nvim.waitFor("#require('gemini-bridge').changes() == 2", "the changes", 20_000);
      await shows("Executing Hook", false);
      await nvim.input("<C-\\><C-n>");
      await nvim.command("wincmd h | set signcolumn=yes | 8");
      await nvim.command('execute "normal \\<Plug>(gemini-old-lines)"');
      await nvim.waitFor(OLD_LINES, "the old lines");
      await nvim.command("GeminiChanges!");
      await nvim.command("resize 3 | wincmd p");
    },
  },
];

/** Whether the old lines are shown. */
const OLD_LINES = `(function()
  local namespace = vim.api.nvim_get_namespaces()["gemini-bridge.changes.old"]
  return namespace and #vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, {}) == 2
end)()`;
