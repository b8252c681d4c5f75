/** Reads a session's event stream. */
import { request as httpRequest, type IncomingMessage } from "node:http";
import { z } from "zod";
import { headers } from "./server.ts";
import { waitFor } from "./wait.ts";

const Message = z.looseObject({ method: z.string().optional(), params: z.looseObject({}).optional() });

export interface EventStream {
  response: IncomingMessage;
  /** Received events, oldest first. */
  events: { id: string | undefined; message: z.infer<typeof Message> }[];
  /** Returns the id of the last event. Tests may have removed that event from the list. */
  lastId: () => string | undefined;
  /** Returns all received bytes, including comments. */
  raw: () => string;
  ended: () => boolean;
  /** Waits for an event with the given method. @param timeout milliseconds. Default: 5 s */
  next(
    method: string,
    predicate?: (params: Record<string, unknown>) => boolean,
    timeout?: number,
  ): Promise<Record<string, unknown>>;
  /** Breaks the connection. */
  break(): void;
}

/** Opens the event stream of a session. With a body, opens the stream that answers a request. */
export function openStream(
  port: number,
  session: string,
  extra: Record<string, string> = {},
  body?: string,
): Promise<EventStream> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      port,
      host: "127.0.0.1",
      path: "/mcp",
      agent: false,
      method: body === undefined ? "GET" : "POST",
      headers: {
        ...headers(port, session),
        ...(body === undefined ? { accept: "text/event-stream" } : {}),
        ...extra,
      },
    });
    request.on("error", reject);
    request.end(body);
    request.on("response", (response) => {
      if (response.statusCode !== 200) {
        reject(new Error(`status ${response.statusCode}`));
        return;
      }
      let raw = "";
      let rest: string[] = [];
      let lastId: string | undefined;
      let ended = false;
      const events: EventStream["events"] = [];
      response.setEncoding("utf8");
      response.on("data", (data: string) => {
        raw += data;
        // An event of several megabytes arrives in many pieces, so only the last piece is searched for the end.
        const isComplete = ((rest.at(-1) ?? "").slice(-1) + data).includes("\n\n");
        rest.push(data);
        if (!isComplete) return;
        const blocks = rest.join("").split("\n\n");
        rest = [blocks.pop() ?? ""];
        for (const block of blocks) {
          const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1];
          const json = field("data");
          if (!json) continue;
          lastId = field("id") ?? lastId;
          events.push({ id: field("id"), message: Message.parse(JSON.parse(json)) });
        }
      });
      const end = () => {
        ended = true;
      };
      response.on("close", end);
      response.on("error", end);
      resolve({
        response,
        events,
        lastId: () => lastId,
        raw: () => raw,
        ended: () => ended,
        next: (method, predicate = () => true, timeout = undefined) =>
          waitFor(
            () =>
              events.find(({ message }) => message.method === method && predicate(message.params ?? {}))
                ?.message.params,
            method,
            timeout,
          ),
        break: () => response.destroy(),
      });
    });
  });
}
