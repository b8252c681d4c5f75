/** Defines the scenes of the README's pictures. */
import { z } from "zod";
import { call, type Model } from "../test/support/model.ts";
import type { Nvim } from "../test/support/nvim.ts";

interface Stage {
  nvim: Nvim;
  model: Model;
  /** Starts the CLI in Neovim and waits until it has connected. */
  start(command: string): Promise<void>;
  /** Waits until the CLI's terminal shows a text or, if `wanted` is false, no longer shows it. */
  shows(text: string, wanted?: boolean): Promise<void>;
  /** Adds the current screen to an animation. A scene without frames becomes a still picture of its end. */
  frame(seconds: number, keys?: string): Promise<void>;
}

export interface Scene {
  name: string;
  /** Describes the picture to readers who cannot see it. */
  title: string;
  files: Readonly<Record<string, string>>;
  /** Width of the screen (columns). */
  columns: number;
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

const FILES = { [PATH]: BEFORE, "README.md": "# Slugs\n" };

const prompt = (text: string) =>
  `return require('gemini-bridge').send({ source = 'nothing', text = '${text}', submit = true })`;
const PROMPT = prompt("Punctuation must not get into a slug.");

/** Returns a file that calls the function that the agent renames. */
const page = (name: string) => `import { slug } from "../slug";

// The address of ${name}.
export function ${name}Address(title: string) {
  return "/${name}/" + slug(title);
}

export function ${name}Link(title: string) {
  return \`<a href="/${name}/\${slug(title)}">\${title}</a>\`;
}
`;
const PAGES =
  "about blog cart contact events faq gallery help home jobs legal login maps news orders press prices search".split(
    " ",
  );
const DOCUMENTS = ["address", "link", "menu", "page", "slug"];
/** Files that the agent's command deletes. */
const LEGACY = "address anchor encode escape link menu path query route title url words".split(" ");
const TESTS = PAGES.slice(0, 16);

const PROJECT: Record<string, string> = {
  "src/slug.ts":
    'export function slug(title: string) {\n  return title.toLowerCase().replace(/\\W+/g, "-");\n}\n',
  "dist/site.min.js": "let link=(t)=>slug (t)\\n",
};
for (const name of PAGES) PROJECT[`src/pages/${name}.ts`] = page(name);
for (const name of ["news", "shop", "wiki", "blog", "home", "help"])
  PROJECT[`src/api/${name}.ts`] = page(name);
for (const name of DOCUMENTS)
  PROJECT[`doc/${name}.md`] = `# The ${name}\n\nIts address is built by slug().\n`;

/** Files that only the agent's command changes. */
const OTHERS: Record<string, string> = {};
for (const name of LEGACY)
  OTHERS[`src/legacy/${name}.ts`] = `export const ${name} = (text: string) => encodeURI(text);\n`;

const COMMAND = "rm -r src/legacy && mv src/slug.ts src/toSlug.ts";

/**
 * Keys for the list of changes: the keys, their effect, how long the picture stays (seconds), and how many hunks they
 * decide.
 */
const DECISIONS: [keys: string, effect: string, seconds: number, decided: number | "all"][] = [
  ["s", "keep the hunk", 1.5, 1],
  ["x", "undo the hunk", 1.5, 1],
  ["u", "revert the last decision", 2, -1],
  ["2GS", "keep the folder", 2, 4],
  ["s", "keep the hunk", 1, 1],
  ["d", "side by side", 2, 0],
  ["X", "undo the file", 1.5, 2],
  ["S", "keep the file", 1.5, 3],
  ["gS", "keep all", 2.5, "all"],
];

export const SCENES: Scene[] = [
  {
    name: "review",
    title: "A review in Neovim: the file, the proposal, and Gemini CLI's own question",
    files: FILES,
    columns: 206,
    async play({ nvim, model, start, shows }) {
      await start("Gemini");
      const args = { file_path: nvim.path(PATH), content: AFTER };
      model.say([call("write_file", args)]);
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
    files: FILES,
    columns: 206,
    async play({ nvim, model, start, shows }) {
      await start("Gemini --yolo");
      const replace = (name: string, old_string: string, new_string: string) => {
        const args = { file_path: nvim.path(name), instruction: "Do it.", old_string, new_string };
        return [call("replace", args)];
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
  {
    name: "page",
    title:
      "A turn of 60 files, decided on a page: hunks, files and folders are kept and undone by single keys",
    files: { ...PROJECT, ...OTHERS },
    columns: 150,
    async play({ nvim, model, start, shows, frame }) {
      await start("Gemini --yolo");
      const write = (name: string, content: string) =>
        call("write_file", { file_path: nvim.path(name), content });
      const renamed = (text: string) => text.replaceAll(/\bslug\b(?=[ (])/g, "toSlug");
      model.say(
        Object.entries(PROJECT).map(([name, text]) => write(name, renamed(text))),
        TESTS.map((name) => write(`test/${name}.test.ts`, `test("${name}", () => check(${name}Address));\n`)),
        [call("run_shell_command", { command: COMMAND })],
        [{ text: "slug is now toSlug everywhere." }],
      );
      await nvim.lua(prompt("Rename slug to toSlug, test all pages, remove src/legacy."));
      await shows("toSlug everywhere");
      await nvim.waitFor("#require('gemini-bridge').changes() == 60", "the changes", 20_000);
      await shows("Executing Hook", false);
      await nvim.input("<C-\\><C-n>");
      await frame(2);
      await nvim.input(":GeminiChanges<CR>");
      await nvim.waitFor("vim.fn.winbufnr(2) == vim.fn.bufnr('address.md')", "the first file");
      await frame(2.5, ":GeminiChanges");
      let left = z.number().parse(await nvim.lua(UNDECIDED));
      for (const [keys, effect, seconds, decided] of DECISIONS) {
        left = decided === "all" ? 0 : left - decided;
        await nvim.input(keys);
        await nvim.waitFor(async () => (await nvim.lua(UNDECIDED)) === left, `${left} hunks after ${keys}`);
        await frame(seconds, `${keys}: ${effect}`);
      }
    },
  },
];

/** Lua code that returns the number of undecided hunks. */
const UNDECIDED = "return require('gemini-bridge').status().changes.hunks";

/** Lua expression: whether the old lines are shown. */
const OLD_LINES = `(function()
  local namespace = vim.api.nvim_get_namespaces()["gemini-bridge.changes.old"]
  return namespace and #vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, {}) == 2
end)()`;
