/** Defines the scenes of the README's recordings. */
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
  /** Adds the current screen to the recording. */
  frame(seconds: number, caption?: string): Promise<void>;
}

export interface Scene {
  name: string;
  /** Describes the recording to readers who cannot see it. */
  title: string;
  files: Readonly<Record<string, string>>;
  play(stage: Stage): Promise<void>;
}

const SLUG = `-- A title as part of a URL.
local M = {}

function M.slug(title)
  local s = title:lower()
  return s:gsub("%s+", "-")
end

return M
`;
const PROPOSED = SLUG.replace(
  `  return s:gsub("%s+", "-")
`,
  `  s = s:gsub("[^%w%s]", "")
  return (s:gsub("%s+", "-"))
`,
);

/** Returns a file that calls the function that the agent renames. */
const page = (name: string) => `import { slug } from "../slug";

export function ${name}Address(title: string) {
  return "/${name}/" + slug(title);
}

// Used by the menu.
export function ${name}Link(title: string) {
  return \`<a href="/${name}/\${slug(title)}">\${title}</a>\`;
}
`;
const PAGES = "about blog cart contact events faq help home jobs legal login maps news".split(" ");
/** Files that the agent's command deletes. */
const UNUSED = "address anchor encode escape title words".split(" ");

/** Files that the agent edits. */
const PROJECT: Record<string, string> = {
  "src/slug.ts":
    'export function slug(title: string) {\n  return title.toLowerCase().replace(/\\W+/g, "-");\n}\n',
  "doc/slug.md": "# Slugs\n\nEach address is built by slug ().\n",
  ...Object.fromEntries(PAGES.map((name) => [`src/pages/${name}.ts`, page(name)])),
};
const OTHERS = Object.fromEntries(
  UNUSED.map((name) => [`src/unused/${name}.ts`, `export const ${name} = 1;\n`]),
);
const COMMAND = "rm -r src/unused";

/**
 * Keys on the page of changes: the keys, their effect, how long the frame stays (seconds), and how many hunks they
 * decide.
 */
const DECISIONS: [keys: string, effect: string, seconds: number, decided: number | "all"][] = [
  ["s", "keep the hunk", 1.5, 1],
  ["x", "undo the hunk", 1.5, 1],
  ["u", "revert the last decision", 2, -1],
  ["X", "undo the file", 2, 3],
  ["d", "compare", 2.5, 0],
  ["S", "keep the file", 1.5, 3],
  ["gS", "keep all", 2.5, "all"],
];

export const SCENES: Scene[] = [
  {
    name: "review",
    title:
      "Gemini CLI in Neovim proposes a change. The proposal opens beside the file, is edited and accepted.",
    files: { "slug.lua": SLUG },
    async play({ nvim, model, start, shows, frame }) {
      await nvim.input(":Gemini");
      await frame(1.5);
      await nvim.input("<C-u><BS>");
      await start("Gemini");
      await frame(1.5, "Gemini CLI runs in Neovim");
      model.say(
        [call("write_file", { file_path: nvim.path("slug.lua"), content: PROPOSED })],
        [{ text: "Slugs have no punctuation now." }],
      );
      await nvim.input("<C-\\><C-n><C-w>p");
      await nvim.input("4GVjj:GeminiSend! no punctuation, please");
      await frame(2.5, "send the selection with a prompt");
      await nvim.input("<CR>");
      await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the review", 20_000);
      await shows("Apply this change?");
      await nvim.command("GeminiReview");
      await frame(4, "the proposal opens beside the file");
      await nvim.input("7GO-- keep one hyphen per gap<Esc>");
      await frame(2.5, "edit it");
      await nvim.input(":w");
      await frame(1.5, ":w accepts, :q rejects");
      await nvim.input("<CR>");
      await shows("no punctuation now");
      await nvim.waitFor("#require('gemini-bridge').diffs() == 0", "the end of the review");
      await frame(3, "Gemini CLI has written your text");
    },
  },
  {
    name: "page",
    title:
      "Changes that Gemini CLI made in YOLO mode, on the page of :GeminiChanges: single keys keep and undo hunks, files and everything.",
    files: { ...PROJECT, ...OTHERS },
    async play({ nvim, model, start, shows, frame }) {
      await start("Gemini --yolo");
      const write = ([name, text]: [string, string]) =>
        call("write_file", {
          file_path: nvim.path(name),
          content: text.replaceAll(/\bslug\b(?=[ (])/g, "toSlug"),
        });
      model.say(
        Object.entries(PROJECT).map(write),
        [call("run_shell_command", { command: COMMAND })],
        [{ text: "slug is now toSlug everywhere." }],
      );
      const prompt = "Rename slug to toSlug, remove src/unused";
      await nvim.lua(
        `return require('gemini-bridge').send({ source = 'nothing', text = '${prompt}', submit = true })`,
      );
      await shows("toSlug everywhere");
      const count = Object.keys(PROJECT).length + UNUSED.length;
      await nvim.waitFor(`#require('gemini-bridge').changes() == ${count}`, "the changes", 20_000);
      await nvim.input("<C-\\><C-n>:GeminiChanges<CR>");
      await nvim.waitFor("vim.fn.winbufnr(2) == vim.fn.bufnr('slug.md')", "the first file");
      await frame(3, ":GeminiChanges");
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
const UNDECIDED = "return require('gemini-bridge.changes.changes').count().hunks";
