/**
 * Types `/ide enable` into an unconnected CLI in a terminal of Neovim. Either the CLI's IDE mode is off, or the CLI
 * shows "Disconnected" because the bridge has a new port or token.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Bridge } from "../neovim/bridge.ts";
import type { Destinations } from "./destination.ts";
import { type Cli, READY_MS } from "./screen-state.ts";
import { bare, type Drawing, read } from "./screens.ts";

/**
 * Timeout for the prompt to become empty (ms). It is long, because the user may have to log in, or the CLI may be
 * working.
 */
const TIMEOUT_MS = 600_000;

/** Timeout for the CLI to show the typed command and to execute it (ms). */
const SHOW_TIMEOUT_MS = 30_000;

/**
 * Time for which the command must be visible before Enter is pressed (ms): Gemini CLI 0.61.0 treats Enter as a line
 * break for 40 ms after input that may be a paste. If Enter has no effect, it is pressed again after
 * REPEAT_INTERVAL_MS.
 */
const STABLE_MS = 300;
const REPEAT_INTERVAL_MS = 2_000;

/**
 * Delay before the command is typed into a CLI whose host has ended (ms). Gemini CLI 0.61.0 first tries twice to reach
 * the host, the second time after 2.5 s. An earlier command would only report these failed attempts.
 */
const RECONNECT_DELAY_MS = 4_000;

/**
 * Question of Gemini CLI 0.61.0 whether to connect, with blanks and borders removed. It has the name of the editor, see
 * `editorName` in src/discovery/content.ts. Esc closes the question.
 */
const QUESTION = /doyouwanttoconnectneovim.{0,60}togeminicli\?/iu;
/** Text that the CLI shows while it works. The CLI would queue a command as a prompt at this time. */
const WORKING = /esctocancel/i;
const COMMAND = "/ide enable";

/** Text of a prompt that contains only the command, perhaps followed by a list of completions. */
const IS_COMMAND = /^\/ideenable(enable|$)/;

/**
 * Number of lines that are read at the end of the screen. They show the question and the prompt even in a narrow
 * terminal.
 */
const SCREEN_LINES = 60;

/**
 * Time for a CLI to connect after the command (ms), and maximum number of times to type the command. One time may not
 * be enough: the CLI may answer the first command with the report of an earlier failure.
 */
const CONNECT_TIMEOUT_MS = 4_000;
const ATTEMPTS = 3;

/** A CLI that will not connect by itself, although the user has not turned IDE mode off. */
export interface Unconnected {
  /** Name of the terminal of `:Gemini` in which the CLI runs. */
  readonly terminal: string;
  /** Whether the bridge types the command. Otherwise, the user gets the hint. */
  readonly types: boolean;
  /** Whether the CLI will ask the user to confirm the connection. */
  readonly isAsked: boolean;
  /** Hint for the user if the bridge does not type the command. */
  readonly hint: string;
}

interface IdeEnablerOptions {
  bridge: Bridge;
  destinations: Pick<Destinations, "running" | "started">;
  /** Returns the rules for reading the screen of the CLI in a terminal. */
  drawingOf(terminal: string): Drawing | undefined;
  /** Counts the connected CLIs of the same kind as the CLI in a terminal. */
  connected(terminal: string): number;
  /** Aborted when the bridge stops. */
  signal: AbortSignal;
}

export function createIdeEnabler({ bridge, destinations, drawingOf, connected, signal }: IdeEnablerOptions) {
  /**
   * CLIs that are being connected. If Lua reports a CLI again meanwhile, the bridge must not type the command twice.
   */
  const enabling = new Set<Cli>();

  /**
   * Types the command when the CLI shows an empty prompt. If the CLI asks whether to connect, first closes the question
   * with Esc. The question opens some time after the prompt, and would take the Enter after the command as "Yes".
   * @returns whether the CLI has executed the command; undefined if the CLI has ended
   */
  async function type(cli: Cli, drawing: Drawing, isAsked: boolean): Promise<boolean | undefined> {
    const { terminal } = cli;
    const begin = Date.now() + (isAsked ? 0 : RECONNECT_DELAY_MS);
    let deadline = begin + TIMEOUT_MS;
    let isTyped = false;
    let wasInterrupted = false;
    let droppedAt: number | undefined;
    let askedAt = 0;
    let emptyAt: number | undefined;
    let shownAt: number | undefined;
    let enteredAt: number | undefined;
    const unfollow = terminal.follow();
    try {
      for (;;) {
        const screen = await terminal.next();
        const now = Date.now();
        if (!screen) return undefined;
        if (now > deadline) return false;
        const lines = screen.lines.slice(-SCREEN_LINES);
        const text = bare(lines.join(""));
        const prompt = read(lines, drawing);
        emptyAt = prompt.state === "empty" ? (emptyAt ?? now) : undefined;
        if (QUESTION.test(text)) {
          wasInterrupted = isTyped && enteredAt === undefined;
          droppedAt = undefined;
          if (now - askedAt > REPEAT_INTERVAL_MS && (await terminal.press("\x1b"))) askedAt = now;
        } else if (wasInterrupted && enteredAt === undefined && prompt.state === "empty") {
          // The question opened while the command was being typed, and the CLI has dropped the command. Types the
          // command again.
          droppedAt ??= now;
          if (now - droppedAt >= STABLE_MS) isTyped = cli.isBusy = wasInterrupted = false;
        } else if (isTyped) {
          shownAt = IS_COMMAND.test(prompt.text) ? (shownAt ?? now) : undefined;
          if (shownAt === undefined && enteredAt !== undefined) return true;
          const dueAt =
            enteredAt === undefined ? STABLE_MS + (shownAt ?? now) : enteredAt + REPEAT_INTERVAL_MS;
          // Presses Enter until the command is gone, because the list of completions may take the first Enter.
          if (shownAt !== undefined && now >= dueAt && (await terminal.press("\r"))) enteredAt = now;
        } else if ((askedAt > 0 || now >= begin) && emptyAt !== undefined && !WORKING.test(text)) {
          if (cli.isBusy || screen.isEditing || now - emptyAt < READY_MS) continue;
          cli.isBusy = true;
          cli.isBusy = isTyped = await terminal.press(COMMAND);
          if (isTyped) deadline = now + SHOW_TIMEOUT_MS;
        }
      }
    } finally {
      unfollow();
      if (isTyped) cli.isBusy = false;
    }
  }

  /**
   * Types the command, up to ATTEMPTS times, until a CLI has connected. If the command cannot be typed, shows the hint.
   */
  return async ({ terminal, types, isAsked, hint }: Unconnected): Promise<void> => {
    const drawing = types ? drawingOf(terminal) : undefined;
    const cli = drawing && (await destinations.started(terminal));
    const tell = () => bridge.tell("message", { level: "info", text: hint });
    if (!drawing || cli?.terminal.buf === undefined) return tell();
    if (enabling.has(cli)) return;
    enabling.add(cli);
    try {
      for (let tries = 1; tries <= ATTEMPTS; tries++) {
        const before = connected(terminal);
        const isTaken = await type(cli, drawing, isAsked && tries === 1);
        if (isTaken === false) tell();
        if (!isTaken) return;
        await sleep(CONNECT_TIMEOUT_MS, undefined, { signal });
        if (connected(terminal) > before || destinations.running(terminal) !== cli) return;
      }
    } finally {
      enabling.delete(cli);
    }
  };
}
