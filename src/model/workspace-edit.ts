/** Checks all edits of a language server, then applies them. */
import * as z from "zod";
import { Refusal } from "../base/refusal.ts";
import type { FileEdits, Moment, Server } from "../contract/questions.ts";
import { isBuildFile } from "./build-files.ts";
import { count } from "./format.ts";
import { pathOf, Range } from "./lsp-answers.ts";
import { previewEdits } from "./preview-edits.ts";
import { type EditAnswer, reviewEdits } from "./review-edits.ts";
import type { Answer, CallContext } from "./tool.ts";

/** Names of buffers of this plugin, such as a proposal. A language server may know them, but they are no files. */
const OWN_BUFFER = /^gemini[\w-]*:\/\//;

const TextEdit = z.object({ range: Range, newText: z.string() });
const Document = z.object({ uri: z.string(), version: z.number().int().nullish() });
const DocumentEdit = z.object({ textDocument: Document, edits: z.array(TextEdit) });
const WorkspaceEdit = z.object({
  changes: z.record(z.string(), z.array(TextEdit)).nullish(),
  /**
   * Operations that create, rename or delete files do not match this schema. An edit with such an operation is refused
   * as a whole.
   */
  documentChanges: z.array(DocumentEdit).nullish(),
});

/** Parses the edits of a formatter. @throws {Refusal} if the edits are invalid */
export function formatEdits(result: unknown): z.infer<typeof TextEdit>[] {
  const parsed = z.array(TextEdit).nullable().safeParse(result);
  if (!parsed.success) throw new Refusal("The language server returned no valid edits");
  return parsed.data ?? [];
}

/** Adds the version of the buffer for which the edits were computed. */
export function editsAt(moment: Moment | undefined, file: FileEdits): FileEdits {
  const tick = file.tick ?? moment?.ticks.find(({ path }) => path === file.path)?.tick;
  return { ...file, tick, since: moment?.at };
}

/**
 * Parses a `WorkspaceEdit` of the Language Server Protocol.
 * @param result the answer of a language server
 * @param moment time and buffer versions of the request
 * @throws {Refusal} if the answer is invalid, if it does more than change text, or if it changes a file that the model
 * may not see
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
    if (OWN_BUFFER.test(uri)) continue;
    const path = pathOf(uri);
    if (path === undefined)
      throw new Refusal("The language server returned edits of something that is not a file");
    const file = files.get(path) ?? editsAt(moment, { path: await workspace.file(path), steps: [] });
    if (edits.length > 0) file.steps.push(edits);
    // Only the first version is the version of the text for which the edits were computed.
    files.set(path, { ...file, version: file.version ?? version ?? undefined });
  }
  return [...files.values()].filter(({ steps }) => steps.length > 0);
}

/**
 * Applies edits, and attributes them to the CLI. Opens reviews instead for files of the build, and for all files if the
 * user reviews every edit.
 */
export async function applyEdits(
  files: readonly FileEdits[],
  { encoding }: Pick<Server, "encoding">,
  context: CallContext,
): Promise<Answer> {
  if (files.length === 0) return { text: "There is nothing to change.", structured: { files: [] } };
  const isReviewed = await Promise.all(files.map(({ path }) => context.editing.isGated || isBuildFile(path)));
  const reviewed = files.filter((_, index) => isReviewed[index]);
  const others = files.filter((_, index) => !isReviewed[index]);
  if (others.length === 0) return reviewEdits(reviewed, encoding, context);
  // Checks all files before changing the first file.
  await previewEdits(others, { encoding, isReview: false }, context);
  await previewEdits(reviewed, { encoding, isReview: true }, context);
  const written = await writeEdits(others, encoding, context);
  if (reviewed.length === 0 || !written.isComplete) return written;
  const decided = await reviewEdits(reviewed, encoding, context);
  return {
    text: `${written.text}\n${decided.text}`,
    structured: { files: [...written.structured.files, ...decided.structured.files] },
    links: [...written.links, ...decided.links],
  };
}

/** Writes checked edits. `isComplete` is false if only some of the files were changed. */
async function writeEdits(
  files: readonly FileEdits[],
  encoding: string,
  context: CallContext,
): Promise<EditAnswer & { isComplete: boolean }> {
  const { ask, workspace, editing, signal } = context;
  const paths = files.map(({ path }) => path);
  const changed: FileEdits[] = [];
  const problem = await editing.follow(paths, async () => {
    for (const file of files) {
      try {
        // After the first file is written, the call can no longer be cancelled: applying only some of the edits would
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
  const counted = changed.map(({ path, steps }) => ({ path, edits: steps.flat().length }));
  const lines = counted.map(({ path, edits }) => `${workspace.label(path)}: ${count(edits, "edit")}`);
  const heading = `${count(changed.length, "file")} changed and written.`;
  const rest = problem === undefined ? [] : [`The other files were not changed: ${problem}`];
  return {
    isComplete: problem === undefined,
    text: [heading, ...lines, ...rest].join("\n"),
    structured: { files: counted.map(({ path, edits }) => ({ path: workspace.name(path), edits })) },
    links: changed.map(({ path }) => path),
  };
}

/**
 * Edits a buffer, and writes its file. If one step fails, neither the buffer nor the file is changed.
 * @param signal cancels the edit before the file is written
 * @throws {Refusal} if the edit is impossible
 */
async function applyTo(
  file: FileEdits,
  encoding: string,
  { ask, editing, log }: CallContext,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { path } = file;
  signal?.throwIfAborted();
  const { tick, before, after } = await ask("apply_edit", { file, encoding });
  let written = false;
  try {
    // Neovim may have waited long before it could edit the buffer, so the call may have been cancelled meanwhile.
    signal?.throwIfAborted();
    await editing.write(path, Buffer.from(before, "base64"), Buffer.from(after, "base64"));
    written = true;
  } finally {
    // By now, the file is written or not. An error in Neovim must not hide this result.
    await ask("finish_edit", { path, tick, written }).catch((error: unknown) =>
      log.warn(`the edit of ${path} was not completed in Neovim:`, error),
    );
  }
}
