/** Defines the data that a host stores in Lua for its successor (part of CONTRACT 1). */
import * as z from "zod";
import { list } from "./list.ts";

export const DiffId = z.number().int().positive();

/** The data with which a later host can continue a session. */
const Session = z.object({
  id: z.string(),
  /** Name of the token that opened the session. */
  credential: z.string(),
  /** Time of the connection (Unix milliseconds). */
  connectedAt: z.number(),
  /** Name of the client, as the client itself reports it. */
  name: z.string(),
  version: z.string(),
  protocolVersion: z.string(),
});
export type SessionInfo = Readonly<z.infer<typeof Session>>;

/** An agent whose hook has reached the bridge. */
const HeardAgent = z.object({
  /** Name of the profile. */
  cli: z.string(),
  /** Session id of the CLI itself. */
  session: z.string(),
  cwd: z.string(),
  /** Process id of the CLI, if it is visible. */
  pid: z.number().int().optional(),
});
export type HeardAgent = z.infer<typeof HeardAgent>;

export const Memory = z.object({
  /**
   * Sessions whose clients may reconnect with the same session id. `interrupted`: whether the CLI has noticed the end of
   * a host, and therefore shows "Disconnected".
   */
  sessions: list(Session.extend({ interrupted: z.boolean() })),
  /** Sessions of the MCP server `neovim`. */
  editorSessions: list(Session),
  agents: list(HeardAgent),
  /** Reviews whose outcome the CLI has not received yet. */
  diffs: list(
    z.object({
      id: DiffId,
      /** Session of the client that called `openDiff`. */
      sessionId: z.string(),
      /** Path of the file, spelled as in the call of `openDiff`. */
      filePath: z.string(),
      /** Name of the CLI in messages for the user. */
      label: z.string(),
      /**
       * Hashes for detecting later changes of the file. `disk`: hash of the file's bytes when the review opened.
       * `proposed`: hash of the proposal. `edited`: whether the file's buffer contains edits that the user made after
       * the review opened.
       */
      baseline: z.object({ disk: z.string(), proposed: z.string(), edited: z.boolean() }).optional(),
    }),
  ),
});
export type Memory = z.infer<typeof Memory>;
