/**
 * Reads the screens of CLIs: whether the prompt accepts text, which text it contains, and whether a question or menu
 * takes the keys.
 */
import type { CliKind } from "../contract/clis.ts";

/** How a CLI draws its screen, as patterns for single lines. */
export interface Drawing {
  /** The start of the prompt's first line, before its text. */
  readonly prompt: RegExp;
  /** The first line of a prompt that accepts no message, such as that of a shell mode or a search. */
  readonly other: RegExp;
  /** The text of an empty prompt. */
  readonly placeholder: RegExp;
  /** The first line of a sent message. Questions above this line are closed. */
  readonly message: RegExp;
  /** A choice that Enter would select. */
  readonly question: RegExp;
  /** A text that is shown while keys do not go to the prompt. */
  readonly elsewhere?: RegExp;
  /** The CLI reads `@"a path"`, and no backslashes in paths. */
  readonly quotesPaths?: boolean;
}

export interface Reading {
  /** "menu": a list of completions is open below the text. "absent": there is no prompt. */
  readonly state: "empty" | "typed" | "menu" | "question" | "elsewhere" | "absent";
  /** The text in the prompt, without blanks. */
  readonly text: string;
  /** Number of lines of the prompt, including blank lines. Absent if the prompt is empty or nothing is below it. */
  readonly height?: number;
}

/**
 * Drawings of known CLIs. Gemini CLI 0.61.0: `InputPrompt`, `BaseSelectionList`, `FocusHint`. Qwen Code 0.24.4 has
 * texts in many languages, but always draws two more blanks before the placeholder. Claude Code 2.1.330 replaces the
 * prompt with its question, and shows the active file or the selection before the prompt's text.
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

/** Maximum number of lines below the prompt (a rule and the footer). If there are more, a menu is open. */
const MAX_FOOTER_LINES = 5;

/** Start of a rule, or of the edge of a coloured background. */
const RULE = /^[─▀▄]/;

/** Blanks and borders from wrapping, control characters, and a cursor drawn as a zero-width blank. */
const DECORATION = /[\s\p{Cc}|│▌┃\u200b]/gu;

/** Removes the characters that may differ between a text and its display on a screen. */
export const bare = (text: string) => text.replace(DECORATION, "");

export function read(lines: readonly string[], drawing: Drawing): Reading {
  const at = lines.findLastIndex((line) => drawing.prompt.test(line) || drawing.other.test(line));
  const sent = lines.slice(0, Math.max(at, 0)).findLastIndex((line) => drawing.message.test(line));
  // A question may also be above the prompt.
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
 * indentation is output below a sent message, which means that there is no prompt.
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
