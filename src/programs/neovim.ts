/**
 * Runs the MCP server `neovim` on standard input and output, for any MCP client: `node dist/neovim.cjs`. Forwards
 * requests to the Neovim that a CLI in this directory would find. Without such a Neovim, this program itself answers.
 * Starts fast, because each client starts its own process: until a request needs an editor, only Node's own modules are
 * loaded.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { attempt } from "../base/attempt.ts";
import { createUpstream } from "./neovim/editor-connection.ts";
import { answerAlone, type Message, type Offer, property, type Request } from "./neovim/without-editor.ts";

/**
 * Time to wait for pending answers after the end of the input (ms). A slow machine needs more than a second to connect.
 * Not much longer, because a client that has ended no longer needs the answers, and its calls must be cancelled in the
 * editor.
 */
const LAST_ANSWERS_TIMEOUT_MS = 5_000;

function readOffer(): Offer {
  return JSON.parse(readFileSync(join(__dirname, "neovim.json"), "utf8"));
}

function send(message: Message): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

let offer: Offer | undefined;
/**
 * Ids of the requests that still need an answer. A cancelled request must not be answered, because clients would report
 * an error.
 */
const awaited = new Set<unknown>();
let hasInputEnded = false;
const upstream = createUpstream(send);

async function answer(request: Request): Promise<void> {
  const { method } = request;
  offer ??= readOffer();
  if (method === "initialize") {
    upstream.introduce(request);
    return send(answerAlone(request, offer));
  }
  if (method === "ping") return send({ jsonrpc: "2.0", id: request.id, result: {} });
  awaited.add(request.id);
  const isAwaited = () => awaited.has(request.id);
  const message = (await upstream.ask(request, isAwaited)) ?? answerAlone(request, offer);
  if (awaited.delete(request.id)) send(message);
  if (hasInputEnded && awaited.size === 0) process.exit(0);
}

function receive(line: string): void {
  const message = parse(line);
  const { id, method } = message ?? {};
  if (message === undefined)
    send({ jsonrpc: "2.0", id: null, error: { code: -32700, message: "Parse error" } });
  else if (typeof method === "string" && (typeof id === "string" || typeof id === "number"))
    void answer({ ...message, id, method });
  else {
    if (method === "notifications/cancelled") awaited.delete(property(message.params, "requestId"));
    void upstream.tell(message);
  }
}

function parse(line: string): Message | undefined {
  const value: unknown = attempt(() => JSON.parse(line));
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
}

createInterface({ input: process.stdin })
  .on("line", (line) => {
    if (line.trim() !== "") receive(line);
  })
  .on("close", () => {
    hasInputEnded = true;
    setTimeout(() => process.exit(0), awaited.size > 0 ? LAST_ANSWERS_TIMEOUT_MS : 0);
  });
process.stdout.on("error", () => process.exit(0));
