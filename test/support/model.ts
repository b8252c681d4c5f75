import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { z } from "zod";
import type { Scope } from "./scope.ts";

/** What the model says in one turn: text, and calls of the CLI's tools. */
export type Turn = Array<
  { text: string } | { functionCall: { name: string; args: Record<string, unknown> } }
>;

/** The part of a Gemini API request that tests look at; `countTokens` and the like may have none of it. */
const Body = z.looseObject({
  contents: z
    .array(z.looseObject({ parts: z.array(z.looseObject({ text: z.string().optional() })) }))
    .default([]),
});

export interface ModelRequest {
  /** The verb after the colon: `streamGenerateContent`, `generateContent`, `countTokens`, … */
  action: string;
  body: z.infer<typeof Body>;
}

export interface Model {
  /** The value for GOOGLE_GEMINI_BASE_URL. */
  url: string;
  /** Every request, oldest first. */
  requests: ModelRequest[];
  /** Appends turns to the script. */
  say(...turns: Turn[]): void;
  /** The conversation that the model was asked to continue last: texts as they are, other parts as JSON. */
  promptText(): string;
  /** The editor's contexts in that conversation, as the CLI words them: one `activeFile`, then `changes`. */
  editorContexts(): unknown[];
}

/** What the model says when it is asked more often than the script foresaw. */
export const SCRIPT_ENDED = "The script has ended.";

/**
 * A local server that plays the Gemini API. Each streamed request (one step of a conversation) takes the next turn of
 * `script`; what the CLI asks on the side (routing, summaries, token counts) is answered without touching it.
 */
export async function startModel(t: Scope, script: Turn[] = []): Promise<Model> {
  const turns = [...script];
  const requests: ModelRequest[] = [];

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const action = /:(\w+)/.exec(request.url ?? "")?.[1] ?? "";
    requests.push({ action, body: Body.parse(await json(request)) });
    if (action === "streamGenerateContent") {
      response.setHeader("content-type", "text/event-stream");
      response.end(`data: ${JSON.stringify(reply(turns.shift() ?? [{ text: SCRIPT_ENDED }]))}\n\n`);
      return;
    }
    response.setHeader("content-type", "application/json");
    const body = action === "countTokens" ? { totalTokens: 1 } : reply([{ text: "{}" }]);
    response.end(JSON.stringify(body));
  }

  function promptText(): string {
    const last = requests.findLast(({ action }) => action === "streamGenerateContent");
    const parts = last?.body.contents.flatMap((content) => content.parts) ?? [];
    return parts.map((part) => part.text ?? JSON.stringify(part)).join("\n");
  }

  const port = await serve(t, answer);
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    say: (...more) => void turns.push(...more),
    promptText,
    editorContexts: () =>
      [...promptText().matchAll(/^```json\n(.*?)\n```$/gms)].map(([, block = ""]) => JSON.parse(block)),
  };
}

/** Serves on loopback what a model answers, until the end of the test. @returns the port */
export async function serve(
  t: Scope,
  answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
): Promise<number> {
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.writeHead(400).end(String(error)));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.teardown(async () => {
    const closed = once(server.close(), "close");
    server.closeAllConnections();
    await closed;
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error(`not a TCP address: ${address}`);
  return address.port;
}

function reply(parts: Turn): object {
  return {
    candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  };
}
