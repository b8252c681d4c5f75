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

const WORD = "[\\p{L}\\p{N}_$]";

/**
 * Finds a symbol in a line, preferably as a whole word. For `a.b`, returns the position of `b`.
 * @returns the column (0-based, UTF-16 units); undefined if the line does not contain the symbol
 */
export function findSymbol(text: string, symbol: string): number | undefined {
  const escaped = symbol.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  const whole = new RegExp(`(?<!${WORD})${escaped}(?!${WORD})`, "u").exec(text)?.index;
  const index = whole ?? text.indexOf(symbol);
  if (symbol === "" || index < 0) return undefined;
  const lastWord = /[\p{L}\p{N}_$]+[^\p{L}\p{N}_$]*$/u.exec(symbol)?.index ?? 0;
  return index + lastWord;
}
