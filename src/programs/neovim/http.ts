/**
 * Sends requests to the editor's endpoint. Uses `node:http`, because loading `fetch` would take longer than a request.
 */
import { Agent, type IncomingMessage, request } from "node:http";
import type { Message } from "./without-editor.ts";

export interface Address {
  readonly port: number;
  readonly token: string;
}

const agent = new Agent({ keepAlive: true });

/**
 * Sends a request and waits for the head of the response.
 * @param headers additional headers
 * @throws if the editor does not answer
 */
export function exchange(
  { port, token }: Address,
  headers: Record<string, string>,
  message?: Message,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = request({
      agent,
      host: "127.0.0.1",
      port,
      path: "/neovim",
      method: message ? "POST" : "GET",
      headers: {
        authorization: `Bearer ${token}`,
        accept: message ? "application/json, text/event-stream" : "text/event-stream",
        ...(message && { "content-type": "application/json" }),
        ...headers,
      },
    });
    sent.once("response", resolve).once("error", reject);
    sent.end(message && JSON.stringify(message));
  });
}

/** Parses the messages in a response. The response is JSON or an event stream. */
export async function* messagesOf(response: IncomingMessage): AsyncGenerator<Message> {
  response.setEncoding("utf8");
  let text = "";
  const isStream = response.headers["content-type"]?.startsWith("text/event-stream") === true;
  for await (const piece of response) {
    text += piece;
    for (let end = text.indexOf("\n\n"); isStream && end >= 0; end = text.indexOf("\n\n")) {
      const data = /^data:(.*)$/m.exec(text.slice(0, end))?.[1]?.trim();
      text = text.slice(end + 2);
      // Skips events without data: the first event of a stream contains only an id.
      if (data) yield JSON.parse(data);
    }
  }
  if (!isStream && text !== "") yield JSON.parse(text);
}
