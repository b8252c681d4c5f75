/**
 * Reads the screens of CLIs: whether the prompt accepts text, its text, and whether the keys go to a question or a
 * menu.
 */
import type { CliKind } from "../contract/clis.ts";

/** Rules for reading the screen of a CLI, as patterns for single lines. */
export interface Drawing {
  /** The prompt sign at the beginning of the prompt's first line. */
  readonly prompt: RegExp;
  /**
   * First line of a prompt in another mode. In such a mode, the CLI accepts for example a shell command or a search,
   * but not a message to the model.
   */
  readonly other: RegExp;
  /** The text that the CLI shows in an empty prompt. */
  readonly placeholder: RegExp;
  /** First line of a sent message. Questions above a sent message are no longer open. */
  readonly message: RegExp;
  /** The selected choice of a question. Enter would confirm this choice. */
  readonly question: RegExp;
  /** Text that the CLI shows while the keys do not go to its prompt. */
  readonly elsewhere?: RegExp;
  /** Whether the CLI may draw a suggested prompt in its empty prompt: the first character inverse, the rest dim. */
  readonly suggests?: boolean;
  /** Whether paths in references are quoted (`@"a path"`). Otherwise, backslashes escape the blanks. */
  readonly quotesPaths?: boolean;
}

/** Describes the text in a prompt besides its characters. */
export interface Appearance {
  /** Indexes of the lines that are drawn like a suggestion. Empty if the terminal does not show colours. */
  readonly suggested: readonly number[];
  /** Whether the prompt was empty once and has got no key and no paste since then. */
  readonly isUntouched: boolean;
}

export interface Reading {
  /** State of the prompt. "menu": a list of completions is open below the text. "absent": there is no prompt. */
  readonly state: "empty" | "typed" | "menu" | "question" | "elsewhere" | "absent";
  /** The text in the prompt, without blanks. */
  readonly text: string;
  /** A text that the CLI suggests in its empty prompt, without blanks. The first character typed replaces the text. */
  readonly suggestion?: string;
  /**
   * Number of lines of the prompt, including blank lines. Absent if the prompt is empty, or if the screen ends with the
   * prompt.
   */
  readonly height?: number;
  /** Whether the user scrolls back in the terminal, so that no text can be pasted. */
  readonly isScrolled?: boolean;
}

/**
 * Rules for reading the screens of the known CLIs. For Gemini CLI 0.61.0, see its components `InputPrompt`,
 * `BaseSelectionList` and `FocusHint`. The placeholder of Qwen Code 0.24.4 depends on the user's language, but always
 * begins with two additional blanks. Claude Code 2.1.330 shows a question in place of the prompt, and the active file
 * or the selection before the prompt's text.
 */
export const DRAWINGS = {
  gemini: {
    prompt: /^ ?[>*] /,
    other: /^ ?(!|\(r:\)) /,
    placeholder: /^ +(Type your message or |Press '(Esc' for NORMAL|i' for INSERT) mode\.)/,
    message: /^ ?[>*] /,
    question: /^│ +● +\d+\. /,
    elsewhere: / to unfocus\)/,
  },
  qwen: {
    prompt: /^[>*] /,
    other: /^(!|\(r:\)) /,
    placeholder: /^ {2,3}\S/,
    message: /^ {2}> /,
    question: /^ +› +\d+\. /,
    suggests: true,
  },
  claude: {
    prompt: /^❯\s(\[⧉ .*?\]\s*)?/,
    other: /^!\s/,
    placeholder: /^Try "/,
    message: /^❯ \S/,
    question: /^ +❯ +\d+\. /,
    suggests: true,
    quotesPaths: true,
  },
} satisfies Partial<Record<CliKind, Drawing>>;

/** Returns the rules for reading the screen of this kind of CLI; undefined if there are none. */
export const drawingOf = (kind: CliKind): Drawing | undefined => {
  const known: Partial<Record<CliKind, Drawing>> = DRAWINGS;
  return known[kind];
};

/** Maximum number of lines below the prompt while no menu is open: a rule and the footer. */
const MAX_FOOTER_LINES = 5;

/** Start of a horizontal rule, or of the edge of a coloured background. */
const RULE = /^[─▀▄]/;

/**
 * Characters to ignore when a text is compared with a screen: blanks, borders, control characters, and the zero-width
 * blank of a drawn cursor. A CLI adds blanks and borders when it wraps a text.
 */
const DECORATION = /[\s\p{Cc}|│▌┃\u200b]/gu;

/** Removes the characters to ignore when a text is compared with a screen. */
export const bare = (text: string) => text.replace(DECORATION, "");

/** @param appearance if absent, no text counts as a suggestion */
export function read(lines: readonly string[], drawing: Drawing, appearance?: Appearance): Reading {
  const at = lines.findLastIndex((line) => drawing.prompt.test(line) || drawing.other.test(line));
  const sent = lines.slice(0, Math.max(at, 0)).findLastIndex((line) => drawing.message.test(line));
  // Checks all lines below the last sent message, because a question may be above the prompt.
  for (const line of lines.slice(sent + 1)) {
    if (drawing.question.test(line)) return { state: "question", text: "" };
    if (drawing.elsewhere?.test(line)) return { state: "elsewhere", text: "" };
  }
  const first = lines[at];
  if (first === undefined) return { state: "absent", text: "" };
  if (drawing.other.test(first)) return { state: "elsewhere", text: "" };
  const text = first.replace(drawing.prompt, "");
  if (drawing.placeholder.test(text)) return { state: "empty", text: "" };
  const reading = typed(text, lines.slice(at + 1));
  const isSuggested = appearance && (appearance.suggested.includes(at) || appearance.isUntouched);
  if (!drawing.suggests || !isSuggested || reading.state !== "typed") return reading;
  return { state: "empty", text: "", suggestion: reading.text };
}

/**
 * Reads the text in the prompt.
 * The lines after the first line are indented by the width of the prompt sign. A line without indentation shows that
 * there is no prompt: `first` is then a sent message, and the line is output of the CLI.
 */
function typed(first: string, below: readonly string[]): Reading {
  const text = [first];
  let footer = 0;
  let height: number | undefined;
  for (const [index, line] of below.entries()) {
    if (!/\S/.test(line)) continue;
    if (height === undefined && /^ {2,}\S/.test(line)) text.push(line);
    else {
      footer += 1;
      height ??= index + 1;
      if (!line.startsWith(" ") && !RULE.test(line)) return { state: "absent", text: "" };
    }
  }
  const shown = bare(text.join(""));
  if (shown === "") return { state: "empty", text: "" };
  const state = footer > MAX_FOOTER_LINES ? "menu" : "typed";
  return { state, text: shown, ...(height !== undefined && { height }) };
}

/** Recognizes a CLI by an empty prompt or a question on its screen. */
export function recognize(lines: readonly string[]): Drawing | undefined {
  return Object.values(DRAWINGS).find((drawing) =>
    ["empty", "question"].includes(read(lines, drawing).state),
  );
}
