/**
 * Types one prompt into a CLI: waits until the CLI accepts input, types the text, checks that the text has arrived, and
 * presses Enter.
 */
import { type Cli, READY_MS } from "./screen-state.ts";
import { bare, type Reading } from "./screens.ts";

/** Timeout for a typed text to appear (ms). Longer for a known CLI, because a known CLI may be busy. */
const SHOW_TIMEOUT_MS = 3_000;
const KNOWN_SHOW_TIMEOUT_MS = 20_000;

/**
 * Time for which a text must be visible and unchanged before it counts as arrived (ms). Enter is not pressed earlier,
 * because Gemini CLI 0.61.0 treats Enter as a line break for 40 ms after a paste.
 */
const STABLE_MS = 150;

/** Number of characters at the end of a text by which the text is recognized on the screen. */
const TAIL_LENGTH = 20;

/** Start of the placeholder that many CLIs show for a long paste: "[Pasted Text: 12 lines]", "[Pasted Content …]". */
const PASTE = "[Pasted";

/** Control characters, which are removed from a text: they could end a bracketed paste, and act as keys. */
const CONTROL = /[^\P{Cc}\n]/gu;

export interface Prompt {
  readonly id: number;
  /** Whether the user wants to send the prompt (Enter). */
  readonly submit: boolean;
  isCancelled: boolean;
}

/** The text for the CLI's prompt. */
interface Input {
  readonly text: string;
  /** Whether to press Enter after the text. */
  readonly enter: boolean;
  /** Makes the CLI insert the text itself. If absent, the text is pasted. */
  readonly insert?: () => void;
}

export interface Delivery {
  /** Whether the CLI has received the text, in its prompt or as a sent message. */
  readonly typed: boolean;
  readonly problem?: string;
}

/** State of the terminal for which a prompt waits. */
export type WaitState = Reading["state"] | "scrolled";

/** Called with each state for which the prompt waits. `since`: start of the wait (Unix milliseconds). */
export type Waiting = (state: WaitState, since: number) => void;

/**
 * Types a prompt. Never answers a question of the CLI. Never sends text that the user has typed into the CLI.
 * @returns a delivery without a problem text if the CLI has ended or the user has cancelled the prompt
 */
export async function deliver(cli: Cli, prompt: Prompt, input: Input, waiting: Waiting): Promise<Delivery> {
  const { terminal } = cli;
  const { enter } = input;
  const text = input.text.replaceAll("\t", " ").replace(CONTROL, "");
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

  /** Inserts or pastes the text. @returns false if nothing was inserted, because the screen has changed */
  async function put(reading: Reading): Promise<boolean> {
    if (!input.insert) return terminal.paste(isOurs(reading) ? text : ` ${text}`);
    if (!(await terminal.press(""))) return false;
    input.insert();
    return true;
  }

  /** Pastes the text as soon as the CLI accepts text. @returns the last screen before the paste */
  function paste(): Promise<Reading | undefined> {
    const since = Date.now();
    let freeSince: number | undefined = since - READY_MS; // a prompt that is free at once is not new
    return until(async (reading) => {
      const isFree =
        reading.state === "empty" || (reading.state === "typed" && (!prompt.submit || isOurs(reading)));
      if (!isFree || cli.isBusy || reading.isScrolled) {
        freeSince = undefined;
        return void waiting(cli.isBusy ? "absent" : isFree ? "scrolled" : reading.state, since);
      }
      freeSince ??= Date.now();
      if (Date.now() - freeSince < READY_MS) return undefined;
      cli.isBusy = isTyping = true;
      if (await put(reading)) return reading;
      cli.isBusy = isTyping = false;
      return undefined;
    });
  }

  /** Returns whether a text that counted as a suggestion stays in the prompt: it is then a text of the user. */
  const isMixed = ({ text: shown }: Reading, { suggestion = "" }: Reading) =>
    suggestion !== "" && shown.includes(suggestion) && !bare(text).includes(suggestion);

  /**
   * Waits until the text is on the screen, then presses Enter if the prompt is to be sent. If the CLI opens a question
   * meanwhile, waits until the user has answered the question. The CLI drops a text that arrives after the question has
   * opened: the result is then "dropped".
   */
  function show(before: Reading): Promise<Reading | "dropped" | "lost" | "mixed" | undefined> {
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
        // Starts the wait again when the text changes, but only in a known CLI. In an unknown program, the prompt
        // cannot be distinguished from the rest of the screen, which may keep changing.
        if (!shown || (cli.drawing && shown.text !== reading.text))
          shown = { text: reading.text, since: now };
        if (now - shown.since < STABLE_MS) return undefined;
        if (isMixed(reading, before)) return "mixed";
        return !enter || (await terminal.press("\r")) ? reading : undefined;
      } else if (now - since > (cli.drawing && !wasInterrupted ? KNOWN_SHOW_TIMEOUT_MS : SHOW_TIMEOUT_MS)) {
        return wasInterrupted && reading.text === before.text ? "dropped" : "lost";
      }
      return undefined;
    });
  }

  /**
   * Checks that Enter has sent the text. A busy CLI may treat Enter as a line break of the paste: its prompt then
   * becomes one line taller. Presses Enter again only in this case.
   */
  async function confirm({ state, text: sent, height }: Reading): Promise<string | undefined> {
    const deadline = Date.now() + SHOW_TIMEOUT_MS;
    let lines = height;
    let wasTaller = false;
    const stays = await until(async (reading) => {
      if (reading.state !== state || reading.text !== sent) return false;
      const isTaller = lines !== undefined && reading.height === lines + 1;
      // Requires the taller prompt on two screens in a row, because a single screen may be half drawn.
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
        const consequence = enter ? ", so that Enter was not pressed" : "";
        return {
          typed: false,
          problem: `The text of the prompt did not appear in ${terminal.name}${consequence}.`,
        };
      }
      if (shown === "mixed") {
        const problem = `The prompt of ${terminal.name} contains another text, too: press Enter there to send both.`;
        return { typed: true, problem };
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
