/** Finds a symbol in a line, and converts positions between UTF-16 units and the encoding of a language server. */

/** Converts a column from UTF-16 units to the encoding of a language server. Both are 0-based. */
export function encode(text: string, character: number, encoding: string): number {
  const before = text.slice(0, character);
  if (encoding === "utf-8") return Buffer.byteLength(before);
  return encoding === "utf-32" ? [...before].length : character;
}

/**
 * Converts a column from the encoding of a language server to UTF-16 units. Both are 0-based.
 * @param text the beginning of a line. Neovim truncates long lines: the rest counts as ASCII
 */
export function decode(text: string, character: number, encoding: string): number {
  if (encoding !== "utf-8" && encoding !== "utf-32") return character;
  const units = encoding === "utf-8" ? Buffer.from(text) : [...text];
  const before = units.slice(0, character);
  const decoded = Buffer.isBuffer(before) ? before.toString() : before.join("");
  return decoded.length + Math.max(0, character - units.length);
}

const WORDS = /[\p{L}\p{N}_$]+/gu;
const ENDS_IN_WORD = /[\p{L}\p{N}_$]$/u;
const BEGINS_WITH_WORD = /^[\p{L}\p{N}_$]/u;

/** Returns whether the text at a position is not a part of a longer word. */
function isWhole(text: string, at: number, length: number): boolean {
  // The two units before and after contain a complete character, also one beyond the basic plane.
  const [before, after] = [text.slice(Math.max(0, at - 2), at), text.slice(at + length, at + length + 2)];
  return !ENDS_IN_WORD.test(before) && !BEGINS_WITH_WORD.test(after);
}

/**
 * Finds a symbol in a line, preferably as a whole word. For `a.b`, returns the position of `b`.
 * @returns the column (0-based, UTF-16 units); undefined if the line does not contain the symbol
 */
export function findSymbol(text: string, symbol: string): number | undefined {
  const first = text.indexOf(symbol);
  if (symbol === "" || first < 0) return undefined;
  let whole = first;
  while (whole >= 0 && !isWhole(text, whole, symbol.length)) whole = text.indexOf(symbol, whole + 1);
  const lastWord = [...symbol.matchAll(WORDS)].at(-1)?.index ?? 0;
  return (whole < 0 ? first : whole) + lastWord;
}
