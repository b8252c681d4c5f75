import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "./nvim.ts";

/** Copies the plugin as a clone of it would be: what git knows or would take, nothing built, nothing installed. */
export function copyPlugin(into: string): string {
  const list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const names = execFileSync("git", list, { cwd: root, encoding: "utf8" }).split("\0");
  for (const name of names) {
    // git still lists what was deleted since the last commit.
    if (name === "" || !existsSync(join(root, name))) continue;
    mkdirSync(dirname(join(into, name)), { recursive: true });
    copyFileSync(join(root, name), join(into, name));
  }
  return into;
}

/** A repository with the plugin in one commit, for plugin managers to clone. @returns its URL. */
export function plantRepository(into: string): string {
  copyPlugin(into);
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=test", "-c", "user.email=test@localhost", ...args], { cwd: into });
  git("init", "--quiet", "--initial-branch=main");
  git("add", "--all");
  git("commit", "--quiet", "--message=plugin");
  return `file://${into}`;
}

/** Lua for a test's init.lua that replaces the plugin of this checkout by a copy. */
export const useCopy = (copy: string) =>
  `vim.opt.runtimepath:remove(${JSON.stringify(root)})\nvim.opt.runtimepath:prepend(${JSON.stringify(copy)})`;
