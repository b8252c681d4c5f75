/** What is open in the editor, and what the user looks at. */
import * as z from "zod";
import { Refusal } from "../../refusal.ts";
import { beginning, count, cutOff } from "../format.ts";
import { type Answer, defineTool, type Scene } from "../tool.ts";

export async function listBuffers({ ask, workspace, limits }: Scene): Promise<Answer> {
  const all = (await ask("buffers", {})).buffers;
  const shared = await workspace.shared(all.map(({ path }) => path));
  const buffers = all.filter(({ path }) => shared.has(path));
  const shown = buffers
    .slice(0, limits.items)
    .map((buffer) => ({ ...buffer, path: workspace.name(buffer.path) }));
  const lines = shown.map(({ path, lines, modified, visible, filetype, servers }) =>
    [
      path,
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
  return { text, structured: { total: buffers.length, buffers: shown } };
}

export const buffers = defineTool({
  name: "buffers",
  title: "Open files",
  description:
    "The files that are open in the user's editor, with unsaved changes, visibility and language servers.",
  input: {},
  annotations: { readOnlyHint: true },
  run: (_, scene) => listBuffers(scene),
});

const LineNumber = z.number().int().min(1).max(10_000_000);

/** @throws {Refusal} when the file is not open */
export async function readBuffer(
  { path, from = 1, to }: { path: string; from?: number | undefined; to?: number | undefined },
  { ask, workspace, limits }: Scene,
): Promise<Answer> {
  const file = await workspace.file(path);
  const name = workspace.name(file);
  const {
    loaded,
    lines,
    total = 0,
    modified,
  } = await ask("read", {
    path: file,
    from,
    to: to ?? -1,
    units: limits.units,
  });
  if (!loaded) throw new Refusal(`${name} is not open in Neovim: its text is what is on disk`);
  const last = from + lines.length - 1;
  const state = modified ? "has unsaved changes" : "is as on disk";
  const range =
    lines.length > 0 ? `lines ${from} to ${last} of ${total}` : `no such lines: there are ${total}`;
  const rest =
    last < Math.min(to ?? total, total) && lines.length > 0 ? [`go on with from: ${last + 1}`] : [];
  return {
    text: [`${name} ${state}; ${range}`, ...rest].join("; "),
    structured: { path: name, from, to: last, total, modified },
    embedded: { path: file, text: lines.join("\n") },
  };
}

export const readBufferTool = defineTool({
  name: "read_buffer",
  title: "Read an open file",
  description: "The text of a file as it is in the editor, unsaved changes included.",
  input: {
    path: z.string().describe("The file"),
    from: LineNumber.optional().describe("The first line, 1 by default"),
    to: LineNumber.optional().describe("The last line, that of the file by default"),
  },
  annotations: { readOnlyHint: true },
  run: readBuffer,
});

export async function describeSelection({ ask, workspace, limits }: Scene): Promise<Answer> {
  const { path, line, character, text } = await ask("selection", { units: limits.units });
  const isShared = path !== undefined && (await workspace.shared([path])).has(path);
  if (!isShared || path === undefined)
    return { text: "The user looks at no file that is shared.", structured: {} };
  const name = workspace.name(path);
  const cursor = `The cursor is at ${name}:${line}:${character}`;
  const structured = { path: name, line, character, text };
  if (text === undefined) return { text: `${cursor}; nothing is selected.`, structured, links: [path] };
  return { text: `${cursor}; selected:\n${beginning(text, limits.units)}`, structured, links: [path] };
}

export const selection = defineTool({
  name: "selection",
  title: "Selection",
  description: "Where the user is in the file that they look at, and the text that they have selected.",
  input: {},
  annotations: { readOnlyHint: true },
  run: (_, scene) => describeSelection(scene),
});
