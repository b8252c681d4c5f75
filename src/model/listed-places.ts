/** Lists places in files, with the text of each line. Leaves out files that the model may not see. */
import type { Server } from "../contract/questions.ts";
import { at, count, cutOff, oneLine } from "./format.ts";
import type { Place } from "./lsp-answers.ts";
import { decode } from "./symbol-position.ts";
import type { Answer, CallContext } from "./tool.ts";

/** Maximum size of a file from which lines are read (bytes). */
const MAX_FILE_SIZE = 1024 * 1024;

export interface Found extends Place {
  server: Server;
  /** Text that is shown before the line. */
  label?: string;
}

/** Removes duplicate places. Sorts by file and position. */
function ordered(places: readonly Found[]): Found[] {
  const unique = new Map(
    places.map((place) => [`${place.path}\0${place.line}\0${place.character}\0${place.label ?? ""}`, place]),
  );
  return [...unique.values()].sort(
    (a, b) =>
      (a.path < b.path ? -1 : a.path > b.path ? 1 : 0) || a.line - b.line || a.character - b.character,
  );
}

/**
 * Reads lines of a file, from the buffer if the file is loaded, otherwise from the disk.
 * @returns the lines by line number (0-based)
 */
async function linesOf(
  path: string,
  numbers: readonly number[],
  { ask, workspace }: CallContext,
): Promise<Map<number, string>> {
  const { loaded, lines } = await ask("lines", { path, numbers: numbers.map((number) => number + 1) });
  if (loaded) return new Map(numbers.map((number, index) => [number, lines[index] ?? ""]));
  const all = (await workspace.read(path, MAX_FILE_SIZE).catch(() => "")).split(/\r?\n/);
  return new Map(numbers.map((number) => [number, all[number] ?? ""]));
}

export async function describePlaces(
  places: readonly Found[],
  { noun, remarks }: { noun: string; remarks: readonly string[] },
  context: CallContext,
): Promise<Answer> {
  const { workspace, limits } = context;
  const all = ordered(places);
  const shared = await workspace.shared(all.map(({ path }) => path));
  const visible = all.filter(({ path }) => shared.has(path));
  const hidden = all.length - visible.length;
  const shown = visible.slice(0, limits.items);
  const files = [...new Set(shown.map(({ path }) => path))];
  const texts = new Map(
    await Promise.all(
      files.map(async (path) => {
        const numbers = shown.filter((place) => place.path === path).map(({ line }) => line);
        return [path, await linesOf(path, numbers, context)] as const;
      }),
    ),
  );
  const items = shown.map(({ path, line, character, server, label }) => {
    const text = texts.get(path)?.get(line) ?? "";
    const column = decode(text, character, server.encoding) + 1;
    return { path, line: line + 1, character: column, label: label && oneLine(label), text: oneLine(text) };
  });
  const text = [
    `${count(visible.length, noun)}${files.length > 1 ? ` in ${count(files.length, "file")}` : ""}`,
    ...items.map(({ path, line, character, label, text }) =>
      at(workspace.label(path), line, character, label === undefined ? text : `${label}: ${text}`),
    ),
    ...cutOff(
      shown.length,
      visible.length,
      "the others are further down in the same files, or in later ones",
    ),
    ...(hidden > 0 ? [`(${hidden} more outside the workspace, or not shared by the user)`] : []),
    ...remarks,
  ].join("\n");
  const named = items.map((item) => ({ ...item, path: workspace.name(item.path) }));
  return { text, structured: { total: visible.length, items: named }, links: files };
}
