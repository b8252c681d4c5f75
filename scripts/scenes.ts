/** What the pictures show. */
import { setTimeout as pause } from "node:timers/promises";
import type { Stage } from "./stage.ts";

export interface Scene {
  name: string;
  /** What the picture shows, for those who do not see it. */
  title: string;
  /** All of it moves, from the beginning of the play to its end; else the end alone is shown. */
  isFilm?: true;
  columns: number;
  lines: number;
  /** Columns of the CLI's terminal. */
  terminal: number;
  play(stage: Stage): Promise<void>;
}

/** For as long as one looks at what has come (milliseconds). */
const LOOK = 1000;

const WIDE = { columns: 206, lines: 29, terminal: 62 };

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

export const SCENES: Scene[] = [
  {
    name: "review",
    title: "A review in Neovim: the file, the proposal, and Gemini CLI's own question",
    ...WIDE,
    async play({ nvim, model, connected, shows, prompt }) {
      await nvim.command("Gemini");
      await connected();
      const args = { file_path: nvim.path(PATH), content: AFTER };
      model.say([{ functionCall: { name: "write_file", args } }]);
      await prompt("Punctuation must not get into a slug.");
      await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the review", 20_000);
      await shows("Apply this change?");
      await shows("8 +");
      // As one who looks at the change before deciding.
      await nvim.input("<C-\\><C-n>");
      await nvim.command("GeminiReview");
    },
  },
  {
    name: "changes",
    title: "What Gemini CLI changed without asking: marked in the file, with the old lines, and listed",
    ...WIDE,
    async play({ nvim, model, connected, shows, prompt }) {
      await nvim.command("Gemini --yolo");
      await connected();
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
      await nvim.input("<C-\\><C-n>");
      await nvim.command("wincmd h | set signcolumn=yes | 8");
      await nvim.command('execute "normal \\<Plug>(gemini-old-lines)"');
      await nvim.waitFor(OLD_LINES, "the old lines");
      await nvim.command("GeminiChanges");
      await nvim.command("resize 3 | wincmd p");
    },
  },
  {
    name: "session",
    title:
      "A session: a prompt to Gemini CLI, its change as a diff in Neovim, edited there and accepted, and the file on the disk",
    isFilm: true,
    columns: 190,
    lines: 26,
    terminal: 56,
    async play({ nvim, model, connected, shows, type }) {
      const args = { file_path: nvim.path(PATH), content: AFTER };
      model.say(
        [{ functionCall: { name: "write_file", args } }],
        [{ text: "A slug has no punctuation any more." }],
      );
      await pause(LOOK);
      await type(":Gemini<CR>");
      await connected();
      await pause(LOOK);
      await type("Punctuation must not get into a slug.");
      await pause(LOOK);
      await type("<CR>");
      await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the review", 20_000);
      await shows("Apply this change?");
      await shows("8 +");
      await pause(LOOK);
      await type("<C-\\><C-n>");
      await nvim.command("GeminiReview");
      await pause(LOOK);
      await type("gg$i, in lower case<Esc>");
      await pause(LOOK);
      await type(":w<CR>");
      await shows("no punctuation any more");
      await nvim.waitFor("#vim.api.nvim_list_wins() == 2", "the end of the review", 20_000);
      await pause(LOOK);
      await type("<C-\\><C-n><C-w>h");
      await type(":echo readfile('lua/slug.lua')[0]<CR>");
      await pause(LOOK);
    },
  },
];

/** Whether what stood there before is shown. */
const OLD_LINES = `(function()
  local namespace = vim.api.nvim_get_namespaces()["gemini-bridge.changes.old"]
  return namespace and #vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, {}) == 2
end)()`;
