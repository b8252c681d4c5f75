/** The server for the model at work: its sessions, and what it answers in them. */

import type { Boot, Memory, Status } from "../contract/neovim.ts";
import { createSessions, type Offer, type Sessions } from "../http/sessions.ts";
import type { EditorServer, EditorServerOptions } from "./server.ts";

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
  const grace = Math.max(boot.server.grace, GRACE);
  const sessions = createSessions({ version, log, ...boot.server, grace, offer });
  let server: EditorServer | undefined;

  /** The server is loaded with its first client: its tools have as many schemas as all the rest of a start. */
  async function offer(): Promise<Offer> {
    const { createEditorServer, EDITOR_OFFER } = await import("./server.ts");
    if (!server) {
      server = createEditorServer({ ...options, called });
      server.follow(sessions.events);
    }
    return EDITOR_OFFER;
  }

  const reportClients = () =>
    report({ asking: sessions.connected().map(({ info: { name, version } }) => ({ name, version })) });
  sessions.events
    .on("changed", () => remember({ editorSessions: sessions.all() }))
    .on("connected", reportClients)
    .on("disconnected", reportClients)
    .on("ended", reportClients);
  return {
    sessions,
    handlers: {
      answered: (answer) => server?.handlers.answered(answer),
      model_changed: (change) => server?.handlers.model_changed(change),
    },
    close: () => server?.close(),
  };
}
