/** Reads the screen of one CLI, and tracks the state that decides whether a prompt can be typed. */
import { bare, type Drawing, type Reading, read, recognize } from "./screens.ts";
import type { Terminal } from "./terminal.ts";

/**
 * An unknown program counts as ready if its screen has not changed for QUIET_MS, or if its first output is MAX_START_MS
 * ago. Nothing is typed earlier, because the program might echo or lose the text.
 */
const QUIET_MS = 1_000;
const MAX_START_MS = 20_000;

/**
 * Time for which a prompt that has just appeared must be visible before a text is typed (ms). Gemini CLI 0.61.0 and
 * Qwen Code 0.24.4 may draw their prompt before they read its keys, and drop what they receive meanwhile.
 */
export const READY_MS = 250;

export interface Cli {
  readonly terminal: Terminal;
  /** Rules for reading the CLI's screen; undefined for an unknown program. */
  readonly drawing: Drawing | undefined;
  /** Text in the CLI's prompt, but only if the bridge has typed the whole text. */
  ours: string | undefined;
  /** Whether the bridge is typing into the CLI. */
  isBusy: boolean;
  /**
   * Waits for a change of the screen, up to a short timeout.
   * @returns the new reading; undefined after the CLI has ended
   */
  look(): Promise<Reading | undefined>;
}

/**
 * Creates the state of a CLI.
 * @param isReviewing whether a review is open in Neovim. If so, an unknown program counts as asking a question: its
 * screen does not show reliably whether the program asks
 */
export function createCli(terminal: Terminal, known: Drawing | undefined, isReviewing: () => boolean): Cli {
  let drawing = known;
  let last = "";
  let changedAt = 0;
  let shownAt: number | undefined;
  let isSettled = false;

  /** Guesses the state of an unknown program. "empty": the program seems to be ready. */
  function guess(lines: readonly string[]): Reading {
    const text = bare(lines.join(""));
    const now = Date.now();
    if (text !== last) {
      last = text;
      changedAt = now;
      shownAt = text === "" ? undefined : (shownAt ?? now);
    }
    isSettled ||= shownAt !== undefined && (now - changedAt >= QUIET_MS || now - shownAt >= MAX_START_MS);
    return { state: isReviewing() ? "question" : isSettled ? "empty" : "absent", text };
  }

  return {
    terminal,
    get drawing() {
      return drawing;
    },
    ours: undefined,
    isBusy: false,
    async look() {
      const screen = await terminal.next();
      if (!screen) return undefined;
      drawing ??= recognize(screen.lines);
      if (screen.isEditing) return { state: "elsewhere", text: "" };
      const reading = drawing ? read(screen.lines, drawing, screen.appearance) : guess(screen.lines);
      return screen.isScrolled ? { ...reading, isScrolled: true } : reading;
    },
  };
}
