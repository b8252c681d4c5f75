/** Starts tmux servers. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { type Nvim, root } from "./nvim.ts";
import { descendants, killAll } from "./processes.ts";
import type { Scope } from "./scope.ts";

execFileSync(join(root, "scripts/need.sh"), ["tmux", "tmux"], { stdio: "inherit" });

/** A command that does not return would block the whole test, with its own time limit. */
const TIMEOUT_MS = 20_000;

/** Runs a tmux command. @returns its output */
export type Tmux = (...args: string[]) => string;

/**
 * Starts a tmux server for a test, with one pane of 120x40. It ends with the test. Neovim then behaves as if
 * it ran in that pane.
 * @param directory working directory of the pane's shell
 */
export async function startTmux(t: Scope, nvim: Nvim, directory: string): Promise<Tmux> {
  const socket = join(nvim.dirs.base, "tmux");
  const environment = [
    "-i",
    `PATH=${process.env["PATH"]}`,
    `HOME=${nvim.dirs.home}`,
    "TERM=xterm",
    "LANG=C.UTF-8",
  ];
  const tmux: Tmux = (...args) =>
    execFileSync("env", [...environment, "tmux", "-f", "/dev/null", "-S", socket, ...args], {
      encoding: "utf8",
      cwd: directory,
      timeout: TIMEOUT_MS,
    }).trim();
  tmux("new-session", "-d", "-x", "120", "-y", "40", "sh");
  const server = Number(tmux("display-message", "-p", "#{pid}"));
  t.teardown(() => {
    const started = descendants(server);
    tmux("kill-server");
    killAll(started); // a CLI with a child process outlives its terminal
  });
  await enterTmux(nvim, socket, tmux("display-message", "-p", "#{pane_id}"));
  return tmux;
}

/** Makes Neovim behave as if it ran in a pane. */
export async function enterTmux(nvim: Nvim, socket: string, pane: string): Promise<void> {
  await nvim.lua("vim.env.TMUX, vim.env.TMUX_PANE = ...", `${socket},1,0`, pane);
}
