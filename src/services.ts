/** Creates the features and connects them. Loaded only when CLIs can already find the bridge. */
import { EventEmitter } from "node:events";
import { basename, join } from "node:path";
import type { Log } from "./base/log.ts";
import type { ClientReviews } from "./base/reviews.ts";
import { createChanges } from "./changes/changes.ts";
import { createSocketEndpoint } from "./claude/endpoint.ts";
import { createCliAndEditorSearch } from "./clis-and-editors.ts";
import { createContextPublisher } from "./context/publisher.ts";
import type { Agent, AgentEvent } from "./contract/hooks.ts";
import type { Boot, Memory, Status } from "./contract/neovim.ts";
import { cleanUpDiscovery } from "./discovery/remove-leftovers-at-start.ts";
import type { Client, ClientEvents, ClientList } from "./http/client.ts";
import type { Address, Route } from "./http/guard.ts";
import type { SocketRoute } from "./http/listen-on-port.ts";
import { createSessions, prepare } from "./http/sessions.ts";
import { createEditorEndpoint } from "./model/endpoint.ts";
import type { Bridge, EventHandlers } from "./neovim/bridge.ts";
import { type Profile, profileOfClient } from "./profiles/profiles.ts";
import { createPrompts } from "./prompt/prompts.ts";
import { registerTools } from "./review/diff-tools.ts";
import { createReviews } from "./review/open-to-outcome.ts";
import { createStore } from "./store/store.ts";
import { platform } from "./system/platform.ts";
import { createTemporaryFiles } from "./system/temporary-files.ts";
import { createUserFiles } from "./system/user-files.ts";
import { createClientStatus } from "./turns/client-status.ts";
import { asksBefore, isGated } from "./turns/gate.ts";
import { createHooksRoute } from "./turns/hook-route.ts";

export interface Services {
  readonly routes: readonly Route[];
  readonly sockets: SocketRoute;
  readonly handlers: Partial<EventHandlers>;
  /** Restores the sessions of an earlier host. Must be called before clients are served. */
  restore(): Promise<void>;
  /** Resumes the reviews of an earlier host, loads the MCP SDK, and removes the files of dead editors. */
  resume(): void;
  /** Must be called when directories are opened in Neovim. */
  opened(directories: readonly string[]): void;
  /** Stores the changes and the history synchronously, because the process is about to end. */
  storeNow(): void;
  /**
   * Leaves the open reviews to Neovim. Must be called before the sessions end. Idempotent.
   * @param rejects whether to reject the open reviews of CLIs that would hang without the editor
   */
  endReviews(rejects: boolean): void;
  /** Closes all features. Idempotent. */
  close(): Promise<void>;
}

interface ServicesOptions {
  version: string;
  bridge: Bridge;
  log: Log;
  boot: Boot;
  profiles: readonly Profile[];
  /** Port of the HTTP endpoint. */
  port: number;
  /** Tokens for WebSockets, by profile. */
  socketTokens: Address["tokens"];
  /** Data that an earlier host has stored. */
  memory: Memory;
  /** Whether the earlier host stopped so recently that its clients have not noticed the stop. */
  isSeamless: boolean;
  report: (change: Partial<Status>) => void;
  remember: (change: Partial<Memory>) => void;
}

export function createServices(options: ServicesOptions): Services {
  const { version, bridge, log, boot, profiles, port, socketTokens, memory, isSeamless, report, remember } =
    options;
  const sessions = createSessions({ version, log, ...boot.server });
  const profileOf = (cli: string) => profiles.find(({ name }) => name === cli);
  /** Events of all clients, whatever their protocol. */
  const events = new EventEmitter<ClientEvents>();
  const sockets = createSocketEndpoint({
    version,
    log,
    events,
    address: { port, tokens: socketTokens },
    maxSessions: boot.server.maxSessions,
    maxMessage: boot.server.bodyLimit,
    identify(credential, client) {
      const profile = profileOfClient(profiles, credential, client);
      return { cli: profile?.name ?? credential, mentions: profile?.socket?.mentions ?? false };
    },
    reviewsOf: (client) => ({
      reviews: reviewsOf(client),
      answered: () => activity.answered(client.id),
      /** Tells the user how the CLI treats an accepted text that is equal to the file. */
      unchanged(filePath) {
        activity.decided(client.id, filePath, false);
        const cli = clientStatus.labelOf(client.info.credential);
        const text = `You accepted a text for ${basename(filePath)} that equals the file: ${cli} treats this as a rejection.`;
        bridge.tell("message", { level: "info", text });
      },
      /** Tells the user why Neovim cannot open a review. */
      refused(filePath, reason) {
        const cli = clientStatus.labelOf(client.info.credential);
        const text = `Neovim cannot show the edit of ${basename(filePath)} by ${cli} (${reason}). Answer in the terminal of the CLI.`;
        bridge.tell("message", { level: "warn", text });
      },
    }),
    diagnose: (path) => editor.diagnose(path),
  });
  const clients: ClientList = {
    connected: () => [...sessions.connected(), ...sockets.connected()],
    get: (id) => sessions.get(id) ?? sockets.get(id),
  };
  const clientStatus = createClientStatus({
    bridge,
    clients,
    profiles,
    interrupted: memory.interrupted,
    isSeamless,
    heard: memory.agents,
    remember: (agents) => remember({ agents }),
    isReviewing: (id) => reviews.isPending(id),
    report,
    lost: (cli) => prompts.connect(cli),
    isGated: (cli) => isGated(cli, gate),
    directories: boot.workspace.directories,
    // Reports the end of the turn: a CLI that the user has stopped sends no hook for the end of its tool or its turn.
    stopped: (agent) => void changes.listener({ kind: "turn_ended", agent, at: Date.now() }),
  });
  const { terminals, agents, activity, hooksOff } = clientStatus;
  const temporaryFiles = createTemporaryFiles(join(boot.stateDirectory, "drafts"));
  const userFiles = createUserFiles(temporaryFiles);
  const store = createStore({ directory: boot.stateDirectory, instance: boot.instance, log });
  const changes = createChanges({
    bridge,
    store,
    terminalOf: clientStatus.terminalOf,
    gone: activity.over,
    userFiles,
    boot,
    log,
  });
  const reviews = createReviews({
    bridge,
    log,
    clients,
    names: clientStatus,
    lastId: boot.lastDiffId,
    earlier: memory.diffs,
    hangsWithoutEditor: (id) =>
      profileOf(clients.get(id)?.info.credential ?? "")?.hangsWithoutEditor === true,
    decided: activity.decided,
    remember(diffs) {
      remember({ diffs });
      if (clientStatus.agents.hasHeard) clientStatus.report(); // without hooks, reviews do not change the activity
    },
    agreed: changes.agreed,
    history: changes.history,
    userFiles,
  });
  function reviewsOf(client: Client): ClientReviews {
    const tools = reviews.tools(client);
    return {
      ...tools,
      openDiff(proposal, ...rest) {
        hooksOff.proposed(client, proposal.filePath);
        return tools.openDiff(proposal, ...rest);
      },
    };
  }
  const prompts = createPrompts({
    bridge,
    log,
    clis: boot.clis,
    packageOf: (cli) => profileOf(cli)?.package,
    isReviewing: () => reviews.isPending(),
    connected: clientStatus.connected,
    clientIn: (terminal) => clients.connected().find(({ id }) => terminals.nameOf(id) === terminal),
  });
  const contextPublisher = createContextPublisher({
    bridge,
    log,
    clients,
    shared: (shared) => report({ shared }),
  });
  sessions.events
    .on("created", (server, session) => registerTools(server, reviewsOf(session), log))
    .on("changed", () => remember({ sessions: sessions.all() }));
  for (const name of ["connected", "disconnected", "ended"] as const)
    sessions.events.on(name, (client) => events.emit(name, client));
  events
    .on("connected", clientStatus.report)
    .on("connected", contextPublisher.connected)
    .on("connected", terminals.find)
    .on("connected", agents.connected)
    .on("connected", hooksOff.refresh)
    .on("disconnected", contextPublisher.disconnected)
    .on("disconnected", clientStatus.report)
    .on("ended", reviews.abandon)
    .on("ended", contextPublisher.disconnected)
    .on("ended", terminals.forget)
    .on("ended", activity.gone)
    .on("ended", ({ info: { credential: cli } }) => {
      if (!clients.connected().some(({ info }) => info.credential === cli)) void changes.left(cli);
    })
    .on("ended", hooksOff.refresh)
    .on("ended", clientStatus.report);

  let { gate, paused } = boot;
  const { propose } = reviews;
  const following = {
    listener: changes.listener,
    isGated: (cli: string) => isGated(cli, gate),
    propose,
    userFiles,
  };
  const editor = createEditorEndpoint({ bridge, log, version, boot, following, report, remember });
  /** Starts to search for the client of an agent. Does not wait for the result, so that the agent is not delayed. */
  const handle = ({ agent }: AgentEvent): void =>
    void agents.heard(agent).catch((error: unknown) => log.warn("an agent's client was not found:", error));
  /** Whether a user can answer questions of the agent's CLI. */
  async function canAnswer(agent: Agent): Promise<boolean> {
    const { headless = [] } = profileOf(agent.cli) ?? {};
    const isConnected = (await agents.find(agent)) !== undefined;
    if (!isConnected || headless.length === 0 || agent.pid === undefined) return isConnected;
    return !(await platform.words(agent.pid)).some((word) => headless.includes(word));
  }
  const hooks = createHooksRoute({
    listeners: [handle, hooksOff.listener, activity.listener, changes.listener],
    tells({ agent }) {
      const text = boot.tellAgent && !paused ? changes.undone(agent) : undefined;
      if (text !== undefined) report({ told: { cli: agent.cli, text, at: Date.now() } });
      return text;
    },
    asks: (event) => asksBefore(event, gate, () => canAnswer(event.agent)),
    gateOf: (cli) => profileOf(cli)?.gate,
    log,
  });

  return {
    routes: [sessions.route("/mcp"), editor.sessions.route("/neovim"), hooks],
    sockets,
    handlers: {
      ...reviews.handlers,
      ...changes.handlers,
      ...prompts.handlers,
      ...editor.handlers,
      ...createCliAndEditorSearch({
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
      context: contextPublisher.snapshot,
      terminal_ready: ({ terminal }) => activity.ready(terminal),
      gate: (setting) => {
        gate = setting;
        hooksOff.refresh();
      },
      sharing: (setting) => {
        paused = setting.paused;
      },
    },
    async restore() {
      await sessions.restore(memory.sessions);
      await editor.sessions.restore(memory.editorSessions);
    },
    resume() {
      reviews.resume();
      void prepare();
      void temporaryFiles.removeLeftovers();
      for (const profile of profiles) void cleanUpDiscovery(profile);
    },
    opened(directories) {
      hooksOff.opened(directories);
      store.opened(directories);
    },
    storeNow() {
      changes.storeNow();
      store.storeNow();
    },
    endReviews: reviews.close,
    close() {
      editor.close();
      hooksOff.close();
      prompts.close();
      reviews.close(false);
      changes.close();
      return store.close();
    },
  };
}
