/** Measures the tools that a model can call: the time of a call, and how long large answers block the editor. */
import { connectEditorClient, type EditorClient } from "../../test/support/editor-client.ts";
import { longestBlock } from "../block.ts";
import { summarize, takeTurns, time } from "../stats.ts";
import { discoveryOf, type Subject, startBridge, within } from "../subject.ts";
import { type Row, row } from "../table.ts";
import { SERVE } from "./in-process-server.ts";

const CALLS = 100;
const MANY = 10_000;
const GOAL_MS = 5;

/**
 * Lua that creates a buffer of 10 MB with 10,000 diagnostics and quickfix entries. Also defines a language server that
 * answers at once with 10,000 items.
 */
const CROWD = `${SERVE}
local many, buf, path = ..., 0, vim.api.nvim_buf_get_name(0)
local function range(i)
  return { start = { line = i, character = 0 }, ['end'] = { line = i, character = 4 } }
end
local diagnostics, entries, symbols, places = {}, {}, {}, {}
for i = 1, many do
  diagnostics[i] = {
    lnum = i, col = 4, end_lnum = i, end_col = 8, severity = 1 + i % 4, message = 'this is wrong ' .. i, code = 'E1',
    user_data = { lsp = { code = 'E1', codeDescription = { href = 'https://example.com' }, data = { i } } },
  }
  entries[i] = { bufnr = vim.api.nvim_get_current_buf(), lnum = i, col = 1, text = 'entry ' .. i }
  symbols[i] = { name = 'name' .. i, kind = 12, range = range(i), selectionRange = range(i), children = {} }
  places[i] = { uri = vim.uri_from_fname(path), range = range(i) }
end
vim.diagnostic.config({ virtual_text = false, signs = false, underline = false })
vim.diagnostic.set(vim.api.nvim_create_namespace('bench'), buf, diagnostics)
vim.fn.setqflist(entries)
local answers = {
  initialize = { capabilities = { documentSymbolProvider = true, referencesProvider = true } },
  ['textDocument/documentSymbol'] = { { name = 'all', kind = 2, range = range(0), selectionRange = range(0), children = symbols } },
  ['textDocument/references'] = places,
}
bench_serve(answers)
`;

const TOOLS: [name: string, args: Record<string, unknown>][] = [
  ["diagnostics", { path: "a.txt" }],
  ["symbols", { path: "a.txt" }],
  ["references", { path: "a.txt", line: 2, symbol: "line" }],
  ["read_buffer", { path: "a.txt" }],
  ["buffers", {}],
  ["selection", {}],
];

export async function toolRows(subject: Subject): Promise<Row[]> {
  return within(async (scope) => {
    const files = { "a.txt": `a line ${"of a text ".repeat(9)}\n`.repeat(100_000) };
    const { nvim } = await startBridge(scope, subject, { files, args: ["a.txt"] });
    const file = discoveryOf(nvim);
    const client = await connectEditorClient(scope, { file: () => file });
    const [calls, pings] = await takeTurns(CALLS, [
      () => time(() => client.text("buffers")),
      () => time(() => client.mcp.ping()),
    ]);
    await nvim.lua(CROWD, MANY);
    const block = async (run: (client: EditorClient) => Promise<unknown>) => {
      await run(client);
      const turns: number[] = [];
      for (let i = 0; i < 5; i += 1) turns.push(await longestBlock(nvim, () => run(client)));
      return summarize(turns);
    };
    const blocks: Row[] = [];
    for (const [name, args] of TOOLS)
      blocks.push(
        row(
          `longest block by ${name}, 10 MB and ${MANY} of all`,
          "ms",
          await block(({ call }) => call(name, args)),
          { goal: { most: GOAL_MS } },
        ),
      );
    blocks.push(
      row(
        `longest block by nvim://quickfix, ${MANY} entries`,
        "ms",
        await block(({ mcp }) => mcp.readResource({ uri: "nvim://quickfix" })),
        { goal: { most: GOAL_MS } },
      ),
    );
    return [row("a call of a tool", "ms", calls, { floor: pings, goal: { more: 10 } }), ...blocks];
  });
}
