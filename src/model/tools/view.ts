/** Implements tools that show something to the user. */
import * as z from "zod";
import { Refusal } from "../../base/refusal.ts";
import { count, cutOff, oneLine } from "../format.ts";
import { type Answer, type CallContext, defineTool, LineNumber } from "../tool.ts";

export const openFile = defineTool({
  name: "open_file",
  title: "Show a file",
  description:
    "Shows a file to the user in a window of the editor, at a line. The user can continue to work.",
  input: {
    path: z.string().describe("The file"),
    line: LineNumber.optional().describe("The line, from 1"),
  },
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true },
  async run({ path, line }, { ask, workspace }) {
    const file = await workspace.file(path);
    const { lines, isUsers } = await ask("open_file", { path: file, line });
    const shown = line === undefined || isUsers ? undefined : Math.min(line, lines);
    const place = `${workspace.label(file)}${shown === undefined ? "" : `:${shown}`}`;
    const text = [
      `${place} is shown${isUsers ? ", and the user is in it: their cursor stays" : ""}.`,
      ...(line !== undefined && line > lines ? [`It has ${count(lines, "line")}.`] : []),
    ].join(" ");
    return { text, structured: { shown: true, line: shown, lines }, links: [file] };
  },
});

const Item = z.object({
  path: z.string().describe("The file"),
  line: LineNumber.describe("The line, from 1"),
  text: z.string().max(1000).describe("The text of the entry"),
});

export const quickfix = defineTool({
  name: "quickfix",
  title: "Fill the quickfix list",
  description:
    "Gives the user a list of places to go through, such as what is left to do. Replaces the list of an earlier call. " +
    "The user's own lists are kept: `:colder` returns to them.",
  input: {
    title: z.string().max(200).describe("The title of the list"),
    items: z.array(Item).min(1).max(1000),
  },
  annotations: { readOnlyHint: false, destructiveHint: false },
  async run({ title, items }, { ask, workspace }) {
    const refusals: string[] = [];
    const found = await Promise.all(
      items.map(async ({ path, line, text }) => {
        try {
          return [{ path: await workspace.file(path), line, text: oneLine(text, 1000) }];
        } catch (error) {
          if (!(error instanceof Refusal)) throw error;
          refusals.push(error.message);
          return [];
        }
      }),
    );
    const entries = found.flat();
    if (entries.length === 0) throw new Refusal(refusals.join("\n"));
    const { total } = await ask("set_quickfix", { title: oneLine(title), items: entries });
    return {
      text: [`${count(total, "entry", "entries")} in the quickfix list.`, ...refusals].join("\n"),
      structured: { total, refused: refusals.length },
    };
  },
});

/** Lists the entries of the user's quickfix list. */
export async function describeQuickfix({ ask, workspace, limits }: CallContext): Promise<Answer> {
  const list = await ask("quickfix", { limit: limits.items });
  const shared = await workspace.shared(list.items.map(({ path }) => path));
  const items = list.items.filter(({ path }) => shared.has(path));
  const lines = items.map(({ path, line, text }) =>
    `${workspace.label(path)}:${line} ${oneLine(text)}`.trimEnd(),
  );
  const heading = `${oneLine(list.title) || "quickfix list"}: ${count(list.total, "entry", "entries")}`;
  const rest = cutOff(items.length, list.total, "the others are not in a shared file, or too many");
  return { text: [heading, ...lines, ...rest].join("\n"), structured: { ...list, items } };
}
