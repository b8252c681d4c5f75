/** Types one prompt into a CLI: waits until the CLI accepts input, checks that the text has arrived, presses Enter. */
import type { Cli } from "./screen-state.ts";
import { bare, type Reading } from "./screens.ts";

/**
 * Timeouts for a text to appear. A known CLI gets longer, because it may be busy: typing again too early would enter
 * the text twice.
 */
const SHOW_TIMEOUT_MS = 3_000;
const KNOWN_SHOW_TIMEOUT_MS = 20_000;

/**
 * A text has arrived after it was shown unchanged for this time. Gemini CLI 0.61.0 treats Enter as a line break for
 * 40 ms after a paste.
 */
const STABLE_MS = 150;

/** Number of characters at the end of a text by which it is recognized on the screen. */
const TAIL_LENGTH = 20;

/** Shown by many CLIs instead of a long paste, without blanks: "[Pasted Text: 12 lines]", "[Pasted Content …]". */
const PASTE = "[Pasted";

export interface Prompt {
  readonly id: number;
  /** Whether to press Enter. */
  readonly submit: boolean;
  isCancelled: boolean;
}

/** What enters the CLI's prompt. */
export interface Input {
  readonly text: string;
  /** Whether to press Enter. */
  readonly enter: boolean;
  /** Asks the CLI to insert the text, instead of pasting it. */
  readonly insert?: () => void;
}

export interface Delivery {
  /** Whether the text is in the CLI, sent or not. */
  readonly typed: boolean;
  readonly problem?: string;
}

/**
 * Called with each state of the screen for which the prompt waits. `since` is the start of the wait (Unix
 * milliseconds).
 */
export type Waiting = (state: Reading["state"], since: number) => void;

/**
 * Types a prompt. Never answers a question of the CLI, and never sends text that the user typed there.
 * @returns no problem if the CLI has ended or the prompt was cancelled
 */
export async function deliver(cli: Cli, prompt: Prompt, input: Input, waiting: Waiting): Promise<Delivery> {
  const { terminal } = cli;
  const { text, enter } = input;
  let isTyping = false;
  const isOurs = ({ state, text: shown }: Reading) => state === "empty" || shown === cli.ours;

  /** Reads the screen until `check` returns a result. @returns undefined after a cancellation or the end of the CLI */
  async function until<T>(check: (reading: Reading) => T | undefined | Promise<T | undefined>) {
    for (;;) {
      const reading = await cli.look();
      if (!reading || prompt.isCancelled) return undefined;
      const result = await check(reading);
      if (result !== undefined) return result;
    }
  }

  /** @returns false if the text was not inserted, because the screen has changed */
  async function put(reading: Reading): Promise<boolean> {
    if (!input.insert) return terminal.paste(isOurs(reading) ? text : ` ${text}`);
    if (!(await terminal.press(""))) return false;
    input.insert();
    return true;
  }

  /** Pastes the text as soon as the CLI accepts it. @returns the screen before */
  function paste(): Promise<Reading | undefined> {
    const since = Date.now();
    return until(async (reading) => {
      const isFree =
        reading.state === "empty" || (reading.state === "typed" && (!prompt.submit || isOurs(reading)));
      if (!isFree || cli.isBusy) return void waiting(cli.isBusy ? "absent" : reading.state, since);
      cli.isBusy = isTyping = true;
      if (await put(reading)) return reading;
      cli.isBusy = isTyping = false;
      return undefined;
    });
  }

  /**
   * Waits until the text is shown, then presses Enter if the prompt is to be sent. If a question opens
   * meanwhile, waits for its answer: the CLI keeps text that arrived before the question, and drops text that arrived
   * later.
   */
  function show(before: Reading): Promise<Reading | "dropped" | "lost" | undefined> {
    const tail = [...bare(text)].slice(-TAIL_LENGTH).join("");
    let since = Date.now();
    let shown: { text: string; since: number } | undefined;
    let wasInterrupted = false;
    return until(async (reading) => {
      const now = Date.now();
      if (["question", "elsewhere", "absent"].includes(reading.state)) {
        waiting(reading.state, since);
        [since, shown, wasInterrupted] = [now, undefined, true];
      } else if (tail === "" || [tail, PASTE].some((part) => count(reading, part) > count(before, part))) {
        // Only the prompt of a known CLI can be read without the rest of the screen, which may keep changing.
        if (!shown || (cli.drawing && shown.text !== reading.text))
          shown = { text: reading.text, since: now };
        if (now - shown.since < STABLE_MS) return undefined;
        return !enter || (await terminal.press("\r")) ? reading : undefined;
      } else if (now - since > (cli.drawing && !wasInterrupted ? KNOWN_SHOW_TIMEOUT_MS : SHOW_TIMEOUT_MS)) {
        return wasInterrupted && reading.text === before.text ? "dropped" : "lost";
      }
      return undefined;
    });
  }

  /**
   * Checks that Enter has sent the text. A busy CLI may treat Enter as a line break of the paste, which makes its
   * prompt one line taller. Only then Enter is pressed again.
   */
  async function confirm({ state, text: sent, height }: Reading): Promise<string | undefined> {
    const deadline = Date.now() + SHOW_TIMEOUT_MS;
    let lines = height;
    let wasTaller = false;
    const stays = await until(async (reading) => {
      if (reading.state !== state || reading.text !== sent) return false;
      const isTaller = lines !== undefined && reading.height === lines + 1;
      // Seen twice in a row, so that a half-drawn screen does not count.
      if (isTaller && wasTaller && (await terminal.press("\r"))) lines = reading.height;
      wasTaller = isTaller && reading.height !== lines;
      return Date.now() > deadline || undefined;
    });
    return stays ? `The prompt is typed but not sent: press Enter in ${terminal.name}.` : undefined;
  }

  const unfollow = terminal.follow();
  try {
    for (;;) {
      const before = await paste();
      if (!before) return { typed: false };
      const wasOurs = isOurs(before);
      const shown = await show(before);
      if (shown === undefined) return { typed: false };
      if (shown === "dropped") {
        cli.isBusy = isTyping = false;
        continue;
      }
      if (shown === "lost") {
        const consequence = enter ? ", so Enter was not pressed" : "";
        return { typed: false, problem: `${terminal.name} does not show the prompt${consequence}.` };
      }
      cli.ours = !enter && wasOurs ? shown.text : undefined;
      const problem = enter && cli.drawing ? await confirm(shown) : undefined;
      return { typed: true, ...(problem !== undefined && { problem }) };
    }
  } finally {
    unfollow();
    if (isTyping) cli.isBusy = false;
  }
}

const count = ({ text }: Reading, part: string) => text.split(part).length - 1;
