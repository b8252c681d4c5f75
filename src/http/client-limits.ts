/** Limits names and ids from clients, because the host stores them for each session and passes them to Lua. */
import type { SessionInfo } from "./client.ts";

/** Maximum JSON body of a request without a session id (UTF-16 units). */
export const MAX_FIRST_MESSAGE_LENGTH = 64 * 1024;

/** Maximum length of a client's name and version (UTF-16 units). */
const MAX_NAME_LENGTH = 60;

/** Maximum length of a message id (UTF-16 units). The host stores the id until the message is answered. */
const MAX_ID_LENGTH = 256;

export interface Introduction {
  protocolVersion: string;
  clientInfo: { name: string; version: string };
}

/** Returns the data to keep from a client's `initialize` request. */
export function sessionInfo(
  id: string,
  credential: string,
  { protocolVersion, clientInfo }: Introduction,
): SessionInfo {
  return {
    id,
    credential,
    connectedAt: Date.now(),
    name: shortLine(clientInfo.name),
    version: shortLine(clientInfo.version),
    protocolVersion: shortLine(protocolVersion),
  };
}

/** Whether a message has an id that is too long. For a batch, checks each message. */
export function hasLongId(body: unknown): boolean {
  const messages: unknown[] = Array.isArray(body) ? body : [body];
  return messages.some((message) => {
    if (typeof message !== "object" || message === null || !("id" in message)) return false;
    return typeof message.id === "string" && message.id.length > MAX_ID_LENGTH;
  });
}

/** Makes a client's text safe to show to the user: one short line of printable characters. */
function shortLine(text: string): string {
  return text.slice(0, MAX_NAME_LENGTH).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, " ");
}
