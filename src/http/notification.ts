/** Encodes notifications for clients as server-sent events. */
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import type { IdeNotifications } from "../contract/companion.ts";

export interface Notification {
  readonly message: JSONRPCMessage;
  /**
   * Returns the JSON and the blank line that ends the event, in pieces. A message without long texts is encoded only
   * once for all sessions.
   */
  readonly data: () => Iterable<Buffer | string>;
}

/**
 * Maximum length of a piece of a message (UTF-16 units). The client can read one piece of a long text while the host
 * encodes the next piece.
 */
const PIECE_LENGTH = 128 * 1024;

export function encode<M extends keyof IdeNotifications>(
  method: M,
  params: IdeNotifications[M],
): Notification {
  const message = { jsonrpc: "2.0" as const, method, params: { ...params } };
  const isLong = Object.values(params).some(
    (value) => typeof value === "string" && value.length > PIECE_LENGTH,
  );
  return isLong ? { message, data: () => pieces(method, params) } : encodeMessage(message);
}

export function encodeMessage(message: JSONRPCMessage): Notification {
  const data = [Buffer.from(`${JSON.stringify(message)}\n\n`)];
  return { message, data: () => data };
}

function* pieces(method: string, params: object): Generator<string> {
  let json = `{"jsonrpc":"2.0","method":"${method}","params":`;
  let before = "{";
  for (const [name, value] of Object.entries(params)) {
    json += `${before}"${name}":`;
    before = ",";
    if (typeof value !== "string") {
      json += JSON.stringify(value);
      continue;
    }
    json += '"';
    for (const slice of slices(value)) {
      yield json + JSON.stringify(slice).slice(1, -1);
      json = "";
    }
    json += '"';
  }
  yield `${json}}}\n\n`;
}

/** Splits a text into pieces. Does not split surrogate pairs, because JSON would escape each half of a pair. */
function* slices(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    const isCut = /[\uD800-\uDBFF]/.test(text.charAt(from + PIECE_LENGTH - 1));
    const to = from + PIECE_LENGTH - (isCut ? 1 : 0);
    yield text.slice(from, to);
    from = to;
  }
}
