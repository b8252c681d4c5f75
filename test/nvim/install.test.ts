/** Tests the installation of a release by the instructions of the README, without npm. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";
import { FORGET, reachesRunning, way } from "../support/install.ts";
import { type Nvim, startNvim } from "../support/nvim.ts";
import { plantRelease } from "../support/plugin.ts";
import { makeDirectory } from "../support/sandbox.ts";

/** Timeout for cloning a local repository on a busy machine (milliseconds). */
const PATIENCE = 30_000;

/** Returns a value of PATH with Node, git and the system's programs, but without npm. */
function withoutNpm(t: Test): string {
  const bin = makeDirectory(t);
  symlinkSync(process.execPath, join(bin, "node"));
  for (const folder of (process.env["PATH"] ?? "").split(":").filter(existsSync)) {
    for (const name of readdirSync(folder)) {
      const isTaken = existsSync(join(bin, name)) || /^(node|npm|npx|corepack|pnpm|yarn)/.test(name);
      if (!isTaken && folder !== dirname(process.execPath)) symlinkSync(join(folder, name), join(bin, name));
    }
  }
  return bin;
}

/** Returns the files in the plugin's folder that do not belong to the release. */
async function additions(nvim: Nvim): Promise<string> {
  const [file] = (await nvim.lua(
    "return vim.api.nvim_get_runtime_file('lua/gemini-bridge/init.lua', true)",
  )) as string[];
  const folder = dirname(dirname(dirname(String(file))));
  return execFileSync("git", ["status", "--porcelain"], { cwd: folder, encoding: "utf8" });
}

t.test("a release is installed without npm", async (t) => {
  const url = plantRelease(t);
  const env = { PATH: withoutNpm(t) };
  const probe = await startNvim(t, { env });
  t.equal(await probe.lua("return vim.fn.executable('npm')"), 0);

  // Each Neovim tests one installation method: a method that only this version supports, or else a common method.
  if ((await probe.lua("return vim.pack ~= nil")) === true) {
    const confirmed = way("vim.pack", url).replace(/ \}\)\n$/, " }, { confirm = false })\n");
    const nvim = await startNvim(t, { init: `${FORGET}vim.schedule(function()\n${confirmed}end)`, env });
    await nvim.waitFor("vim.fn.exists(':GeminiStart') == 2", "the clone", PATIENCE);
    await reachesRunning(t, nvim, /site\/pack\/core\/opt\/gemini-bridge\.nvim/);
    t.equal(await additions(nvim), "");
    return;
  }
  const init = FORGET + way("Without a plugin manager", fileURLToPath(url));
  const nvim = await startNvim(t, { init, env });
  await nvim.command("helptags ALL");
  await nvim.command("help gemini-bridge");
  await reachesRunning(t, nvim, /\/gemini-bridge\.nvim/);
  t.equal(await additions(nvim), "");
});

/** Plugin managers. Each is tested only if an environment variable names the folder of its source. */
const managers: [string, string, (source: string, block: string) => string][] = [
  [
    "lazy.nvim",
    "LAZY_NVIM",
    (source, block) => `
      vim.opt.runtimepath:prepend(${JSON.stringify(source)})
      local spec = ${block.replace(/dir = (".*"),/, 'url = $1, version = "*",')}
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
    const url = plantRelease(t);
    const code = init(source, way(name, url));
    const nvim = await startNvim(t, {
      init: `${FORGET}vim.schedule(function()\n${code}\nend)`,
      env: { PATH: withoutNpm(t) },
    });
    await nvim.waitFor("vim.fn.exists(':GeminiStart') == 2", "the clone", PATIENCE);
    await reachesRunning(t, nvim, /\/gemini-bridge\.nvim\//);
    t.equal(await additions(nvim), "");
  });
}
