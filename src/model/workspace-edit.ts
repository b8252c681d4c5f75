/** Checks all edits of a language server, then applies them. */
import * as z from "zod";
import { Refusal } from "../base/refusal.ts";
import type { FileEdits, Moment, Server } from "../contract/questions.ts";
import { count } from "./format.ts";
import { pathOf, Range } from "./lsp-answers.ts";
import { reviewEdits } from "./review-edits.ts";
import type { Answer, CallContext } from "./tool.ts";

const TextEdit = z.object({ range: Range, newText: z.string() });
const Document = z.object({ uri: z.string(), version: z.number().int().nullish() });
const DocumentEdit = z.object({ textDocument: Document, edits: z.array(TextEdit) });
const WorkspaceEdit = z.object({
  changes: z.record(z.string(), z.array(TextEdit)).nullish(),
  /** Entries that create, rename or delete files do not match the schema, so that the whole edit is refused. */
  documentChanges: z.array(DocumentEdit).nullish(),
});

/** Parses the edits of a formatter. @throws {Refusal} if they are not valid */
export function formatEdits(result: unknown): FileEdits["edits"] {
  const parsed = z.array(TextEdit).nullable().safeParse(result);
  if (!parsed.success) throw new Refusal("The language server returned no valid edits");
  return parsed.data ?? [];
}

/** Adds the version of the text for which the edits were computed. */
export function editsAt(moment: Moment | undefined, file: FileEdits): FileEdits {
  const tick = file.tick ?? moment?.ticks.find(({ path }) => path === file.path)?.tick;
  return { ...file, tick, since: moment?.at };
}

/**
 * @param result a `WorkspaceEdit`
 * @param moment when the server was asked
 * @throws {Refusal} if the value is invalid, or does more than change the text of files that the model may see
 */
export async function workspaceEdits(
  result: unknown,
  moment: Moment | undefined,
  { workspace }: CallContext,
): Promise<FileEdits[]> {
  const parsed = WorkspaceEdit.safeParse(result ?? {});
  if (!parsed.success)
    throw new Refusal(
      "The language server returned something other than text edits, for example a file to create, move or delete",
    );
  const { changes, documentChanges } = parsed.data;
  const found = documentChanges
    ? documentChanges.map(({ textDocument, edits }) => ({ ...textDocument, edits }))
    : Object.entries(changes ?? {}).map(([uri, edits]) => ({ uri, edits, version: undefined }));
  const files = new Map<string, FileEdits>();
  for (const { uri, edits, version } of found) {
    const path = pathOf(uri);
    if (path === undefined)
      throw new Refusal("The language server returned edits of something that is not a file");
    const file = files.get(path) ?? editsAt(moment, { path: await workspace.file(path), edits: [] });
    files.set(path, { ...file, version: version ?? file.version, edits: [...file.edits, ...edits] });
  }
  return [...files.values()].filter(({ edits }) => edits.length > 0);
}

/** Applies edits and attributes them to the CLI. With the gate on, the user reviews the edits first. */
export async function applyEdits(
  files: readonly FileEdits[],
  { encoding }: Pick<Server, "encoding">,
  context: CallContext,
): Promise<Answer> {
  const { ask, workspace, editing, signal } = context;
  if (files.length === 0) return { text: "There is nothing to change.", structured: { files: [] } };
  if (editing.isGated) return reviewEdits(files, encoding, context);
  // Checks all files before the first one is changed.
  await ask("preview_edits", { files, encoding, isReview: false });
  const paths = files.map(({ path }) => path);
  const changed: FileEdits[] = [];
  const problem = await editing.follow(paths, async () => {
    for (const file of files) {
      try {
        // Once the first file is written, a cancellation has no effect, because making only some of the edits would
        // break the code.
        await applyTo(file, encoding, context, changed.length === 0 ? signal : undefined);
        changed.push(file);
      } catch (error) {
        if (error instanceof Refusal) return error.message;
        throw error;
      }
    }
    return undefined;
  });
  if (problem !== undefined && changed.length === 0) throw new Refusal(problem);
  await ask("tell_written", { paths: changed.map(({ path }) => path) });
  const lines = changed.map(({ path, edits }) => `${workspace.label(path)}: ${count(edits.length, "edit")}`);
  const heading = `${count(changed.length, "file")} changed and written.`;
  const rest = problem === undefined ? [] : [`The other files were not changed: ${problem}`];
  return {
    text: [heading, ...lines, ...rest].join("\n"),
    structured: {
      files: changed.map(({ path, edits }) => ({ path: workspace.name(path), edits: edits.length })),
    },
    links: changed.map(({ path }) => path),
  };
}

/**
 * Edits the buffer and writes the file. If one fails, neither is changed.
 * @param signal cancels the edit, unless the file is already being written
 * @throws {Refusal}
 */
async function applyTo(
  file: FileEdits,
  encoding: string,
  { ask, editing }: CallContext,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { path } = file;
  signal?.throwIfAborted();
  const { tick, before, after } = await ask("apply_edit", { file, encoding });
  let written = false;
  try {
    // Checks again, because Neovim may have waited long before it could edit the buffer.
    signal?.throwIfAborted();
    await editing.write(path, Buffer.from(before, "base64"), Buffer.from(after, "base64"));
    written = true;
  } finally {
    await ask("finish_edit", { path, tick, written });
  }
}
