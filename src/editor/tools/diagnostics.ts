/** What language servers and linters complain of. */
import * as z from "zod";
import type { AnswerTo, Diagnostic } from "../../nvim/questions.ts";
import { at, count, cutOff, oneLine, SEVERITIES, tally } from "../format.ts";
import { type Answer, defineTool, type Scene } from "../tool.ts";

const METHOD = "textDocument/publishDiagnostics";

function line({ path, line, character, severity, message, code }: Diagnostic, scene: Scene): string {
  const label = SEVERITIES[severity - 1] ?? "error";
  const suffix = code === undefined ? "" : ` [${code}]`;
  return at(scene.workspace.name(path), line, character, `${label} ${oneLine(message)}${suffix}`);
}

/** @returns the files that are loaded and may be seen */
export async function openPaths({ ask, workspace }: Scene): Promise<string[]> {
  const { buffers } = await ask("buffers", {});
  return [...(await workspace.shared(buffers.map(({ path }) => path)))];
}

export interface Diagnosed {
  paths: readonly string[];
  severity?: number;
  settled?: AnswerTo<"settle"> | undefined;
  /** Said before anything else. */
  remark?: string | undefined;
}

/** What is to be known of diagnostics that are not surely those of the newest text. */
function freshness(settled: Diagnosed["settled"]): string[] {
  if (settled?.settled === false)
    return ["Language servers are still at work on the last change: this may be old, ask again."];
  return settled?.silent
    ? ["(Language servers have read the last change, and have reported nothing new since.)"]
    : [];
}

/** The diagnostics of loaded files as an answer. */
export async function describe(diagnosed: Diagnosed, scene: Scene): Promise<Answer> {
  const { paths, severity = SEVERITIES.length, settled, remark } = diagnosed;
  const limit = scene.limits.items;
  const { items, counts } = await scene.ask("diagnostics", { paths, severity, limit });
  const wanted = counts.slice(0, severity);
  const total = wanted.reduce((sum, each) => sum + each, 0);
  const files = new Set(items.map(({ path }) => path));
  const heading = `${tally(wanted)}${files.size > 0 ? ` in ${count(files.size, "file")}` : ""}`;
  const text = [
    ...(remark === undefined ? [] : [remark]),
    ...freshness(settled),
    heading,
    ...items.map((item) => line(item, scene)),
    ...cutOff(items.length, total, "name a path or a severity for the others"),
  ].join("\n");
  const structured = {
    total,
    counts: Object.fromEntries(SEVERITIES.map((name, index) => [name, counts[index] ?? 0])),
    settled: settled?.settled,
    diagnostics: items.map((item) => ({
      ...item,
      path: scene.workspace.name(item.path),
      severity: SEVERITIES[item.severity - 1],
    })),
  };
  return { text, structured, links: [...files] };
}

export const diagnostics = defineTool({
  name: "diagnostics",
  title: "Diagnostics",
  description:
    "Errors and warnings of the language servers and linters that run in the user's editor, for one file or for all " +
    "open ones. With settle, waits until they have caught up with the last write: use it to check an edit.",
  input: {
    path: z.string().optional().describe("A file; without it, all files that are open"),
    severity: z.enum(SEVERITIES).optional().describe("This severity and graver ones; all by default"),
    settle: z.boolean().optional().describe("Wait for the language servers first"),
  },
  annotations: { readOnlyHint: true },
  async run(args, scene) {
    const { ask, workspace, limits } = scene;
    const severity = args.severity === undefined ? SEVERITIES.length : SEVERITIES.indexOf(args.severity) + 1;
    const { timeout } = limits;
    if (args.path === undefined) {
      const paths = await openPaths(scene);
      const settled = args.settle ? await ask("settle", { paths, timeout }) : undefined;
      return describe({ paths, severity, settled }, scene);
    }
    const path = await workspace.file(args.path);
    const { attached, isNew } = await ask("document", { path, method: METHOD, timeout });
    // What has only just been opened nobody has looked at.
    const waits = attached > 0 && (args.settle || isNew);
    const settled = waits ? await ask("settle", { paths: [path], timeout }) : undefined;
    const remark = attached === 0 ? `No language server for ${workspace.name(path)}.` : undefined;
    return describe({ paths: [path], severity, remark, settled }, scene);
  },
});
