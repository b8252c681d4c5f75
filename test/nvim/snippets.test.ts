/** Tests that the code in the help runs. For the README, see readme.test.ts and install.test.ts. */
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { type Nvim, root, startNvim } from "../support/nvim.ts";
import { copyPlugin, useCopy } from "../support/plugin.ts";
import { makeDirectory } from "../support/sandbox.ts";

const help = readFileSync(join(root, "doc/gemini-bridge.txt"), "utf8");

/** The code blocks of a language: indented, up to a line that is not. */
const blocks = (language: string) =>
  [...help.matchAll(new RegExp(`(?:^|\\s)>${language}\\n((?:[ \\t].*\\n|\\n)+)`, "g"))].map(
    ([, code = ""]) => code,
  );

/** Stand-ins for other plugins that a snippet sets up, which store the options. */
const OTHERS = `
for _, name in ipairs({ "lualine" }) do
  package.preload[name] = function()
    return { setup = function(options) _G[name .. "_options"] = options end }
  end
end`;

/** A Neovim with a copy of the plugin, which a snippet may build. */
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
    // A wrong option is a message, as soon as Neovim is idle.
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

t.test("the help contains commands that exist", async (t) => {
  const nvim = await startNvim(t);
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
