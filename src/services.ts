/** Creates the features and connects them. Loaded after CLIs can find the bridge. */
import { join } from "node:path";
import type { Log } from "./base/log.ts";
import { createTracking } from "./changes/tracking.ts";
import { createContextPublisher } from "./context/publisher.ts";
import type { AgentEvent } from "./contract/hooks.ts";
import type { Boot, Memory, Status } from "./contract/neovim.ts";
import { cleanUpDiscovery } from "./discovery/cleanup.ts";
import type { Route } from "./http/guard.ts";
import { createSessions, prepare } from "./http/sessions.ts";
import { createEditorEndpoint } from "./model/endpoint.ts";
import type { Bridge, EventHandlers } from "./neovim/bridge.ts";
import type { Profile } from "./profiles/profiles.ts";
import { createPrompts } from "./prompt/prompts.ts";
import { createReviews } from "./review/reviews.ts";
import { registerTools } from "./review/tools.ts";
import { createSurroundings } from "./surroundings.ts";
import { createDrafts } from "./system/drafts.ts";
import { createIdleMemory } from "./system/idle-memory.ts";
import { createUserFiles } from "./system/user-files.ts";
import { createClients } from "./turns/clients.ts";
import { asksBefore, isGated } from "./turns/gate.ts";
import { createHooksRoute } from "./turns/hook-route.ts";

export interface Services {
  readonly routes: readonly Route[];
  readonly handlers: Partial<EventHandlers>;
  /** Restores the sessions of an earlier host. Must be called before clients are served. */
  restore(): Promise<void>;
  /** Resumes the reviews of an earlier host, prepares for the first client, and removes files of dead editors. */
  resume(): void;
  /** May run twice. */
  close(): Promise<void>;
}

export interface ServicesOptions {
  version: string;
  bridge: Bridge;
  log: Log;
  boot: Boot;
  profiles: readonly Profile[];
  /** Port of the endpoint. */
  port: number;
  /** Memory of an earlier host. */
  memory: Memory;
  /** Whether the earlier host stopped so recently that its clients have not noticed. */
  isSeamless: boolean;
  report: (change: Partial<Status>) => void;
  remember: (change: Partial<Memory>) => void;
}

export function createServices(options: ServicesOptions): Services {
  const { version, bridge, log, boot, profiles, port, memory, isSeamless, report, remember } = options;
  const sessions = createSessions({ version, log, ...boot.server });
  const clients = createClients({
    bridge,
    sessions,
    profiles,
    interrupted: memory.interrupted,
    isSeamless,
    heard: memory.agents,
    remember: (agents) => remember({ agents }),
    reconnect: boot.reconnect,
    report,
    lost: (cli) => prompts.connect(cli),
  });
  const { terminals, agents, activity } = clients;
  const rest = createIdleMemory();
  const used = () => rest.changed(sessions.connected().length > 0);
  const drafts = createDrafts(join(boot.stateDirectory, "drafts"));
  const userFiles = createUserFiles(drafts);
  const { changes, history } = createTracking({
    bridge,
    terminalOf: clients.terminalOf,
    userFiles,
    boot,
    log,
  });
  const reviews = createReviews({
    bridge,
    log,
    sessions,
    clients,
    lastId: boot.lastDiffId,
    earlier: memory.diffs,
    decided: activity.decided,
    remember: (diffs) => remember({ diffs }),
    agreed: changes.agreed,
    history,
    userFiles,
  });
  const prompts = createPrompts({
    bridge,
    log,
    clis: boot.clis,
    packageOf: (cli) => profiles.find(({ name }) => name === cli)?.package,
    isReviewing: reviews.isPending,
    connected: clients.connected,
  });
  const context = createContextPublisher({ bridge, log, sessions, shared: (shared) => report({ shared }) });
  sessions.events
    .on("created", (server, session) => registerTools(server, reviews.tools(session), log))
    .on("changed", () => remember({ sessions: sessions.all() }))
    .on("connected", clients.report)
    .on("connected", context.connected)
    .on("connected", terminals.find)
    .on("connected", agents.connected)
    .on("connected", used)
    .on("disconnected", context.disconnected)
    .on("disconnected", clients.report)
    .on("ended", reviews.abandon)
    .on("ended", context.disconnected)
    .on("ended", terminals.forget)
    .on("ended", activity.gone)
    .on("ended", clients.report)
    .on("ended", used);

  let gate = boot.gate;
  const { propose } = reviews;
  const following = {
    listener: changes.listener,
    isGated: (cli: string) => isGated(cli, gate),
    propose,
    userFiles,
  };
  const editor = createEditorEndpoint({ bridge, log, version, boot, following, report, remember });
  /** Not awaited, so that the agent does not wait for the search for its connection. */
  const hear = ({ agent }: AgentEvent): void =>
    void agents.heard(agent).catch((error: unknown) => log.warn("an agent's client was not found:", error));
  const hooks = createHooksRoute({
    listeners: [hear, activity.listener, changes.listener],
    asks: (event) => asksBefore(event, gate, async () => (await agents.find(event.agent)) !== undefined),
    log,
  });

  return {
    routes: [sessions.route("/mcp"), editor.sessions.route("/neovim"), hooks],
    handlers: {
      ...reviews.handlers,
      ...changes.handlers,
      ...prompts.handlers,
      ...editor.handlers,
      ...createSurroundings({
        unconnected: prompts.connect,
        report,
        profiles,
        port,
        connect: boot.connect,
      }),
      async terminals(event) {
        prompts.terminals(event);
        await terminals.handlers.terminals(event);
      },
      context: context.snapshot,
      terminal_ready: ({ terminal }) => activity.ready(terminal),
      gate: (setting) => {
        gate = setting;
      },
    },
    async restore() {
      await sessions.restore(memory.sessions);
      await editor.sessions.restore(memory.editorSessions);
    },
    resume() {
      reviews.resume();
      void prepare();
      void drafts.removeLeft();
      for (const profile of profiles) void cleanUpDiscovery(profile);
    },
    close() {
      editor.close();
      prompts.close();
      reviews.close();
      rest.close();
      return changes.close();
    },
  };
}
