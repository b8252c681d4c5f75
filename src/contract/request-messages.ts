/**
 * Defines the messages of a request, which are the same in both directions (part of CONTRACT 1). Each request is answered
 * once, perhaps later. The sender sets a timeout. The two ends are src/neovim/bridge.ts and
 * lua/gemini-bridge/bridge/request.lua.
 */
import * as z from "zod";

/** A request. Its sender has chosen the id. */
export const Request = z.object({ id: z.int().positive(), name: z.string(), params: z.unknown() });

/** The answer to the request with the same id: an unchecked result, or the reason why the request has failed. */
export const Answer = z.object({
  id: z.int().positive(),
  result: z.unknown().optional(),
  error: z.string().optional(),
});
