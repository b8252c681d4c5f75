/** Measures Claude Code's protocol. Compares each action with the same action in Gemini CLI's protocol. */
import * as z from "zod";
import { type CompanionClient, connectClient } from "../../test/support/client.ts";
import type { Nvim } from "../../test/support/nvim.ts";
import type { Scope } from "../../test/support/scope.ts";
import { readLocks, SocketClient } from "../../test/support/socket-client.ts";
import { waitFor } from "../../test/support/wait.ts";
import { takeTurns } from "../stats.ts";
import { type Subject, startBridge, within } from "../subject.ts";
import { type Row, row } from "../table.ts";
import { texts } from "./diffs.ts";
import { withoutPause } from "./latency.ts";

const SIZES = { "1 KB": { size: 1_000, runs: 61 }, "1 MB": { size: 1_000_000, runs: 21 } };

/**
 * Lua that records when a review opens. Node can compare this time with its own, because `hrtime` uses the same clock
 * in Node and Neovim.
 */
const WATCH = `vim.api.nvim_create_autocmd('User', {
  pattern = 'GeminiDiffOpened', callback = function() bench_opened = tostring(vim.uv.hrtime()) end })`;

const ACCEPT = "local now = vim.uv.hrtime() vim.cmd.GeminiAccept() return tostring(now)";

const Time = z.string().transform(BigInt);

const milliseconds = (from: bigint, to: bigint) => Number(to - from) / 1e6;

/**
 * A file in the folder of each of three CLIs, so that the folders exist. The bridge serves only CLIs whose folder
 * exists.
 */
const FOLDERS = { "../home/.claude/keep": "", "../home/.qwen/keep": "", "../home/.llxprt/keep": "" };

async function connectSocket(scope: Scope, nvim: Nvim): Promise<SocketClient> {
  const lock = await waitFor(async () => readLocks(nvim.dirs.home)[0], "the lock file");
  return SocketClient.connect(scope, lock);
}

/**
 * Measures a review (ms). `opened`: from the request until the editor shows the review. `accepted`: from the decision
 * until the client has the text.
 */
async function review(nvim: Nvim, ask: () => Promise<unknown>, arrives: () => Promise<unknown>) {
  await nvim.lua("bench_opened = nil");
  const asked = process.hrtime.bigint();
  const answer = ask();
  await nvim.waitFor("bench_opened ~= nil", "the review", 10_000);
  const opened = milliseconds(asked, Time.parse(await nvim.lua("return bench_opened")));
  const arrived = Promise.all([answer, arrives()]).then(() => process.hrtime.bigint());
  const at = Time.parse(await nvim.lua(ACCEPT));
  return { opened, accepted: milliseconds(at, await arrived) };
}

async function reviewRows(subject: Subject, name: string, { size, runs }: (typeof SIZES)["1 KB"]) {
  const { before, after } = texts(size);
  return within(async (scope) => {
    const options = { files: { "a.txt": before, ...FOLDERS }, args: ["a.txt"] };
    const { nvim, client: companion } = await startBridge(scope, subject, options);
    const socket = await connectSocket(scope, nvim);
    await nvim.lua(WATCH);
    const path = nvim.path("a.txt");
    const [ours, theirs] = await takeTurns(runs, [
      () =>
        review(
          nvim,
          () => socket.openDiff(path, after),
          async () => {},
        ),
      () =>
        review(
          nvim,
          () => companion.openDiff(path, after),
          () => accepted(companion),
        ),
    ]);
    const rowOf = (text: string, key: "opened" | "accepted") =>
      row(
        `${text}, ${name}`,
        "ms",
        ours.map((each) => each[key]),
        { floor: theirs.map((each) => each[key]), goal: { ratio: 1.3 } },
      );
    return [
      rowOf("openDiff by a WebSocket until the review is open", "opened"),
      rowOf(":GeminiAccept until the client of a WebSocket has it", "accepted"),
    ];
  });
}

async function accepted(client: CompanionClient): Promise<unknown> {
  client.received["ide/diffAccepted"].length = 0;
  return client.waitForNotification("ide/diffAccepted", undefined, 30_000);
}

const SWITCH = `local now = vim.uv.hrtime() vim.cmd.buffer(...) return tostring(now)`;

/** Returns a function that switches between two files. */
function switcher(nvim: Nvim): () => Promise<unknown> {
  let isFirst = true;
  return () => {
    isFirst = !isFirst;
    return nvim.lua(SWITCH, isFirst ? "a.txt" : "b.txt");
  };
}

/** Returns the time from a change of buffer until all clients have the context (ms). */
async function delay(
  companions: readonly CompanionClient[],
  sockets: readonly SocketClient[],
  trigger: () => Promise<unknown>,
): Promise<number> {
  for (const { received } of companions) received["ide/contextUpdate"].length = 0;
  for (const { selections } of sockets) selections.length = 0;
  const arrivals = [
    ...companions.map((client) => client.waitForNotification("ide/contextUpdate")),
    ...sockets.map((client) => client.until(() => client.selections.at(-1), "the context")),
  ].map((arrival) => arrival.then(() => process.hrtime.bigint()));
  const at = Time.parse(await trigger());
  const last = (await Promise.all(arrivals)).reduce((a, b) => (a > b ? a : b));
  return milliseconds(at, last);
}

/**
 * Measures the time until clients of different kinds have a context. The floor is the time of the same number of Gemini
 * CLI clients.
 */
async function contextRow(subject: Subject): Promise<Row> {
  return within(async (scope) => {
    const options = { files: { "a.txt": "a\n", "b.txt": "b\n", ...FOLDERS }, args: ["a.txt", "b.txt"] };
    const mixed = await startBridge(scope, subject, options);
    const { nvim } = mixed;
    const companions = [...mixed.clients];
    for (const cli of ["QWEN_CODE", "LLXPRT_CODE"]) {
      const token = z.string().parse(await nvim.lua("return vim.env[...]", `${cli}_IDE_AUTH_TOKEN`));
      companions.push(await connectClient(scope, { ...mixed.endpoint, token }));
    }
    const socket = await connectSocket(scope, nvim);
    await socket.until(() => socket.selections.at(-1), "the first context");
    const same = await startBridge(scope, subject, { ...options, clients: companions.length + 1 });
    for (const each of [nvim, same.nvim]) await withoutPause(each, subject);
    const [move, moveSame] = [switcher(nvim), switcher(same.nvim)];
    const [figures, floors] = await takeTurns(100, [
      () => delay(companions, [socket], move),
      () => delay(same.clients, [], moveSame),
    ]);
    return row("one context to four clients, one of each kind", "ms", figures.slice(20), {
      floor: floors.slice(20),
      goal: { ratio: 1.3 },
    });
  });
}

export async function socketRows(subject: Subject): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [name, size] of Object.entries(SIZES)) rows.push(...(await reviewRows(subject, name, size)));
  return [...rows, await contextRow(subject)];
}
