import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { z } from "zod";
import { layout, shows, startWithAgent } from "../support/agent.ts";
import { README_KEYS } from "../support/install.ts";
import { root, startNvim } from "../support/nvim.ts";

const HELP = readFileSync(join(root, "doc/gemini-bridge.txt"), "utf8");

/** Returns the Lua example that follows a tag in the help. */
function example(tag: string): string {
  const after = HELP.slice(HELP.indexOf(`*${tag}*`));
  return />lua\n([\s\S]*?)\n</.exec(after)?.[1] ?? "error('no example')";
}

const maps: [where: string, code: string][] = [
  ["README", README_KEYS],
  ["help", example("gemini-bridge-maps")],
];
for (const [where, code] of maps) {
  t.test(`the key maps of the ${where} catch no word that the user types into the CLI`, async (t) => {
    const nvim = await startWithAgent(t, "", { args: ["a.txt"] });
    await nvim.lua(`vim.g.mapleader = " "\n${code}`);
    await nvim.input(" gg");
    await shows(nvim, /child/);
    await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "terminal mode");
    await nvim.input("an egg gg ga gs gr gv gf");
    await shows(nvim, /an egg gg ga gs gr gv gf/);
    t.match(await layout(nvim), { current: "gemini", windows: { length: 2 }, mode: "t" });
    await nvim.input("<C-\\><C-g>");
    t.match(await layout(nvim), { windows: { length: 1 } }, "and one of them hides it");
    await nvim.input(" gg");
    t.match(await layout(nvim), { windows: { length: 2 } });
  });
}

t.test("the help's example of a terminal provider opens a CLI that finds this Neovim", async (t) => {
  const nvim = await startNvim(t, {
    files: {
      "bin/xterm": '#!/bin/sh\n[ "$1" = -e ] || exit 2\nshift\nexec "$@"\n',
      "bin/gemini": "#!/bin/sh\n{ env; pwd; } >told.new\nmv told.new told\n",
    },
    init: `
      local bin = vim.fn.getcwd() .. '/bin'
      for _, name in ipairs({ 'xterm', 'gemini' }) do vim.uv.fs_chmod(bin .. '/' .. name, 448) end
      vim.env.PATH = bin .. ':' .. vim.env.PATH
      ${example("gemini-bridge-provider")}`,
  });
  await nvim.command("Gemini");
  await nvim.waitFor(() => existsSync(nvim.path("told")), "the program");
  const { port } = z
    .object({ port: z.int() })
    .parse(await nvim.lua("return require('gemini-bridge').status()"));
  const told = readFileSync(nvim.path("told"), "utf8").split("\n");
  t.ok(told.includes(`GEMINI_CLI_IDE_SERVER_PORT=${port}`));
  t.ok(told.includes(nvim.dirs.workspace));
});
