/** Tests that the help contains all public names, and that all names in the help and the README exist. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { z } from "zod";
import { RunningBridge } from "../support/bridge.ts";
import { root, startNvim } from "../support/nvim.ts";

const help = readFileSync(join(root, "doc/gemini-bridge.txt"), "utf8");
const readme = readFileSync(join(root, "README.md"), "utf8");
const sources = readdirSync(join(root, "lua"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".lua"))
  .map((name) => readFileSync(join(root, "lua", name), "utf8"))
  .join("\n");
const Names = z.array(z.string()).min(1);

const unique = (names: Iterable<string | undefined>) => [...new Set(names)].map(String).sort();
const found = (text: string, pattern: RegExp) => unique([...text.matchAll(pattern)].map(([, name]) => name));
const tags = (pattern: RegExp) => found(help, new RegExp(`(?<=^|\\s)\\*${pattern.source}\\*(?=\\s|$)`, "gm"));

t.test("public names and the help agree", async (t) => {
  const nvim = await startNvim(t, { files: { "a.txt": "one\n" } });
  const bridge = new RunningBridge(t, nvim);
  await nvim.startBridge(20_000);
  const ask = async (code: string) => Names.parse(await nvim.lua(code)).sort();
  const maps = () =>
    ask(
      `return vim.iter(vim.api.nvim_get_keymap('n')):map(function(map) return map.lhs:match("^<Plug>%(([Gg]emini.*)%)$") end):totable()`,
    );
  const client = await bridge.client();
  await client.openDiff(nvim.path("a.txt"), "two\n");
  await nvim.command("GeminiReview");

  await t.test("all commands are in the help, and all commands of the help exist", async (t) => {
    const commands = await ask("return vim.fn.getcompletion('Gemini', 'command')");
    t.same(tags(/:(Gemini\w*)/), commands);
    t.same(
      found(`${help}${readme}`, /[\s`|(]:(Gemini\w*)/g).filter((name) => !commands.includes(name)),
      [],
    );
  });

  await t.test(
    "all <Plug> mappings are in the help, and all <Plug> mappings of the help exist",
    async (t) => {
      const everywhere = await maps();
      const commands = everywhere.filter((name) => name.startsWith("Gemini"));
      t.same(commands, tags(/:(Gemini\w*)/), "one for each command");
      const table = /mapping\s+`<Plug>\(gemini-\{name\}\)`[\s\S]*?>\n([\s\S]*?)\n</.exec(help)?.[1] ?? "";
      const keys = found(table, /^ +([\w-]+) /gm).map((name) => `gemini-${name}`);
      t.same(
        unique([...tags(/<Plug>\(([^)]*)\)/), ...keys]),
        everywhere.filter((name) => !commands.includes(name)),
        "the keys of a review, and those that have a tag",
      );
      await nvim.lua(
        "require('gemini-bridge.changes.page.changes_tab') require('gemini-bridge.changes.history.history_tab')",
      );
      const pages = (await maps()).filter((name) => !everywhere.includes(name));
      const described = ["changes", "history"].flatMap((page) => {
        const rows = new RegExp(`<Plug>\\(gemini-${page}-\\{name\\}\\)\`[\\s\\S]*?>\n([\\s\\S]*?)\n<`).exec(
          help,
        );
        return found(rows?.[1] ?? "", /^ +([a-z-]+) /gm)
          .filter((name) => name !== "name")
          .map((name) => `gemini-${page}-${name}`);
      });
      t.same(described, pages, "the keys of the pages");
      const named = found(`${help}${readme}`, /<Plug>\(([Gg]emini[\w-]*)\)/g);
      t.same(
        named.filter((name) => ![...everywhere, ...keys, ...pages].includes(name)),
        [],
      );
    },
  );

  await t.test("all public functions are in the help, and all functions of the help exist", async (t) => {
    const functions = await ask("return vim.tbl_keys(require('gemini-bridge'))");
    t.same(tags(/gemini-bridge\.(\w+)\(\)/), functions);
    const called = /require\(?["']gemini-bridge["']\)?\.(\w+)/g;
    const named = unique([
      ...found(readme, called),
      ...found(help, called),
      ...found(readme, /`(\w+)\(\)`/g),
    ]);
    t.ok(named.includes("setup"));
    t.same(
      named.filter((name) => !functions.includes(name)),
      [],
    );
  });

  await t.test("functions are marked as experimental both in the help and in Lua", async (t) => {
    const init = readFileSync(join(root, "lua/gemini-bridge/init.lua"), "utf8");
    const marked = [...init.matchAll(/((?:^---.*\n)+)function M\.(\w+)/gm)]
      .filter(([, comment]) => comment?.includes("Experimental."))
      .map(([, , name]) => name);
    const entries = /10\. LUA FUNCTIONS([\s\S]*?)\n====/.exec(help)?.[1] ?? "";
    const told = [...entries.matchAll(/^(\w+\(.*?\)(?:, \w+\(.*?\))*)\s+Experimental\./gm)].flatMap(
      ([, names = ""]) => found(names, /(\w+)\(/g),
    );
    t.ok(told.length > 0);
    t.same(told.sort(), unique(marked));
  });

  await t.test("all events are in the help, and all events of the help are fired", async (t) => {
    const words = found(sources, /["'](Gemini\w+)["']/g);
    const outcomes = ["Opened", "Accepted", "Rejected", "Closed"].map((what) => `GeminiDiff${what}`);
    const events = tags(/(Gemini\w*)/);
    t.ok(events.length > 10);
    t.same(
      events.filter((name) => !words.includes(name) && !outcomes.includes(name)),
      [],
      "each is told",
    );
    const told = [
      ...found(sources, /emit\(\s*"(Gemini\w+)"[,)]/g),
      ...found(sources, /= "(Gemini(?:Turn\w+|Waiting))"/g),
    ];
    t.ok(told.includes("GeminiTurnEnded"));
    t.same(
      [...told, ...outcomes].filter((name) => !events.includes(name)),
      [],
      "each is in the help",
    );
    t.same(
      found(readme, /`(Gemini[A-Z]\w*)`/g).filter((name) => !events.includes(name)),
      [],
    );
  });

  await t.test(
    "all highlight groups are in the help, and all highlight groups of the help exist",
    async (t) => {
      await nvim.lua(
        "require('gemini-bridge.changes.signs') require('gemini-bridge.context.pinned_selection')",
      );
      await nvim.command("GeminiSelect");
      t.same(tags(/hl-(Gemini\w*)/), await ask("return vim.fn.getcompletion('Gemini', 'highlight')"));
    },
  );

  await t.test("all options are in the help, and all options of the help exist", async (t) => {
    const options = await ask(
      "return vim.tbl_map(function(option) return option[1] end, require('gemini-bridge.config').schema)",
    );
    t.same(tags(/gemini-bridge-option-([\w.]+)/), options);
    const dotted = found(readme, /`((?:terminal|diff|context|notify|log|server|send)\.\w+)(?: =[^`]*)?`/g);
    t.same(
      dotted.filter((name) => !options.includes(name)),
      [],
    );
  });
});
