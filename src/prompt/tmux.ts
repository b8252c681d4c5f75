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

/**
 * Prefix of the names of tmux paste buffers. Each pane and each host has its own buffer, because all panes and Neovims
 * share the buffers of the tmux server.
 */
const BUFFER = "gemini-bridge";

const ESC = "\u001b";
const ATTRIBUTES = `(?:${ESC}\\[[\\d;:]*m)`;

/** Escape sequences in the output of `capture-pane -e`: attributes and links. */
const ESCAPES = new RegExp(`${ATTRIBUTES}|${ESC}\\]8;[^${ESC}]*${ESC}\\\\`, "g");

/** A suggested prompt: one inverse character, then dim characters. */
const SUGGESTION = new RegExp(
  `${ESC}\\[(?:\\d+;)*7m${ATTRIBUTES}?[^${ESC}]${ATTRIBUTES}?${ESC}\\[(?:\\d+;)*2m`,
);

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
  const buffer = `${BUFFER}-${process.pid}-${pane}`;

  /**
   * Sends bytes to the program in the pane. Uses a paste buffer even for keys: tmux would take the keys of `send-keys`
   * as its own commands while the user scrolls back (copy mode), and would also send them to synchronized panes.
   */
  async function send(bytes: string, ...options: readonly string[]): Promise<void> {
    await tmux(["load-buffer", "-b", buffer, "-"], bytes);
    await tmux(["paste-buffer", ...options, "-r", "-d", "-b", buffer, "-t", pane]);
  }

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
        "#{pane_dead} #{pane_in_mode}",
        ";",
        "capture-pane",
        "-p",
        "-e",
        "-t",
        pane,
      ];
      const [state, ...lines] = (await tmux(look).catch(() => "1")).split("\n");
      const [isDead, modes] = (state ?? "").split(" ");
      if (isDead === "1") return undefined;
      const suggested = lines.flatMap((line, index) => (SUGGESTION.test(line) ? [index] : []));
      return {
        lines: lines.map((line) => line.replace(ESCAPES, "")),
        appearance: { suggested, isUntouched: false },
        isEditing: false,
        isScrolled: modes !== "0",
      };
    },
    async paste(text) {
      await send(text, "-p");
      return true;
    },
    async press(keys) {
      if (keys !== "") await send(keys); // tmux stores no empty buffer
      return true;
    },
  };
}
