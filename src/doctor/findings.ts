/** Collects the findings of a section of the report. */
import type { Item, Section } from "./contract.ts";

export interface Findings extends Section {
  ok(text: string): void;
  info(text: string): void;
  warn(text: string, advice: string): void;
  error(text: string, advice: string): void;
}

export function section(title: string): Findings {
  const items: Item[] = [];
  const add = (level: Item["level"], text: string, advice?: string) => {
    items.push({ level, text: plain(text), ...(advice === undefined ? {} : { advice: plain(advice) }) });
  };
  return {
    title,
    items,
    ok: (text) => add("ok", text),
    info: (text) => add("info", text),
    warn: (text, advice) => add("warn", text, advice),
    error: (text, advice) => add("error", text, advice),
  };
}

/** Replaces control characters. Paths and command lines are untrusted, and must not control a terminal. */
function plain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are replaced
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, "?");
}
