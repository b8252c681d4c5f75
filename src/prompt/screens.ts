/**
 * Reads the screens of CLIs: whether the prompt accepts text, which text it contains, and whether a question or menu
 * takes the keys.
 */
import type { CliKind } from "../contract/clis.ts";

/** How a CLI draws its screen, as patterns for single lines. */
export interface Drawing {
  /** The prompt sign, with which the first line of the prompt begins. */
  readonly prompt: RegExp;
  /**
   * The first line of a prompt in another mode, which takes for example a shell command or a search, but no message.
   */
  readonly other: RegExp;
  /** The text that the CLI shows in an empty prompt. */
  readonly placeholder: RegExp;
  /** The first line of a sent message. Questions above it are no longer open. */
  readonly message: RegExp;
  /** The selected choice of a question, which Enter would confirm. */
  readonly question: RegExp;
  /** A text that the CLI shows while typed keys do not go to the prompt. */
  readonly elsewhere?: RegExp;
  /** Whether paths in references are quoted (`@"a path"`) instead of escaped with backslashes. */
  readonly quotesPaths?: boolean;
}

export interface Reading {
  /** "menu": a list of completions is open below the text. "absent": there is no prompt. */
  readonly state: "empty" | "typed" | "menu" | "question" | "elsewhere" | "absent";
  /** The text in the prompt, without blanks. */
  readonly text: string;
  /** Number of lines of the prompt, including blank lines. Absent if the prompt is empty, or if no line follows it. */
  readonly height?: number;
}

/**
 * How known CLIs draw their screens. For Gemini CLI 0.61.0, see its components `InputPrompt`, `BaseSelectionList` and
 * `FocusHint`. The placeholder of Qwen Code 0.24.4 depends on the user's language, but always begins with two
 * additional blanks. Claude Code 2.1.330 shows its question in place of the prompt, and the active file or the
 * selection before the prompt's text.
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
  },
  claude: {
    prompt: /^❯\s(\[⧉ .*?\]\s*)?/,
    other: /^!\s/,
    placeholder: /^Try "/,
    message: /^❯ \S/,
    question: /^ +❯ +\d+\. /,
    quotesPaths: true,
  },
} satisfies Partial<Record<CliKind, Drawing>>;

/** @returns undefined if the screen of this kind of CLI is unknown */
export const drawingOf = (kind: CliKind): Drawing | undefined => {
  const known: Partial<Record<CliKind, Drawing>> = DRAWINGS;
  return known[kind];
};

/** Maximum number of lines below the prompt while no menu is open: a rule and the footer. */
const MAX_FOOTER_LINES = 5;

/** Start of a horizontal rule, or of the edge of a coloured background. */
const RULE = /^[─▀▄]/;

/**
 * Characters that are ignored when texts are compared with a screen: blanks and borders (a CLI adds them when it wraps
 * a text), control characters, and the zero-width blank of a drawn cursor.
 */
const DECORATION = /[\s\p{Cc}|│▌┃\u200b]/gu;

/** Removes the characters that may differ between a text and its display on a screen. */
export const bare = (text: string) => text.replace(DECORATION, "");

export function read(lines: readonly string[], drawing: Drawing): Reading {
  const at = lines.findLastIndex((line) => drawing.prompt.test(line) || drawing.other.test(line));
  const sent = lines.slice(0, Math.max(at, 0)).findLastIndex((line) => drawing.message.test(line));
  // A question may be above the prompt, so this checks all lines below the last sent message.
  for (const line of lines.slice(sent + 1)) {
    if (drawing.question.test(line)) return { state: "question", text: "" };
    if (drawing.elsewhere?.test(line)) return { state: "elsewhere", text: "" };
  }
  const first = lines[at];
  if (first === undefined) return { state: "absent", text: "" };
  if (drawing.other.test(first)) return { state: "elsewhere", text: "" };
  const text = first.replace(drawing.prompt, "");
  if (drawing.placeholder.test(text)) return { state: "empty", text: "" };
  return typed(text, lines.slice(at + 1));
}

/**
 * Reads the text in the prompt. All lines after the first are indented by the width of the prompt sign. A line without
 * indentation shows that there is no prompt: `first` is a sent message, and that line is output below it.
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

/** Recognizes a CLI by an empty prompt or a question. */
export function recognize(lines: readonly string[]): Drawing | undefined {
  return Object.values(DRAWINGS).find((drawing) =>
    ["empty", "question"].includes(read(lines, drawing).state),
  );
}
