/**
 * One pattern of a `.gitignore`, as git understands it (gitignore(5), git's `wildmatch.c`), except that case does not
 * count and that `?` and `[…]` take a character where git takes a byte.
 */

/** What takes one character, beside a character itself, which stands as its code point. */
export const ANY = -1; // ? any but a slash
export const STAR = -2; // * any but a slash, again and again
export const GLOB = -3; // ** at the end: any, again and again
/** Both of these are a double star before a slash: no folder, or any number of them. */
export const MAYBE = -4;
export const FOLDERS = -5;

export type Token = number | CharacterClass;

export interface CharacterClass {
  negated: boolean;
  /** Pairs of first and last. */
  ranges: number[];
}

export interface Pattern {
  /** It counts from its own folder; else it names a file or folder at any depth. */
  anchored: boolean;
  tokens: Token[];
}

export const SLASH = code("/");

function code(character: string): number {
  return character.codePointAt(0) ?? 0;
}

/** Lower case, as long as that is one character. */
function fold(character: string): number {
  const lower = character.toLowerCase();
  return code([...lower].length === 1 ? lower : character);
}

/** A path as it is matched: its folders and its name, each as characters. */
export function segmentsOf(path: string): number[][] {
  return path.split("/").map((segment) => Array.from(segment, fold));
}

/**
 * @param text without what is not part of the pattern itself: `!` before it, a slash or blanks after it
 * @returns nothing for a pattern that matches nothing, such as one with a bracket that is never closed
 */
export function parsePattern(text: string): Pattern | undefined {
  const anchored = text.includes("/");
  const characters = [...(text.startsWith("/") ? text.slice(1) : text)];
  const tokens: Token[] = [];
  // git takes the text before the first of these characters off, and then takes two stars for the first in a segment.
  let isPlain = true;
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at] ?? "";
    if (character === "\\") {
      const escaped = characters[++at];
      if (escaped === undefined) return undefined;
      tokens.push(fold(escaped));
    } else if (character === "?") tokens.push(ANY);
    else if (character === "[") {
      const found = parseClass(characters, at + 1);
      if (!found) return undefined;
      tokens.push(found.class);
      at = found.end;
    } else if (character === "*") {
      const first = at;
      while (characters[at + 1] === "*") at += 1;
      const starts = isPlain || first === 0 || characters[first - 1] === "/";
      const [next, second] = characters.slice(at + 1, at + 3);
      if (first === at || !anchored || !starts) tokens.push(STAR);
      else if (next === undefined || (next === "\\" && second === "/")) tokens.push(GLOB);
      else if (next === "/") {
        tokens.push(MAYBE, FOLDERS);
        at += 1;
      } else tokens.push(STAR);
    } else {
      tokens.push(fold(character));
      continue;
    }
    isPlain = false;
  }
  return { anchored, tokens };
}

/** What is in `[:…:]`; case does not count. */
const NAMED: Record<string, number[]> = {
  alnum: [0x30, 0x39, 0x61, 0x7a],
  alpha: [0x61, 0x7a],
  blank: [0x09, 0x09, 0x20, 0x20],
  cntrl: [0x00, 0x1f, 0x7f, 0x7f],
  digit: [0x30, 0x39],
  graph: [0x21, 0x7e],
  lower: [0x61, 0x7a],
  print: [0x20, 0x7e],
  punct: [0x21, 0x2f, 0x3a, 0x40, 0x5b, 0x60, 0x7b, 0x7e],
  space: [0x09, 0x0d, 0x20, 0x20],
  upper: [0x61, 0x7a],
  xdigit: [0x30, 0x39, 0x61, 0x66],
};

/** @param at the first character after the bracket. @returns the class, and where the closing bracket is */
function parseClass(
  characters: readonly string[],
  at: number,
): { class: CharacterClass; end: number } | undefined {
  const negated = characters[at] === "!" || characters[at] === "^";
  const ranges: number[] = [];
  const first = negated ? at + 1 : at;
  /** What a dash after it makes the beginning of a range. */
  let before: number | undefined;
  for (let index = first; index < characters.length; index += 1) {
    const character = characters[index];
    if (character === "]" && index > first) return { class: { negated, ranges }, end: index };
    const next = characters[index + 1];
    if (character === "[" && next === ":") {
      const close = characters.indexOf("]", index + 2);
      if (close < 0) return undefined;
      if (close > index + 2 && characters[close - 1] === ":") {
        const named = NAMED[characters.slice(index + 2, close - 1).join("")];
        if (!named) return undefined;
        ranges.push(...named);
        before = undefined;
        index = close;
        continue;
      }
    }
    if (character === "-" && before !== undefined && next !== undefined && next !== "]") {
      index += next === "\\" ? 2 : 1;
      const last = characters[index];
      if (last === undefined) return undefined;
      ranges.push(before, code(last));
      before = undefined;
      continue;
    }
    const one = character === "\\" ? characters[++index] : character;
    if (one === undefined) return undefined;
    before = code(one);
    ranges.push(before, before);
  }
  return undefined;
}
