/** Implements tools for open files, their text, and the selection. */
import * as z from "zod";
import { beginning, count, cutOff } from "../format.ts";
import { type Answer, type CallContext, defineTool, LineNumber } from "../tool.ts";
import type { Workspace } from "../workspace.ts";

export async function listBuffers({ ask, workspace, limits }: CallContext): Promise<Answer> {
  const all = (await ask("buffers", {})).buffers;
  const shared = await workspace.shared(all.map(({ path }) => path));
  const buffers = all.filter(({ path }) => shared.has(path));
  const shown = buffers.slice(0, limits.items);
  const lines = shown.map(({ path, lines, modified, visible, filetype, servers }) =>
    [
      workspace.label(path),
      count(lines, "line"),
      ...(filetype ? [filetype] : []),
      ...(modified ? ["has unsaved changes"] : []),
      ...(visible ? ["visible"] : []),
      ...(servers.length > 0 ? [`language servers: ${servers.join(", ")}`] : []),
    ].join(", "),
  );
  const text = [
    `${count(buffers.length, "file")} open`,
    ...lines,
    ...cutOff(shown.length, buffers.length, "the others cannot be listed"),
  ].join("\n");
  const named = shown.map((buffer) => ({ ...buffer, path: workspace.name(buffer.path) }));
  return { text, structured: { total: buffers.length, buffers: named } };
}

export const buffers = defineTool({
  name: "buffers",
  title: "Open files",
  description:
    "The files that are open in the user's editor, with unsaved changes, visibility and language servers.",
  input: {},
  annotations: { readOnlyHint: true },
  run: (_, context) => listBuffers(context),
});

/** Maximum size of a file that is read from the disk (bytes). */
const MAX_FILE_SIZE = 10 * 1024 * 1024;

/**
 * Reads lines of a file that is not open. Returns at most `units` UTF-16 units, and only whole lines. A first line that
 * exceeds the limit is cut. Neovim has the same limits for the lines of an open file.
 * @throws {Refusal} if the file is too large, or may no longer be read
 */
async function readDisk(
  path: string,
  { from, to, units }: { from: number; to: number; units: number },
  workspace: Workspace,
): Promise<{ lines: string[]; isCut: boolean; total: number }> {
  const all = (await workspace.read(path, MAX_FILE_SIZE))
    .replace(/^\uFEFF/, "")
    .replace(/\r?\n$/, "")
    .split(/\r?\n/);
  const lines: string[] = [];
  let room = units;
  for (const line of all.slice(from - 1, to)) {
    room -= line.length + 1;
    if (room < 0 && lines.length > 0) break;
    lines.push(room < 0 ? line.slice(0, units) : line);
    if (room < 0) break;
  }
  return { lines, isCut: lines[0] !== all[from - 1], total: all.length };
}

/**
 * Reads a part of a file: from the buffer if the file is open, otherwise from the disk.
 * @returns the answer, and whether requested text is missing as `isCut`
 */
export async function readBuffer(
  { path, from = 1, to }: { path: string; from?: number | undefined; to?: number | undefined },
  { ask, workspace, limits: { units } }: CallContext,
): Promise<Answer & { isCut: boolean }> {
  const file = await workspace.file(path);
  const name = workspace.name(file);
  const open = await ask("read", { path: file, from, to: to ?? -1, units });
  const {
    lines,
    isCut = false,
    total = 0,
  } = open.loaded
    ? open
    : await readDisk(file, { from, to: to ?? Number.POSITIVE_INFINITY, units }, workspace);
  const modified = open.modified ?? false;
  const last = from + lines.length - 1;
  const state = modified
    ? "has unsaved changes"
    : open.loaded
      ? "is as on disk"
      : "is not open in Neovim, this is what is on disk";
  const range =
    lines.length > 0 ? `lines ${from} to ${last} of ${total}` : `no such lines: there are ${total}`;
  const rest = [
    ...(isCut ? [`line ${from} is cut off`] : []),
    ...(last < Math.min(to ?? total, total) && lines.length > 0 ? [`go on with from: ${last + 1}`] : []),
  ];
  return {
    text: [`${workspace.label(file)} ${state}; ${range}`, ...rest].join("; "),
    structured: { path: name, from, to: last, total, modified, open: open.loaded },
    embedded: { path: file, text: lines.join("\n") },
    isCut: rest.length > 0,
  };
}

export const readBufferTool = defineTool({
  name: "read_buffer",
  title: "Read a file as the editor has it",
  description:
    "The text of a file in the editor, including unsaved changes. If the file is not open, its text on disk.",
  input: {
    path: z.string().describe("The file"),
    from: LineNumber.optional().describe("The first line. Default: 1"),
    to: LineNumber.optional().describe("The last line. Default: the end of the file"),
  },
  annotations: { readOnlyHint: true },
  run: readBuffer,
});

export async function describeSelection({ ask, workspace, limits }: CallContext): Promise<Answer> {
  const { path, line, character, text } = await ask("selection", { units: limits.units });
  const isShared = path !== undefined && (await workspace.shared([path])).has(path);
  if (!isShared || path === undefined) return { text: "The user is not in a shared file.", structured: {} };
  const name = workspace.name(path);
  const cursor = `The cursor is at ${workspace.label(path)}:${line}:${character}`;
  const structured = { path: name, line, character, text };
  if (text === undefined) return { text: `${cursor}; nothing is selected.`, structured, links: [path] };
  return { text: `${cursor}; selected:\n${beginning(text, limits.units)}`, structured, links: [path] };
}

export const selection = defineTool({
  name: "selection",
  title: "Selection",
  description: "The cursor position in the file that the user looks at, and the selected text.",
  input: {},
  annotations: { readOnlyHint: true },
  run: (_, context) => describeSelection(context),
});
