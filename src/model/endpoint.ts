/** Serves the MCP server for the model. Keeps the sessions, and loads the server when the first client connects. */
import type { Boot, Memory } from "../contract/neovim.ts";
import { createSessions, type Offer, type Sessions } from "../http/sessions.ts";
import type { EditorServer, EditorServerOptions } from "./server.ts";

/**
 * Minimum lifetime of a session after the last request. Clients without an event stream may send no request for a long
 * time.
 */
const SESSION_GRACE_MS = 1_800_000;

interface EditorEndpoint extends Pick<EditorServer, "handlers" | "close" | "diagnose"> {
  readonly sessions: Sessions;
}

interface EditorEndpointOptions extends Omit<EditorServerOptions, "events"> {
  version: string;
  boot: Pick<Boot, "options" | "answers" | "server">;
  /** Stores the sessions, so that they survive a restart of the host process. */
  remember: (change: Pick<Memory, "editorSessions">) => void;
}

export function createEditorEndpoint(options: EditorEndpointOptions): EditorEndpoint {
  const { version, log, boot, report, remember } = options;
  const grace = Math.max(boot.server.grace, SESSION_GRACE_MS);
  const offer = async () => (await load()).offer;
  const sessions = createSessions({ version, log, ...boot.server, grace, offer });
  let server: EditorServer | undefined;

  /** Loads the server when it is first needed. Its many schemas would delay the start of the host process. */
  async function load(): Promise<{ server: EditorServer; offer: Offer }> {
    const { createEditorServer, EDITOR_OFFER } = await import("./server.ts");
    server ??= createEditorServer({ ...options, events: sessions.events });
    return { server, offer: EDITOR_OFFER };
  }

  const reportClients = () =>
    report({ toolClients: sessions.connected().map(({ info: { name, version } }) => ({ name, version })) });
  sessions.events
    .on("changed", () => remember({ editorSessions: sessions.all() }))
    .on("connected", reportClients)
    .on("disconnected", reportClients)
    .on("ended", reportClients);
  return {
    sessions,
    handlers: { model_changed: (change) => server?.handlers.model_changed(change) },
    diagnose: async (path) => (await load()).server.diagnose(path),
    close: () => server?.close(),
  };
}
