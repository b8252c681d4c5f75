/** Reads and types in the panes of the tmux in which Neovim runs. */
import { setTimeout as sleep } from "node:timers/promises";
import { Refusal } from "../base/refusal.ts";
import type { Terminal } from "./terminal.ts";

/**
 * Polling interval of a pane's screen (ms), because tmux does not report changes. The interval grows from the first to
 * the second value.
 */
const LOOK_INTERVAL_MS = 50;
const MAX_LOOK_INTERVAL_MS = 500;

/** Name of the tmux paste buffer. */
const BUFFER = "gemini-bridge";

/** Control characters, which are removed from a text: they could end a bracketed paste, and act as keys. */
const CONTROL = /[^\P{Cc}\n]/gu;

/** Runs tmux. @throws {Refusal} with tmux's error message */
export async function tmux(args: readonly string[], input = ""): Promise<string> {
  const { execFile } = await import("node:child_process"); // loaded late, so that the host starts fast
  return new Promise((resolve, reject) => {
    const child = execFile("tmux", args, (error, stdout, stderr) =>
      error ? reject(new Refusal(`tmux failed: ${stderr.trim() || error.message}`)) : resolve(stdout),
    );
    child.stdin?.on("error", () => {}); // tmux has ended; the callback reports why
    child.stdin?.end(input);
  });
}

/**
 * Creates the access to a tmux pane.
 * @param signal aborted when the bridge stops
 */
export function paneTerminal(pane: string, name: string, cwd: string, signal: AbortSignal): Terminal {
  let interval = LOOK_INTERVAL_MS;
  return {
    name,
    cwd,
    follow() {
      interval = LOOK_INTERVAL_MS;
      return () => {};
    },
    async next() {
      await sleep(interval, undefined, { signal });
      interval = Math.min(interval * 1.1, MAX_LOOK_INTERVAL_MS);
      const look = [
        "display-message",
        "-p",
        "-t",
        pane,
        "#{pane_dead}",
        ";",
        "capture-pane",
        "-p",
        "-t",
        pane,
      ];
      const [isDead, ...lines] = (await tmux(look).catch(() => "1")).split("\n");
      return isDead === "1" ? undefined : { lines, isEditing: false };
    },
    async paste(text) {
      await tmux(["load-buffer", "-b", BUFFER, "-"], text.replaceAll("\t", " ").replace(CONTROL, ""));
      await tmux(["paste-buffer", "-p", "-r", "-d", "-b", BUFFER, "-t", pane]);
      return true;
    },
    async press(keys) {
      await tmux(["send-keys", "-t", pane, "-l", keys]);
      return true;
    },
    focus: () => void tmux(["select-pane", "-t", pane]).catch(() => {}),
  };
}
