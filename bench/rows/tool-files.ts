/**
 * Measures the model's tools that make the editor read or write files. The floor is the time of the command with which
 * a user would do the same.
 */
import { connectEditorClient, languageServer } from "../../test/support/editor-client.ts";
import { longestBlock } from "../block.ts";
import { takeTurns } from "../stats.ts";
import { discoveryOf, type Subject, startBridge, within } from "../subject.ts";
import { type Row, row } from "../table.ts";
import { SERVE } from "./in-process-server.ts";

const TURNS = 5;
const FILES = 20;
/** Number of places to edit in each file. */
const PLACES = 10;
const GOAL = { ratio: 1.25 };

const LINE = "const value = compute(42); // some text\n";
const lines = (bytes: number) => LINE.repeat(bytes / LINE.length);

/** Lua that defines a language server. The server formats the large file with one small edit. */
const FORMATTER = `${SERVE}
local edit = { range = { start = { line = 0, character = 0 }, ['end'] = { line = 0, character = 1 } }, newText = 'k' }
bench_serve({
  initialize = { capabilities = { documentFormattingProvider = true, textDocumentSync = 2 } },
  ['textDocument/formatting'] = { edit },
})
`;

async function start(
  scope: Parameters<typeof startBridge>[0],
  subject: Subject,
  options: { files: Record<string, string>; args: string[]; init?: string },
) {
  const { nvim } = await startBridge(scope, subject, options);
  const file = discoveryOf(nvim);
  const client = await connectEditorClient(scope, { file: () => file });
  return { nvim, client, block: (run: () => Promise<unknown>) => longestBlock(nvim, run) };
}

function readRows(subject: Subject): Promise<Row[]> {
  return within(async (scope) => {
    const files: Record<string, string> = { "main.js": "old();\n" };
    for (let i = 0; i <= TURNS; i += 1)
      for (const name of ["asked", "shown", "edited"]) files[`${name}${i}.js`] = lines(1e6);
    const options = { files, args: ["main.js"], init: languageServer() };
    const { nvim, client, block } = await start(scope, subject, options);
    await client.text("symbols", { path: "main.js" });
    let turn = 0;
    const [edited, asked, shown] = await takeTurns(TURNS + 1, [
      () => block(() => nvim.command(`edit edited${turn}.js`)),
      () => block(() => client.text("symbols", { path: `asked${turn}.js` })),
      () => block(() => client.text("open_file", { path: `shown${turn++}.js` })),
    ]);
    return [
      row("longest block by symbols, a file of 1 MB that is not open", "ms", asked, {
        floor: edited,
        goal: GOAL,
      }),
      row("longest block by open_file, 1 MB", "ms", shown, { floor: edited, goal: GOAL }),
    ];
  });
}

function renameRow(subject: Subject): Promise<Row> {
  return within(async (scope) => {
    const files: Record<string, string> = { "main.js": "name0();\n" };
    for (let i = 0; i < FILES; i += 1) files[`other${i}.js`] = "name0();\n".repeat(PLACES);
    const options = { files, args: ["main.js"], init: languageServer() };
    const { client, block } = await start(scope, subject, options);
    const turns: number[] = [];
    for (let i = 0; i < TURNS; i += 1) {
      const rename = { path: "main.js", line: 1, symbol: `name${i}`, new_name: `name${i + 1}` };
      turns.push(await block(() => client.text("rename", rename)));
    }
    return row(`longest block by rename, ${PLACES} places in each of ${FILES} files`, "ms", turns, {
      goal: { most: 5 },
    });
  });
}

function writeRow(subject: Subject): Promise<Row> {
  return within(async (scope) => {
    const options = { files: { "a.txt": lines(1e7) }, args: ["a.txt"] };
    const { nvim, client, block } = await start(scope, subject, options);
    await nvim.lua(FORMATTER);
    const [written, formatted] = await takeTurns(TURNS, [
      async () => {
        await nvim.command("silent normal! rk");
        return block(() => nvim.command("silent write"));
      },
      () => block(() => client.text("format", { path: "a.txt" })),
    ]);
    return row("longest block by format, one edit in a file of 10 MB", "ms", formatted, {
      floor: written,
      goal: GOAL,
    });
  });
}

export async function toolFileRows(subject: Subject): Promise<Row[]> {
  return [...(await readRows(subject)), await renameRow(subject), await writeRow(subject)];
}
