/** Tests the help and the README: their code must run, and the names in them must exist. */
import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { z } from "zod";
import { type Nvim, nvimBinary, root, startNvim } from "../support/nvim.ts";
import { copyPlugin, useCopy } from "../support/plugin.ts";
import { makeDirectory } from "../support/sandbox.ts";

const HELP = join(root, "doc/gemini-bridge.txt");
const help = readFileSync(HELP, "utf8");
const README = join(root, "README.md");
const readme = readFileSync(README, "utf8");
const Names = z.array(z.string());

/** Returns the code blocks of a language in the help. A block ends at a line without indentation. */
const blocks = (language: string) =>
  [...help.matchAll(new RegExp(`(?:^|\\s)>${language}\\n((?:[ \\t].*\\n|\\n)+)`, "g"))].map(
    ([, code = ""]) => code,
  );

/** Returns the code blocks of a language in the README. */
const readmeBlocks = (language: string) =>
  [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "gm"))].map(
    ([, code = ""]) => code,
  );

/** Lua that replaces other plugins that a code block sets up. The replacements store the options. */
const OTHERS = `
for _, name in ipairs({ "lualine" }) do
  package.preload[name] = function()
    return { setup = function(options) _G[name .. "_options"] = options end }
  end
end`;

/** Starts a Neovim with a copy of the plugin, which a code block may build. */
async function startBeside(t: Test): Promise<{ nvim: Nvim; copy: string }> {
  const copy = copyPlugin(join(makeDirectory(t), "gemini-bridge.nvim"));
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  t.teardown(() => rmSync(join(copy, "node_modules"), { force: true }));
  return { nvim: await startNvim(t, { init: `${useCopy(copy)}\n${OTHERS}` }), copy };
}

t.test("the help contains valid Lua", async (t) => {
  const lua = blocks("lua");
  t.ok(lua.length >= 6, "it is found");
  const { nvim, copy } = await startBeside(t);
  for (const block of lua) {
    const code = block.replaceAll("/path/to/gemini-bridge.nvim", copy);
    await nvim.command("messages clear");
    await t.resolves(nvim.lua(code), code);
    // An invalid option is reported as soon as Neovim is idle.
    await nvim.lua("return true");
    t.notMatch(await nvim.messages(), /option|E\d+:/, code);
  }

  t.equal(await nvim.lua("return require('gemini-bridge.host.bundle').problem()"), null, "it is built");
  const maps = [
    ...help.matchAll(/keymap\.set\((?:"(\w)"|\{ "(\w)"[^}]*\}), "([^"]+)", "<Plug>\((\w+)\)"\)/g),
  ];
  t.ok(maps.length >= 4, "maps are found");
  for (const [, one, first, string = "", command] of maps) {
    const keys = string.replaceAll("\\\\", "\\");
    const mapped = await nvim.lua("return vim.fn.maparg(...)", keys, one ?? first);
    t.equal(mapped, `<Plug>(${command})`);
    t.equal(await nvim.lua("return vim.fn.exists(':' .. ...)", command), 2, `:${command}`);
  }
  t.same(await nvim.lua("return lualine_options.sections.lualine_x"), ["gemini"]);
  t.equal(
    await nvim.lua("return vim.api.nvim_eval_statusline(vim.o.statusline, {}).str:match('^%S+')"),
    "[No",
  );
  t.ok(
    Number(
      await nvim.lua("return #vim.api.nvim_get_autocmds({ event = 'User', pattern = 'GeminiConnected' })"),
    ) > 0,
  );
});

/** A Neovim for all following tests. */
const nvim = await startNvim(t, { files: { "doc/keep": "" } });

t.test("the commands in the help exist", async (t) => {
  const lines = blocks("vim")
    .flatMap((block) => block.split("\n"))
    .map((line) => /^ {4}(:\S.*?)(?: {2,}|$)/.exec(line)?.[1])
    .filter((command) => command !== undefined);
  t.ok(lines.length >= 8, "they are found");
  for (const line of lines) {
    const cmd = await nvim.lua("return vim.api.nvim_parse_cmd(..., {}).cmd", line);
    t.equal(await nvim.lua("return vim.fn.exists(':' .. ...)", cmd), 2, line);
  }
});

t.test("the help contains valid shell code", async (t) => {
  for (const code of blocks("sh")) t.doesNotThrow(() => execFileSync("sh", ["-n", "-c", code]), code);
});

t.test("the generated parts of the help are up to date", async (t) => {
  const check = () => execFileSync(nvimBinary(), ["-l", join(root, "scripts/doc.lua"), "--check"]);
  t.doesNotThrow(check, "run `make doc`");
});

t.test("tags of the help are valid", async (t) => {
  const doc = nvim.path("doc");
  copyFileSync(HELP, join(doc, "gemini-bridge.txt"));
  // Raises E154 for a duplicate tag.
  await nvim.command(`helptags ${doc}`);
  const tags = new Set(
    readFileSync(join(doc, "tags"), "utf8")
      .split("\n")
      .map((line) => line.split("\t", 1)[0] ?? ""),
  );
  const missing = (names: string[]) => names.filter((name) => !tags.has(name));

  await t.test("links in the help refer to existing tags", async (t) => {
    const text = help.replace(/^>[a-z]*\n(?:[ \t].*\n|\n)*|^.* >[a-z]*\n(?:[ \t].*\n|\n)*/gm, "");
    const links = [...text.matchAll(/(?<=^|\s|\()\|([^|\s]+)\|/gm)].map(([, name]) => name ?? "");
    const unknown = Names.parse(
      await nvim.lua(
        `vim.opt.runtimepath:prepend(vim.fn.fnamemodify(..., ":h"))
         local names = select(2, ...)
         return vim.list_extend({ "-" }, vim.iter(names):filter(function(name)
           return not vim.tbl_contains(vim.fn.getcompletion(name, "help"), name)
         end):totable())`,
        doc,
        missing(links),
      ),
    );
    t.same(unknown, ["-"]);
  });
});

t.test("lines of the help fit into 78 columns", async (t) => {
  const wide = help.split("\n").filter((line) => [...line].length > 78 && !/https?:\/\//.test(line));
  t.same(wide, []);
});

t.test("the README contains valid code and existing names", async (t) => {
  await t.test("the README contains valid Lua", async (t) => {
    const lua = readmeBlocks("lua");
    t.ok(lua.length >= 4);
    for (const code of lua) {
      // A specification for lazy.nvim is a table, not a statement.
      const problem = await nvim.lua(
        `local code = ...
         local chunk, problem = loadstring(code)
         return not chunk and not loadstring("return " .. code) and problem or nil`,
        code,
      );
      t.equal(problem, null, code);
    }
  });

  await t.test("the options in the README exist", async (t) => {
    const [setup] = readmeBlocks("lua").filter((code) => code.includes("setup("));
    await nvim.lua(setup ?? "error('no setup')");
    t.notMatch(await nvim.messages(), /option/, "nothing is complained of");
    t.equal(await nvim.lua("return require('gemini-bridge.config').get().diff.layout"), "vertical");
  });

  await t.test("the README fits on 10 KB and describes twelve commands", async (t) => {
    t.ok(statSync(README).size <= 10_240);
    const described = [...readme.matchAll(/^\| `:(Gemini\w*)(?:[^|\\]|\\.)*\|[^|]*\|$/gm)].map(
      ([, name = ""]) => name,
    );
    t.equal(new Set(described).size, 12);
    const commands = Names.parse(await nvim.lua("return vim.fn.getcompletion('Gemini', 'command')"));
    t.same(
      described.filter((name) => !commands.includes(name)),
      [],
    );
  });

  await t.test("the README names the owner of the repository in one place", async (t) => {
    t.equal(readme.match(/<owner>/g)?.length, 1);
  });

  await t.test("the README refers to existing topics of the help", async (t) => {
    const topics = [...readme.matchAll(/`:help ([\w-]+)`/g)].map(([, topic = ""]) => topic);
    t.ok(topics.length > 3, "some are found");
    for (const topic of topics) t.ok(help.includes(`*${topic}*`), topic);
  });

  await t.test("the README names make targets that exist", async (t) => {
    for (const [, target = ""] of readme.matchAll(/(?:^|`)make (\w+)/gm)) {
      t.doesNotThrow(() => execFileSync("make", ["--dry-run", target], { cwd: root, stdio: "pipe" }), target);
    }
  });

  await t.test("the README contains valid shell code", async (t) => {
    for (const code of readmeBlocks("sh")) t.doesNotThrow(() => execFileSync("sh", ["-n", "-c", code ?? ""]));
  });
});
