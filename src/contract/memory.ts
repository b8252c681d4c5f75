/** What a host tells Lua for the next one: a part of CONTRACT 1. */
import * as z from "zod";
import { list } from "./list.ts";

export const DiffId = z.number().int().positive();

/** Times are Unix milliseconds. */
const Session = z.object({
  id: z.string(),
  credential: z.string(),
  connectedAt: z.number(),
  name: z.string(),
  version: z.string(),
  protocolVersion: z.string(),
});

/** An agent that has sent a hook: the name of its profile, and its process. */
const HeardAgent = z.object({ cli: z.string(), pid: z.number().int().optional() });
export type HeardAgent = z.infer<typeof HeardAgent>;

export const Memory = z.object({
  /** Sessions whose clients may come back with the id they know. */
  sessions: list(Session),
  /** Those of the server for the model. */
  editorSessions: list(Session),
  agents: list(HeardAgent),
  /** When the host stopped as it was told (Unix milliseconds); absent after a crash. */
  stoppedAt: z.number().optional(),
  /** Diffs whose client does not know the outcome yet. */
  diffs: list(
    z.object({
      id: DiffId,
      sessionId: z.string(),
      filePath: z.string(),
      label: z.string(),
      /** By what a change of the file is known: hashes of the disk's bytes when the review opened, and of the proposal. */
      baseline: z.object({ disk: z.string(), proposed: z.string(), edited: z.boolean() }).optional(),
    }),
  ),
});
export type Memory = z.infer<typeof Memory>;
