/** Both sides of the state machine test: the expected and the observed state of the bridge. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { isDeepStrictEqual } from "node:util";
import type { RunningBridge } from "./bridge.ts";
import { type EventStream, openStream } from "./event-stream.ts";
import { descendants } from "./processes.ts";
import { ask, initialize } from "./server.ts";
import { waitFor } from "./wait.ts";

export interface ModelClient {
  name: string;
  open: boolean;
  /** Files under review. */
  diffs: string[];
  /** Outcomes in the order of arrival. */
  outcomes: string[];
  arrived: number;
}

export interface Model {
  running: boolean;
  crashes: number;
  clients: ModelClient[];
  made: number;
}

/** A running bridge with its clients. */
export class Real {
  readonly clients = new Map<string, { session: string; stream: EventStream; seen: string[] }>();
  port = 0;
  headers = { authorization: "" };
  constructor(readonly bridge: RunningBridge) {}

  lua(code: string, ...args: unknown[]) {
    return this.bridge.nvim.lua(`local bridge = require('gemini-bridge') ${code}`, ...args);
  }

  client(name: string) {
    const client = this.clients.get(name);
    if (!client) throw new Error(`no client ${name}`);
    return client;
  }

  async connect(name: string): Promise<void> {
    const session = await initialize(this.port, this.headers);
    this.clients.set(name, { session, stream: await openStream(this.port, session, this.headers), seen: [] });
  }

  async comeBack(name: string): Promise<void> {
    const client = this.client(name);
    this.collect();
    const last = client.stream.lastId();
    const extra = last === undefined ? {} : { "last-event-id": last };
    client.stream = await openStream(this.port, client.session, { ...this.headers, ...extra });
  }

  async call(name: string, tool: string, args: object): Promise<string> {
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 9,
      method: "tools/call",
      params: { name: tool, arguments: args },
    });
    const extra = { ...this.headers, "mcp-session-id": this.client(name).session };
    const answer = await ask(this.port, { body, headers: extra });
    if (answer.status !== 200 || answer.body.includes("isError")) throw new Error(`${tool}: ${answer.body}`);
    return answer.body;
  }

  /** Moves outcomes from the received notifications to the list of outcomes. */
  collect(): void {
    for (const { stream, seen } of this.clients.values()) {
      const outcomes = stream.events.filter(({ message }) => message.method?.startsWith("ide/diff"));
      seen.push(...outcomes.map(({ message }) => `${message.method} ${message.params?.["filePath"]}`));
      for (const outcome of outcomes) stream.events.splice(stream.events.indexOf(outcome), 1);
    }
  }

  isListening(): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = connect(this.port, "127.0.0.1");
      const answer = (listening: boolean) => {
        socket.destroy();
        resolve(listening);
      };
      socket.once("connect", () => answer(true)).once("error", () => answer(false));
    });
  }
}

/** Returns the observable state that the model predicts. */
function expected(model: Model, real: Real) {
  const diffs = model.clients.flatMap((client) => client.diffs);
  return {
    state: model.running ? "running" : "stopped",
    files: model.running ? 1 : 0,
    hosts: model.running ? 1 : 0,
    listening: model.running,
    clients: model.clients
      .filter(({ open }) => open)
      .map(({ name }) => real.client(name).session)
      .sort(),
    diffs: diffs.sort(),
    proposals: diffs.length,
    reviewing: diffs.length > 0,
    token: model.running,
    held: model.clients.reduce((sum, { outcomes, arrived }) => sum + outcomes.length - arrived, 0),
    outcomes: Object.fromEntries(
      model.clients.map(({ name, outcomes, arrived }) => [name, outcomes.slice(0, arrived)]),
    ),
  };
}

async function observed(model: Model, real: Real): Promise<ReturnType<typeof expected>> {
  real.collect();
  const { state, clients, diffs } = await real.bridge.status();
  const inside = await real.lua(`
    local proposals = vim.tbl_filter(function(buf) return vim.b[buf].gemini_diff ~= nil end, vim.api.nvim_list_bufs())
    return {
      #proposals, #vim.api.nvim_list_wins(), vim.env.GEMINI_CLI_IDE_AUTH_TOKEN ~= nil,
      #require('gemini-bridge.review.records').decided(),
    }`);
  const [proposals, windows, token, held] = inside as [number, number, boolean, number];
  return {
    state,
    files: real.bridge.files().length,
    hosts: descendants(real.bridge.nvim.pid).length,
    listening: await real.isListening(),
    clients: clients.map(({ id }) => id).sort(),
    diffs: diffs.map(({ filePath }) => filePath).sort(),
    proposals,
    reviewing: windows > 1,
    token,
    held,
    outcomes: Object.fromEntries(model.clients.map(({ name }) => [name, real.client(name).seen])),
  };
}

/** Waits until the observed state equals the predicted state. */
export async function agree(model: Model, real: Real, step: string): Promise<void> {
  const files = real.bridge.files();
  if (files[0]) {
    real.port = files[0].port;
    real.headers = { authorization: `Bearer ${files[0].content.authToken}` };
  }
  let last: unknown;
  await waitFor(
    async () => {
      last = await observed(model, real);
      return isDeepStrictEqual(last, expected(model, real));
    },
    step,
    10_000,
  ).catch(() => assert.deepStrictEqual(last, expected(model, real)));
}
