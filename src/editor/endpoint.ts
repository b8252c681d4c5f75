/** The server for the model at work: its sessions, and what it answers in them. */
import { createSessions, type Sessions } from "../http/sessions.ts";
import type { Boot, Memory, Status } from "../nvim/protocol.ts";
import { EDITOR_OFFER } from "./register.ts";
import { createEditorServer, type EditorServer, type EditorServerOptions } from "./server.ts";

/** A client that opens no event stream is not gone when its model thinks for a while (milliseconds). */
const GRACE = 1_800_000;

export interface EditorEndpoint extends Pick<EditorServer, "handlers" | "close"> {
  readonly sessions: Sessions;
}

export interface EditorEndpointOptions extends Omit<EditorServerOptions, "called"> {
  version: string;
  boot: Pick<Boot, "tools" | "prompts" | "server">;
  report: (change: Pick<Status, "calls" | "asking">) => void;
  /** Keeps the sessions for a host that follows this one. */
  remember: (change: Pick<Memory, "editorSessions">) => void;
}

export function createEditorEndpoint(options: EditorEndpointOptions): EditorEndpoint {
  const { version, log, boot, report, remember } = options;
  const called = (calls: number) => report({ calls });
  const { handlers, close, follow } = createEditorServer({ ...options, called });
  const grace = Math.max(boot.server.grace, GRACE);
  const sessions = createSessions({ version, log, ...boot.server, grace, offer: EDITOR_OFFER });
  follow(sessions.events);
  const reportClients = () =>
    report({ asking: sessions.connected().map(({ info: { name, version } }) => ({ name, version })) });
  sessions.events
    .on("changed", () => remember({ editorSessions: sessions.all() }))
    .on("connected", reportClients)
    .on("disconnected", reportClients)
    .on("ended", reportClients);
  return { sessions, handlers, close };
}
