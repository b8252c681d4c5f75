/** How much of what a client names is kept or passed on: each of it would be held for every session, and told to Lua. */
import type { SessionInfo } from "./session.ts";

/** The longest body that is read of a client without a session: nobody begins one with more (UTF-16 units). */
export const MAX_FIRST_MESSAGE = 64 * 1024;

/** More of a client's name than a line of a message holds (UTF-16 units). */
const MAX_NAME = 100;

/** The longest id of a message; it comes back with the answer, which is kept for a while (UTF-16 units). */
const MAX_ID = 256;

/** Paths that are longer name no file on any system (UTF-16 units, of which a path has no more than bytes). */
export const MAX_PATH = 4096;

export interface Introduction {
  protocolVersion: string;
  clientInfo: { name: string; version: string };
}

/** What is kept of a client's first message. */
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

/** Whether a message, or one of a batch, has an id that is too long. */
export function hasLongId(body: unknown): boolean {
  const messages: unknown[] = Array.isArray(body) ? body : [body];
  return messages.some((message) => {
    if (typeof message !== "object" || message === null || !("id" in message)) return false;
    return typeof message.id === "string" && message.id.length > MAX_ID;
  });
}

/** What a client calls itself may be shown to the user: one short line. */
function shortLine(text: string): string {
  return text.slice(0, MAX_NAME).replace(/\p{C}/gu, " ");
}
