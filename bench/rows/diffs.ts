/**
 * Measures a review: the time from the CLI's request to the answer, and the time from the user's decision until the CLI
 * receives it.
 */

import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";
import type { CompanionClient } from "../../test/support/client.ts";
import type { Nvim } from "../../test/support/nvim.ts";
import { longestBlock } from "../block.ts";
import { type Summary, summarize, takeTurns, time } from "../stats.ts";
import { ours, plain, startBridge, startSubject, within } from "../subject.ts";
import { type Goal, type Row, row } from "../table.ts";

/** Sizes of proposals (bytes), and how often each is measured. */
const SIZES = [
  { name: "1 KB", size: 1_000, runs: 41 },
  { name: "1 MB", size: 1_000_000, runs: 15 },
];
type Size = (typeof SIZES)[number];

/** Maximum time for which the editor may be blocked by anything up to 1 MB (ms). */
const BLOCK: Goal = { most: 16 };

/** Returns a text of about `size` bytes, and a proposal that changes every hundredth line of the text. */
export function texts(size: number): { before: string; after: string } {
  const lines = Array.from({ length: Math.ceil(size / 50) }, (_, i) => `line ${i} `.padEnd(49, "abc def "));
  const changed = lines.map((line, i) => (i % 100 === 0 ? line.toUpperCase() : line));
  return { before: `${lines.join("\n")}\n`, after: `${changed.join("\n")}\n` };
}

/** Lua that shows a proposal with as little code as possible: in diff mode, in a new buffer beside the file. */
const SHOW = `
local text = ...
local start = vim.uv.hrtime()
local lines = vim.split(text, '\\n', { plain = true })
local buf = vim.api.nvim_create_buf(false, true)
vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
local win = vim.api.nvim_open_win(buf, false, { split = 'right', win = 0 })
for _, window in ipairs({ vim.api.nvim_get_current_win(), win }) do
  vim.api.nvim_set_option_value('diff', true, { win = window, scope = 'local' })
end
local took = (vim.uv.hrtime() - start) / 1e6
vim.api.nvim_win_close(win, true)
vim.api.nvim_buf_delete(buf, { force = true })
vim.cmd.diffoff()
return took
`;

const READ = `
local start = vim.uv.hrtime()
bench_text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')
return (vim.uv.hrtime() - start) / 1e6
`;

/**
 * Sends the text in a request for an unknown tool. The host refuses such a request as soon as it has parsed the
 * request.
 */
function refuse(client: CompanionClient, filePath: string, newContent: string): Promise<unknown> {
  const params = { name: "noSuchTool", arguments: { filePath, newContent } };
  return client.mcp.request({ method: "tools/call", params }, CallToolResultSchema).catch(() => {});
}

/** Closes a diff. */
export function closeDiff(client: CompanionClient, filePath: string): Promise<unknown> {
  const params = { name: "closeDiff", arguments: { filePath, suppressNotification: true } };
  return client.mcp.request({ method: "tools/call", params }, CallToolResultSchema).catch(() => {});
}

function sum(...parts: Summary[]): Summary {
  const add = (key: keyof Summary) => parts.reduce((total, part) => total + part[key], 0);
  return {
    runs: parts[0]?.runs ?? 0,
    median: add("median"),
    low: add("low"),
    high: add("high"),
    p99: add("p99"),
  };
}

async function openRows({ name, size, runs }: Size): Promise<Row[]> {
  const { before, after } = texts(size);
  const open = { files: { "a.txt": before }, args: ["a.txt"] };
  return within(async (scope) => {
    const { nvim, client } = await startBridge(scope, ours, open);
    const bare = await startSubject(scope, plain, open);
    const path = nvim.path("a.txt");
    const close = () => closeDiff(client, path);
    const carry = () => bare.lua("return #...", after);
    const [opened, refused, carried, shown, blocked, carryBlock] = await takeTurns(runs, [
      async () => {
        const took = await time(() => client.openDiff(path, after));
        await close();
        return took;
      },
      () => time(() => refuse(client, path, after)),
      () => time(carry),
      async () => z.number().parse(await bare.lua(SHOW, after)),
      async () => {
        const block = await longestBlock(nvim, () => client.openDiff(path, after));
        await close();
        return block;
      },
      () => longestBlock(bare, carry),
    ]);
    const show = summarize(shown);
    return [
      row(`openDiff answered, ${name}`, "ms", opened, {
        floor: sum(summarize(refused), summarize(carried), show),
      }),
      row(`openDiff blocks the editor, ${name}`, "ms", blocked, {
        floor: sum(summarize(carryBlock), show),
        goal: BLOCK,
      }),
    ];
  });
}

const Times = z.object({ at: z.string(), blocked: z.number() });

/**
 * Runs Lua code that accepts a proposal. Returns the time until the client has the notification, and the duration of
 * the Lua code itself (ms).
 */
async function untilAccepted(client: CompanionClient, nvim: Nvim, code: string) {
  const list = client.received["ide/diffAccepted"];
  list.length = 0;
  const arrived = client
    .waitForNotification("ide/diffAccepted", undefined, 30_000)
    .then(() => process.hrtime.bigint());
  const { at, blocked } = Times.parse(
    await nvim.lua(
      `local at = vim.uv.hrtime() ${code} return { at = tostring(at), blocked = (vim.uv.hrtime() - at) / 1e6 }`,
    ),
  );
  return { took: Number((await arrived) - BigInt(at)) / 1e6, blocked };
}

async function acceptRows({ name, size, runs }: Size): Promise<Row[]> {
  const { before, after } = texts(size);
  const open = { files: { "a.txt": before }, args: ["a.txt"] };
  return within(async (scope) => {
    const { nvim, client } = await startBridge(scope, ours, open);
    const bare = await startSubject(scope, plain, open);
    const [accepted, read] = await takeTurns(runs, [
      async () => {
        await client.openDiff(nvim.path("a.txt"), after);
        return untilAccepted(client, nvim, ours.accept);
      },
      async () => z.number().parse(await bare.lua(READ)),
    ]);
    return [
      row(
        `:GeminiAccept until the client has it, ${name}`,
        "ms",
        accepted.map(({ took }) => took),
        { floor: read },
      ),
      row(
        `:GeminiAccept blocks the editor, ${name}`,
        "ms",
        accepted.map(({ blocked }) => blocked),
        { floor: read, goal: BLOCK },
      ),
    ];
  });
}

export async function diffRows(): Promise<Row[]> {
  const rows: Row[] = [];
  for (const size of SIZES) rows.push(...(await openRows(size)), ...(await acceptRows(size)));
  return rows;
}
