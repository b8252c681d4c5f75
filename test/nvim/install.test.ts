import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { type Nvim, root, startNvim } from "../support/nvim.ts";
import { plantRepository } from "../support/plugin.ts";
import { makeDirectory } from "../support/sandbox.ts";

/** An installation with npm takes 7 s, on a slow network more. */
const PATIENCE = 120_000;
t.setTimeout(5 * PATIENCE);

const readme = readFileSync(join(root, "README.md"), "utf8");

/** The code block of one of the README's ways to install, which clones `url` instead of the published repository. */
function way(heading: string, url: string): string {
  const section = readme.slice(readme.indexOf(`\n### ${heading}`));
  const block = /^```(?:lua|sh)\n([\s\S]*?)^```/m.exec(section)?.[1];
  if (block === undefined) throw new Error(`the README has no block for ${heading}`);
  const replaced = block.replace(/"(https:\/\/github\.com\/)?<owner>\/gemini-bridge\.nvim"/, `"${url}"`);
  if (replaced === block) throw new Error(`${heading} names no repository`);
  return replaced;
}

/** Not the checkout but only what gets installed may be found. */
const FORGET = `vim.opt.runtimepath:remove(${JSON.stringify(root)})\n`;

/** npm's own cache, or each Neovim's empty HOME would have all packages downloaded anew. */
const env = { npm_config_cache: process.env["npm_config_cache"] ?? join(homedir(), ".npm") };

const isRunning = "require('gemini-bridge').status().state == 'running'";

async function reachesRunning(t: Test, nvim: Nvim, directory: RegExp): Promise<void> {
  t.match(await nvim.lua("return vim.api.nvim_get_runtime_file('lua/gemini-bridge/init.lua', true)"), [
    directory,
  ]);
  await nvim.input(":GeminiStart<CR>");
  await nvim.waitFor(isRunning, "the bridge to run", 20_000);
  t.notMatch(await nvim.messages(), /Error|E\d+:/);
}

async function waitForBuild(nvim: Nvim): Promise<void> {
  const isBuilt = "require('gemini-bridge.host.build').problem() == nil";
  await nvim.waitFor(isBuilt, "the build", PATIENCE);
}

t.test("the plugin's own ways to install", async (t) => {
  const url = plantRepository(join(makeDirectory(t), "gemini-bridge.nvim"));
  const probe = await startNvim(t);
  const hasPack = (await probe.lua("return vim.pack ~= nil")) === true;

  // One installation for each Neovim: what is special about one of them, else what serves both.
  if (hasPack) {
    await t.test("vim.pack", async (t) => {
      const block = way("vim.pack", url).replace(" })\n", " }, { confirm = false })\n");
      const nvim = await startNvim(t, { init: `${FORGET}vim.schedule(function()\n${block}end)`, env });
      await nvim.waitFor("pcall(require, 'gemini-bridge.host.build')", "the clone", PATIENCE);
      await waitForBuild(nvim);
      await reachesRunning(t, nvim, /site\/pack\/core\/opt\/gemini-bridge\.nvim/);
    });
    return;
  }
  await t.test("by hand", async (t) => {
    const nvim = await startNvim(t, { init: FORGET, env });
    const shellEnv = { PATH: process.env["PATH"], HOME: nvim.dirs.home, XDG_DATA_HOME: nvim.dirs.data };
    execFileSync("sh", ["-ec", way("By hand", url)], { env: shellEnv, stdio: "pipe" });
    // A plugin is found at the next start; `packloadall` is the same without it.
    await nvim.command("packloadall!");
    await nvim.command("helptags ALL");
    await nvim.command("help gemini-bridge");
    await nvim.command("GeminiBuild");
    await waitForBuild(nvim);
    await reachesRunning(t, nvim, /site\/pack\/plugins\/start\/gemini-bridge\.nvim/);
  });
});

/** Plugin managers that are tried where a variable names the folder of their source. */
const managers: [string, string, (source: string, block: string, url: string) => string][] = [
  [
    "lazy.nvim",
    "LAZY_NVIM",
    (source, block, url) => `
      vim.opt.runtimepath:prepend(${JSON.stringify(source)})
      local spec = ${block.replace(`"${url}"`, `url = "${url}"`)}
      require("lazy").setup({ spec }, { rocks = { enabled = false } })`,
  ],
  [
    "mini.deps",
    "MINI_DEPS",
    (source, block) => `
      vim.opt.runtimepath:prepend(${JSON.stringify(source)})
      require("mini.deps").setup()
      ${block}`,
  ],
];

for (const [name, variable, init] of managers) {
  const source = process.env[variable];
  if (!source) {
    t.comment(`${name}: not tried, ${variable} does not name its source`);
    continue;
  }
  t.test(name, async (t) => {
    const url = plantRepository(join(makeDirectory(t), "gemini-bridge.nvim"));
    const code = init(source, way(name, url), url);
    const nvim = await startNvim(t, { init: `${FORGET}vim.schedule(function()\n${code}\nend)`, env });
    await nvim.waitFor("pcall(require, 'gemini-bridge.host.build')", "the clone", PATIENCE);
    await waitForBuild(nvim);
    await reachesRunning(t, nvim, /\/gemini-bridge\.nvim\//);
  });
}
