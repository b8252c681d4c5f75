/** Simulates the Gemini API with a script. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { z } from "zod";
import { listenOn } from "./listen.ts";
import type { Scope } from "./scope.ts";

/** Output of the model in one turn: text, and calls of the CLI's tools. */
export type Turn = Array<
  { text: string } | { functionCall: { name: string; args: Record<string, unknown> } }
>;

/** Returns a call of a tool of the CLI. */
export const call = (name: string, args: Record<string, unknown>) => ({ functionCall: { name, args } });

/** Returns turns in which the model writes a file, then says a sentence. */
export const writesFile = (path: string, content: string, sentence: string): Turn[] => [
  [call("write_file", { file_path: path, content })],
  [{ text: sentence }],
];

/** The parts of a Gemini API request that tests inspect. Requests such as `countTokens` may lack these fields. */
const Body = z.looseObject({
  contents: z
    .array(z.looseObject({ parts: z.array(z.looseObject({ text: z.string().optional() })) }))
    .default([]),
});

export interface ModelRequest {
  /** Part of the URL after the colon: `streamGenerateContent`, `generateContent`, `countTokens`, … */
  action: string;
  body: z.infer<typeof Body>;
}

export interface Model {
  /** Value for GOOGLE_GEMINI_BASE_URL. */
  url: string;
  /** All requests, oldest first. */
  requests: ModelRequest[];
  /** Appends turns of the model to the script. */
  say(...turns: Turn[]): void;
  /** Returns the last conversation that the CLI sent to the model. Texts are unchanged, other parts are JSON. */
  promptText(): string;
  /**
   * Returns the editor's contexts in that conversation, as the CLI writes them: first one `activeFile`, then `changes`.
   */
  editorContexts(): unknown[];
}

/** Output of the model after the end of the script. */
export const SCRIPT_ENDED = "The script has ended.";

/**
 * Starts a local server that replaces the Gemini API. Each streamed request is a step of the conversation and takes the
 * next turn of `script`. Other requests of the CLI (routing, summaries, token counts) get a fixed answer.
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

/**
 * Starts an HTTP server on loopback that runs until the end of the test.
 * @returns the port
 */
export async function serve(
  t: Scope,
  answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
): Promise<number> {
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.writeHead(400).end(String(error)));
  });
  return listenOn(t, server);
}

function reply(parts: Turn): object {
  return {
    candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  };
}
