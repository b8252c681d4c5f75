import type { IncomingMessage, ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { z } from "zod";
import { SCRIPT_ENDED, serve, type Turn } from "./model.ts";
import type { Scope } from "./scope.ts";

const Body = z.looseObject({
  stream: z.boolean().default(false),
  tools: z.array(z.unknown()).default([]),
  messages: z.array(z.unknown()).default([]),
});

export interface AnthropicModel {
  /** Value for ANTHROPIC_BASE_URL. */
  url: string;
  /** Appends turns of the model to the script. */
  say(...turns: Turn[]): void;
  /** Returns the last conversation that the CLI sent to the model, as JSON. */
  promptText(): string;
}

/** Minimum number of tools in a request for the conversation. Other requests of the CLI contain fewer tools. */
const MAIN = 5;

/**
 * Starts a local server that replaces Anthropic's API. Each request for the conversation takes the next turn of the
 * script.
 */
export async function startAnthropicModel(t: Scope): Promise<AnthropicModel> {
  const turns: Turn[] = [];
  let last = "";

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!request.url?.startsWith("/v1/messages?") && request.url !== "/v1/messages") {
      response.writeHead(404).end();
      return;
    }
    const { stream, tools, messages } = Body.parse(await json(request));
    const isMain = stream && tools.length > MAIN;
    if (isMain) last = JSON.stringify(messages);
    const turn = isMain ? (turns.shift() ?? [{ text: SCRIPT_ENDED }]) : [{ text: "{}" }];
    const content = turn.map((part) =>
      "text" in part
        ? { type: "text", text: part.text }
        : {
            type: "tool_use",
            id: `toolu_${Math.random().toString(36).slice(2)}`,
            name: part.functionCall.name,
            input: part.functionCall.args,
          },
    );
    const stop_reason = content.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn";
    const usage = { input_tokens: 1, output_tokens: 1 };
    const message = {
      id: `msg_${Date.now()}`,
      type: "message",
      role: "assistant",
      model: "test",
      stop_sequence: null,
    };
    if (!stream) {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ ...message, content, stop_reason, usage }));
      return;
    }
    response.setHeader("content-type", "text/event-stream");
    const send = (type: string, data: object) =>
      response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
    send("message_start", { message: { ...message, content: [], stop_reason: null, usage } });
    for (const [index, block] of content.entries()) {
      const isText = block.type === "text";
      send("content_block_start", {
        index,
        content_block: isText ? { type: "text", text: "" } : { ...block, input: {} },
      });
      const delta =
        "text" in block
          ? { type: "text_delta", text: block.text }
          : { type: "input_json_delta", partial_json: JSON.stringify("input" in block ? block.input : {}) };
      send("content_block_delta", { index, delta });
      send("content_block_stop", { index });
    }
    send("message_delta", { delta: { stop_reason, stop_sequence: null }, usage });
    send("message_stop", {});
    response.end();
  }

  const port = await serve(t, answer);
  return {
    url: `http://127.0.0.1:${port}`,
    say: (...more) => void turns.push(...more),
    promptText: () => last,
  };
}
