/** Implements the tool for diagnostics of language servers and linters. */
import * as z from "zod";
import type { AnswerTo, Diagnostic } from "../../contract/questions.ts";
import { at, count, cutOff, oneLine, SEVERITIES, tally } from "../format.ts";
import { type Answer, type CallContext, defineTool } from "../tool.ts";

const METHOD = "textDocument/publishDiagnostics";

function line({ path, line, character, severity, message, code }: Diagnostic, context: CallContext): string {
  const label = SEVERITIES[severity - 1] ?? "error";
  const suffix = code === undefined ? "" : ` [${oneLine(String(code), 100)}]`;
  return at(context.workspace.label(path), line, character, `${label} ${oneLine(message)}${suffix}`);
}

/** Returns the loaded files that the model may see. */
export async function openPaths({ ask, workspace }: CallContext): Promise<string[]> {
  const { buffers } = await ask("buffers", {});
  return [...(await workspace.shared(buffers.map(({ path }) => path)))];
}

interface Diagnosed {
  /** Files that are loaded in Neovim. */
  paths: readonly string[];
  /** Files that are not loaded, but for which language servers have reported diagnostics. */
  unopened?: readonly string[];
  severity?: number;
  settled?: AnswerTo<"settle"> | undefined;
  /** The first line of the answer. */
  remark?: string | undefined;
  /** Sentences that tell the model why diagnostics may be missing. */
  remarks?: readonly string[];
}

/**
 * Finds all files that may have diagnostics: open files, and other files that language servers report. Leaves out files
 * that the model may not see.
 */
export async function everywhere(
  context: CallContext,
): Promise<Pick<Diagnosed, "paths" | "unopened" | "remarks">> {
  const { ask, workspace, limits } = context;
  const [open, { paths, total, problems }] = await Promise.all([
    openPaths(context),
    ask("unopened", { timeout: limits.timeout }),
  ]);
  const shared = await workspace.shared(paths);
  const hidden = paths.length - shared.size;
  const remarks = [
    ...problems.map((problem) => `(${oneLine(problem)}.)`),
    ...(hidden > 0
      ? [`(${count(hidden, "file")} more, outside the workspace or not shared by the user)`]
      : []),
    ...(total > paths.length ? [`(${count(total - paths.length, "file")} more are not checked)`] : []),
  ];
  return { paths: open, unopened: [...shared], remarks };
}

/** Returns a line that tells whether the diagnostics may be outdated. Returns no line if they are up to date. */
function freshness(settled: Diagnosed["settled"]): string[] {
  if (settled?.settled === false)
    return [
      "Language servers are still processing the last change: the diagnostics may be outdated, ask again.",
    ];
  return settled?.silent
    ? ["(Language servers have processed the last change, and have reported nothing new since.)"]
    : [];
}

/** Lists the diagnostics of files. @returns the answer, and the number of diagnostics as `total` */
export async function describe(
  diagnosed: Diagnosed,
  context: CallContext,
): Promise<Answer & { total: number }> {
  const { paths, unopened = [], severity = SEVERITIES.length, settled, remark, remarks = [] } = diagnosed;
  const limit = context.limits.items;
  const question = { paths, unopened, severity, limit };
  const { items, counts, files } = await context.ask("diagnostics", question);
  const wanted = counts.slice(0, severity);
  const total = wanted.reduce((sum, each) => sum + each, 0);
  const heading = `${tally(wanted)}${files > 0 ? ` in ${count(files, "file")}` : ""}`;
  const text = [
    ...(remark === undefined ? [] : [remark]),
    ...freshness(settled),
    heading,
    ...items.map((item) => line(item, context)),
    ...cutOff(items.length, total, "name a path or a severity for the others"),
    ...remarks,
  ].join("\n");
  const structured = {
    total,
    counts: Object.fromEntries(SEVERITIES.map((name, index) => [name, counts[index] ?? 0])),
    settled: settled?.settled,
    diagnostics: items.map((item) => ({
      ...item,
      path: context.workspace.name(item.path),
      severity: SEVERITIES[item.severity - 1],
    })),
  };
  return { text, total, structured, links: items.map(({ path }) => path) };
}

export const diagnostics = defineTool({
  name: "diagnostics",
  title: "Diagnostics",
  description:
    "Errors and warnings of the language servers and linters in the user's editor, for one file, or for all open files " +
    "and those that servers report. With settle, waits until the servers have processed the last write: use it to check " +
    "an edit.",
  input: {
    path: z.string().optional().describe("A file. Default: all open files and those that servers report"),
    severity: z.enum(SEVERITIES).optional().describe("This and more severe ones. Default: all"),
    settle: z.boolean().optional().describe("Wait for the language servers first"),
  },
  annotations: { readOnlyHint: true },
  async run(args, context) {
    const { ask, workspace, limits } = context;
    const severity = args.severity === undefined ? SEVERITIES.length : SEVERITIES.indexOf(args.severity) + 1;
    const { timeout } = limits;
    if (args.path === undefined) {
      const settled = args.settle
        ? await ask("settle", { paths: await openPaths(context), timeout })
        : undefined;
      return describe({ ...(await everywhere(context)), severity, settled }, context);
    }
    const path = await workspace.file(args.path);
    const { attached, isNew } = await ask("document", { path, method: METHOD, timeout });
    // Always waits if the file was just opened, because language servers have not checked such a file yet.
    const waits = attached > 0 && (args.settle || isNew);
    const settled = waits ? await ask("settle", { paths: [path], timeout }) : undefined;
    const remark = attached === 0 ? `No language server is attached to ${workspace.label(path)}.` : undefined;
    return describe({ paths: [path], severity, remark, settled }, context);
  },
});
