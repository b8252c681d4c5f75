/** Copies and reloads the plugin, and creates git repositories that contain the plugin. */
import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Nvim, root, startNvim } from "./nvim.ts";
import { makeDirectory } from "./sandbox.ts";
import type { Scope } from "./scope.ts";

/** Copies the files of the plugin that git tracks or would add. Leaves out the build and the packages. */
export function copyPlugin(into: string): string {
  const list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const names = execFileSync("git", list, { cwd: root, encoding: "utf8" }).split("\0");
  for (const name of names) {
    // git also lists files that were deleted after the last commit.
    if (name === "" || !existsSync(join(root, name))) continue;
    mkdirSync(dirname(join(into, name)), { recursive: true });
    copyFileSync(join(root, name), join(into, name));
  }
  return into;
}

/**
 * Creates a repository with the plugin's sources in one commit, for plugin managers.
 * @returns the URL of the repository
 */
export function plantRepository(into: string): string {
  copyPlugin(into);
  commit(into, "main");
  return `file://${into}`;
}

/**
 * Creates a repository with a published release: a branch, and a tag for each version.
 * @returns the URL of the repository
 */
export function plantRelease(t: Scope): string {
  const directory = makeDirectory(t);
  execFileSync(process.execPath, [join(root, "scripts/package.mjs"), directory]);
  const folder = join(directory, "gemini-bridge.nvim");
  const git = commit(folder, "release");
  git("tag", `v${packageVersion}`);
  return `file://${folder}`;
}

/** Version of the plugin. */
export const packageVersion: string = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version;

/**
 * Commits the content of a folder. The commit always has the same hash.
 * @returns a function that runs git in the folder
 */
export function commit(folder: string, branch: string): (...words: string[]) => void {
  const who = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
  const date = "2026-01-02T03:04:05Z";
  const env = { ...process.env, GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date };
  const git = (...words: string[]) => execFileSync("git", [...who, ...words], { cwd: folder, env });
  git("init", "--quiet", `--initial-branch=${branch}`);
  git("add", "--all");
  git("commit", "--quiet", "--message=plugin");
  return git;
}

/** Returns Lua for init.lua that loads a copy of the plugin instead of this checkout. */
export const useCopy = (copy: string) =>
  `vim.opt.runtimepath:remove(${JSON.stringify(root)})\nvim.opt.runtimepath:prepend(${JSON.stringify(copy)})`;

/** Reloads the plugin as `:Lazy reload` of lazy.nvim does. */
export async function reload(nvim: Nvim): Promise<void> {
  await nvim.lua(`require("gemini-bridge").deactivate()
    for name in pairs(package.loaded) do
      if vim.startswith(name, "gemini-bridge") then
        package.loaded[name] = nil
      end
    end
    vim.cmd("delcommand GeminiStart | runtime plugin/gemini-bridge.lua")`);
}

/** Starts a Neovim with a copy of the built plugin. The sources have newer times than the bundle, but are unchanged. */
export async function startCopy(t: Scope) {
  const copy = copyPlugin(join(makeDirectory(t), "gemini-bridge.nvim"));
  const dist = join(copy, "dist");
  cpSync(join(root, "dist"), dist, { recursive: true });
  const built = new Date(Date.now() - 60_000);
  for (const name of ["gemini-bridge.cjs", "sources.sha256"]) utimesSync(join(dist, name), built, built);
  const nvim = await startNvim(t, { init: useCopy(copy) });
  return {
    dist,
    stamp: join(dist, "sources.sha256"),
    built,
    source: join(copy, "src", "index.ts"),
    state: () => nvim.lua("return require('gemini-bridge.host.bundle').state()"),
  };
}
