/** Implements tools for code actions, such as quick fixes. */
import { randomInt } from "node:crypto";
import * as z from "zod";
import { Refusal } from "../../base/refusal.ts";
import type { Moment, Server } from "../../contract/questions.ts";
import { count, oneLine } from "../format.ts";
import { askServers, openAtLine } from "../language-servers.ts";
import { encode } from "../symbol-position.ts";
import { defineTool, LineNumber } from "../tool.ts";
import { applyEdits, workspaceEdits } from "../workspace-edit.ts";
import { EDITS, firstOf } from "./edit.ts";

const METHOD = "textDocument/codeAction";

/**
 * A code action that can be offered to the model. If an action only runs a command of the server, it is not offered,
 * because the effect of a command cannot be checked in advance. If an action has an edit and a command, only the edit
 * is applied.
 */
const Action = z
  .looseObject({
    title: z.string(),
    kind: z.string().optional(),
    edit: z.unknown().optional(),
    data: z.unknown().optional(),
    command: z.unknown().optional(),
    disabled: z.null().optional(),
  })
  .refine(({ edit, command }) => isGiven(edit) || !isGiven(command));

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

interface Offered {
  path: string;
  tick: number;
  server: Server;
  moment: Moment | undefined;
  action: z.infer<typeof Action>;
}

/** Offered actions by id. Beyond the maximum, the oldest action is dropped. */
const offered = new Map<number, Offered>();
const MAX_OFFERED = 500;
/**
 * Last assigned id. Starts at a random number: the model may still use ids from before a restart of the host process,
 * and these must not match new ids.
 */
let last = randomInt(1_000_000) * 1_000;

function offer(one: Offered): number {
  last += 1;
  offered.set(last, one);
  const [oldest] = offered.keys();
  if (offered.size > MAX_OFFERED && oldest !== undefined) offered.delete(oldest);
  return last;
}

export const codeActions = defineTool({
  name: "code_actions",
  title: "Code actions",
  description:
    "What the language servers offer to do on a line of a file, such as quick fixes. apply_code_action applies one.",
  input: {
    path: z.string().describe("The file"),
    line: LineNumber.describe("The line, from 1"),
  },
  annotations: { readOnlyHint: true },
  async run(args, context) {
    const path = await context.workspace.file(args.path);
    const document = await openAtLine(METHOD, path, args.line, context);
    const { servers, attached, text, name, tick, diagnostics } = document;
    const line = args.line - 1;
    const params = ({ encoding }: Server) => ({
      textDocument: {},
      range: {
        start: { line, character: 0 },
        end: { line, character: encode(text, text.length, encoding) },
      },
      context: { diagnostics },
    });
    const { answered, remarks } = await askServers(
      servers,
      { method: METHOD, path, params, isEdit: true },
      context,
    );
    const actions = answered.flatMap(({ server, result, moment }) =>
      (Array.isArray(result) ? result : []).slice(0, context.limits.items).flatMap((value) => {
        const parsed = Action.safeParse(value);
        if (!parsed.success) return [];
        const { title, kind } = parsed.data;
        return [
          { id: offer({ path, tick, server, moment, action: parsed.data }), title: oneLine(title), kind },
        ];
      }),
    );
    if (attached === 0) remarks.push(`No language server is attached to ${name}.`);
    const lines = actions.map(({ id, title, kind }) => `${id}: ${title}${kind ? ` [${oneLine(kind)}]` : ""}`);
    return {
      text: [count(actions.length, "code action"), ...lines, ...remarks].join("\n"),
      structured: { actions },
    };
  },
});

export const applyCodeAction = defineTool({
  name: "apply_code_action",
  title: "Apply a code action",
  description: "Applies an action that code_actions has listed. Writes the files; the user can undo it.",
  input: { id: z.number().int().describe("The number of the action, from code_actions") },
  annotations: EDITS,
  async run({ id }, context) {
    const one = offered.get(id);
    if (!one) throw new Refusal(`There is no code action ${id}: call code_actions for the current ones`);
    const { server, action, tick } = one;
    const path = await context.workspace.file(one.path);
    const method = "codeAction/resolve";
    const { result, moment = one.moment } = isGiven(action.edit)
      ? { result: action }
      : firstOf(await askServers([server], { method, path, params: () => action, isEdit: true }, context));
    const { edit } = z.object({ edit: z.unknown() }).catch({ edit: undefined }).parse(result);
    if (!isGiven(edit))
      throw new Refusal("The language server does not say what this code action would change");
    const files = await workspaceEdits(edit, moment, context);
    return applyEdits(
      files.map((file) => (file.path === path ? { ...file, tick } : file)),
      server,
      context,
    );
  },
});
