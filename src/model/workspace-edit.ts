/** What a language server wants to change: checked as a whole before anything is changed. */
import * as z from "zod";
import { Refusal } from "../base/refusal.ts";
import type { FileEdits, Server } from "../contract/questions.ts";
import { count } from "./format.ts";
import { pathOf, Range } from "./lsp.ts";
import { reviewEdits } from "./review-edits.ts";
import type { Answer, Scene } from "./tool.ts";

const TextEdit = z.object({ range: Range, newText: z.string() });
const DocumentEdit = z.object({ textDocument: z.object({ uri: z.string() }), edits: z.array(TextEdit) });
const WorkspaceEdit = z.object({
  changes: z.record(z.string(), z.array(TextEdit)).nullish(),
  /** Anything else than a document's edits makes, renames or deletes files. */
  documentChanges: z.array(DocumentEdit).nullish(),
});

/** @returns the edits of a formatter, which are those of one document */
export function formatEdits(result: unknown): FileEdits["edits"] {
  const parsed = z.array(TextEdit).nullable().safeParse(result);
  if (!parsed.success) throw new Refusal("The language server answered with no edits that can be made");
  return parsed.data ?? [];
}

/**
 * @param result a `WorkspaceEdit`
 * @throws {Refusal} when it is none, or does more than to change the text of files that the model may see
 */
export async function workspaceEdits(result: unknown, { workspace }: Scene): Promise<FileEdits[]> {
  const parsed = WorkspaceEdit.safeParse(result ?? {});
  if (!parsed.success)
    throw new Refusal("The language server wants to make, move or delete files, or answered with no edits");
  const { changes, documentChanges } = parsed.data;
  const found = documentChanges
    ? documentChanges.map(({ textDocument, edits }) => [textDocument.uri, edits] as const)
    : Object.entries(changes ?? {});
  const files = new Map<string, FileEdits>();
  for (const [uri, edits] of found) {
    const path = pathOf(uri);
    if (path === undefined) throw new Refusal("The language server wants to change what is no file");
    const file = files.get(path) ?? { path: await workspace.file(path), edits: [] };
    files.set(path, { ...file, edits: [...file.edits, ...edits] });
  }
  return [...files.values()].filter(({ edits }) => edits.length > 0);
}

/** Makes the edits, which count as the CLI's own; where the user reviews every edit, what they accept of them. */
export async function applyEdits(
  files: readonly FileEdits[],
  { encoding }: Pick<Server, "encoding">,
  scene: Scene,
): Promise<Answer> {
  const { ask, workspace, editing } = scene;
  if (files.length === 0) return { text: "There is nothing to change.", structured: { files: [] } };
  if (editing.isGated) return reviewEdits(files, encoding, scene);
  const paths = files.map(({ path }) => path);
  const { done, problem } = await editing.follow(paths, () => ask("apply_edits", { files, encoding }));
  const changed = files.slice(0, done);
  await ask("tell_written", { paths: changed.map(({ path }) => path) });
  const lines = changed.map(({ path, edits }) => `${workspace.label(path)}: ${count(edits.length, "edit")}`);
  const heading = `${count(done, "file")} changed and written.`;
  return {
    text: [heading, ...lines, ...(problem === undefined ? [] : [`The others were not: ${problem}`])].join(
      "\n",
    ),
    structured: {
      files: changed.map(({ path, edits }) => ({ path: workspace.name(path), edits: edits.length })),
    },
    links: changed.map(({ path }) => path),
  };
}
