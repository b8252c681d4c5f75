/** Simulates OpenAI's API with a script. */
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

export interface OpenAiModel {
  /** Value for OPENAI_BASE_URL. */
  url: string;
  /** Appends turns of the model to the script. */
  say(...turns: Turn[]): void;
  /** Returns the last conversation that the CLI sent to the model, as JSON. */
  promptText(): string;
}

/** Minimum number of tools in a request for the conversation. Other requests of the CLI contain fewer tools. */
const MAIN = 5;

/**
 * Starts a local server that replaces OpenAI's chat completions API. Each request for the conversation takes the next
 * turn of the script.
 */
export async function startOpenAiModel(t: Scope): Promise<OpenAiModel> {
  const turns: Turn[] = [];
  let last = "";

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { stream, tools, messages } = Body.parse(await json(request));
    const isMain = stream && tools.length > MAIN;
    if (isMain) last = JSON.stringify(messages);
    const turn = isMain ? (turns.shift() ?? [{ text: SCRIPT_ENDED }]) : [{ text: "{}" }];
    const delta = turn.map((part, index) =>
      "text" in part
        ? { content: part.text }
        : {
            tool_calls: [
              {
                index,
                id: `call-${Math.random()}`,
                type: "function",
                function: { name: part.functionCall.name, arguments: JSON.stringify(part.functionCall.args) },
              },
            ],
          },
    );
    const reason = turn.some((part) => "functionCall" in part) ? "tool_calls" : "stop";
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    if (!stream) {
      response.setHeader("content-type", "application/json");
      const message = { role: "assistant", ...Object.assign({}, ...delta) };
      response.end(
        JSON.stringify({ id: "1", choices: [{ index: 0, message, finish_reason: reason }], usage }),
      );
      return;
    }
    response.setHeader("content-type", "text/event-stream");
    const chunk = (choice: object) =>
      response.write(
        `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", created: 1, model: "test", choices: [{ index: 0, finish_reason: null, ...choice }], usage })}\n\n`,
      );
    for (const one of delta) chunk({ delta: { role: "assistant", ...one } });
    chunk({ delta: {}, finish_reason: reason });
    response.end("data: [DONE]\n\n");
  }

  const port = await serve(t, answer);
  return {
    url: `http://127.0.0.1:${port}/v1`,
    say: (...more) => void turns.push(...more),
    promptText: () => last,
  };
}
