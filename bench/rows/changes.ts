/** Measures unreviewed changes: their marks in the editor, and the host's work before and after an edit. */
import { writeFileSync } from "node:fs";
import * as z from "zod";
import { takeTurns, time } from "../stats.ts";
import { agentOf, type Subject, startBridge, within } from "../subject.ts";
import { type Row, row } from "../table.ts";
import { changeOf } from "./page.ts";

const LINES = 10_000;
const HUNKS = 500;
const EDITS = 200;

/** Lua that returns the duration of the host's call that shows a change (ms). */
const SHOW = `
local change = ...
local start = vim.uv.hrtime()
require('gemini-bridge.changes.changes').show({ path = change.path, change = change, edited = false })
return (vim.uv.hrtime() - start) / 1e6
`;

const MARK = `
local namespace = vim.api.nvim_create_namespace('bench')
vim.api.nvim_buf_clear_namespace(0, namespace, 0, -1)
local start = vim.uv.hrtime()
for i = 1, ... do vim.api.nvim_buf_set_extmark(0, namespace, i * 20 - 20, 0, { sign_text = '+' }) end
return (vim.uv.hrtime() - start) / 1e6
`;

export async function changeRows(subject: Subject): Promise<Row[]> {
  return within(async (scope) => {
    const files = { "a.txt": "a line\n".repeat(LINES) };
    const { nvim } = await startBridge(scope, subject, { files, args: ["a.txt"] });
    const change = changeOf(nvim.path("a.txt"), HUNKS);
    const milliseconds = async (code: string, argument: unknown) =>
      z.number().parse(await nvim.lua(code, argument));
    const [shown, floor] = await takeTurns(15, [
      () => milliseconds(SHOW, change),
      () => milliseconds(MARK, HUNKS),
    ]);

    const agent = agentOf(nvim);
    const edit = (before: string, after: string) => {
      let count = 0;
      return async () => {
        const name = `${before}${count++}.txt`;
        const fields = { ...agent.edit(name), notification_type: "none" };
        writeFileSync(nvim.path(name), "a line\n".repeat(100));
        const wait = await time(() => agent.hook(before, fields));
        writeFileSync(nvim.path(name), "a line\n".repeat(101));
        return wait + (await time(() => agent.hook(after, fields)));
      };
    };
    // The floor is the time of events that are not about an edit. The host answers such an event as soon as it has
    // parsed the event.
    const [edits, others] = await takeTurns(EDITS, [
      edit("BeforeTool", "AfterTool"),
      edit("Notification", "Notification"),
    ]);
    return [
      row(`${HUNKS} hunks marked in ${LINES} lines`, "ms", shown, { floor }),
      row(`an edit of a turn of ${EDITS}, seen before and after`, "ms", edits, {
        floor: others,
        goal: { more: 10 },
      }),
    ];
  });
}
