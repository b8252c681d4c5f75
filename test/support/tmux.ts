/** Starts tmux servers for tests. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { type Nvim, root } from "./nvim.ts";
import { descendants, killAll } from "./processes.ts";
import type { Scope } from "./scope.ts";

execFileSync(join(root, "scripts/need.sh"), ["tmux", "tmux"], { stdio: "inherit" });

/**
 * Timeout of a tmux command. Without this timeout, a command that hangs would also block the time limit of the test.
 */
const TIMEOUT_MS = 20_000;

/**
 * Runs a tmux command.
 * @returns the output
 */
export type Tmux = (...args: string[]) => string;

/**
 * Starts a tmux server with one pane of 120x40, and makes Neovim behave as if it ran in that pane. The server ends with
 * the test.
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
    killAll(started); // a CLI with a child process does not end with its terminal
  });
  await enterTmux(nvim, socket, tmux("display-message", "-p", "#{pane_id}"));
  return tmux;
}

/** Makes Neovim behave as if it ran in a tmux pane. */
export async function enterTmux(nvim: Nvim, socket: string, pane: string): Promise<void> {
  await nvim.lua("vim.env.TMUX, vim.env.TMUX_PANE = ...", `${socket},1,0`, pane);
}
