/** Creates the features and connects them. Loaded only when CLIs can already find the bridge. */
import { EventEmitter } from "node:events";
import { basename, join } from "node:path";
import type { Log } from "./base/log.ts";
import type { ClientReviews } from "./base/reviews.ts";
import { createChanges } from "./changes/changes.ts";
import { createSocketEndpoint } from "./claude/endpoint.ts";
import { createCliAndEditorSearch } from "./clis-and-editors.ts";
import { createContextPublisher } from "./context/publisher.ts";
import type { Agent } from "./contract/hooks.ts";
import type { Boot, Memory, Status } from "./contract/neovim.ts";
import { cleanUpDiscovery } from "./discovery/remove-leftovers-at-start.ts";
import type { Client, ClientEvents, ClientList } from "./http/client.ts";
import type { Address, Route } from "./http/guard.ts";
import type { SocketRoute } from "./http/listen-on-port.ts";
import { createSessions, prepare } from "./http/sessions.ts";
import { createEditorEndpoint } from "./model/endpoint.ts";
import type { Bridge, Handlers } from "./neovim/bridge.ts";
import { ownFoldersOf } from "./profiles/discovery-paths.ts";
import { type Profile, profileOfClient } from "./profiles/profiles.ts";
import { createPrompts } from "./prompt/prompts.ts";
import { registerTools } from "./review/diff-tools.ts";
import { createReviews } from "./review/open-to-outcome.ts";
import { createStore } from "./store/store.ts";
import { platform } from "./system/platform.ts";
import { createTemporaryFiles } from "./system/temporary-files.ts";
import { createUserFiles } from "./system/user-files.ts";
import { createClientStatus, createNames } from "./turns/client-status.ts";
import { findClient } from "./turns/find-client.ts";
import { asksBefore, isGated } from "./turns/gate.ts";
import { createHooksRoute } from "./turns/hook-route.ts";
import { createHooksOff } from "./turns/hooks-off.ts";
import { createReconnectHints } from "./turns/reconnect-hints.ts";
import { createTurnReports } from "./turns/report-turns.ts";
import { createTerminals } from "./turns/terminals.ts";
import { createTurns } from "./turns/turns.ts";

export interface Services {
  readonly routes: readonly Route[];
  readonly sockets: SocketRoute;
  readonly handlers: Partial<Handlers>;
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
      answered: () => turns.answered(client.id),
      /** Tells the user how the CLI treats an accepted text that is equal to the file. */
      unchanged(filePath) {
        turns.decided(client.id, filePath, false);
        const cli = names.labelOf(client.info.credential);
        const text = `You accepted a text for ${basename(filePath)} that equals the file: ${cli} treats this as a rejection.`;
        bridge.tell("message", { level: "info", text });
      },
      /** Tells the user why Neovim cannot open a review. */
      refused(filePath, reason) {
        const cli = names.labelOf(client.info.credential);
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
  let { gate, paused } = boot;
  /** Sessions whose clients have noticed that the earlier host has ended. */
  const interrupted = new Set(memory.interrupted);
  const terminals = createTerminals(clients);
  const turns = createTurns({
    heard: memory.agents,
    remember: (agents) => remember({ agents }),
    isConnected: (id) => !interrupted.has(id) && clients.connected().some((client) => client.id === id),
    search: (agent) => findClient(clients, agent),
  });
  const names = createNames(profiles, turns, terminals);
  const hooksOff = createHooksOff({
    bridge,
    profiles,
    clients,
    turns,
    terminals,
    directories: boot.workspace.directories,
    isGated: (cli) => isGated(cli, gate),
  });
  const temporaryFiles = createTemporaryFiles(join(boot.stateDirectory, "drafts"));
  const userFiles = createUserFiles(temporaryFiles);
  const store = createStore({ directory: boot.stateDirectory, instance: boot.instance, log });
  const changes = createChanges({
    bridge,
    store,
    terminalOf: names.terminalOf,
    agents: turns,
    ownFolders: new Map(profiles.map((profile) => [profile.name, ownFoldersOf(profile)])),
    userFiles,
    boot,
    log,
  });
  const reviews = createReviews({
    bridge,
    log,
    clients,
    names,
    lastId: boot.lastDiffId,
    earlier: memory.diffs,
    hangsWithoutEditor: (id) =>
      profileOf(clients.get(id)?.info.credential ?? "")?.hangsWithoutEditor === true,
    decided: turns.decided,
    remember(diffs) {
      remember({ diffs });
      if (turns.hasHeard) clientStatus.report(); // without hooks, reviews do not change the activity
    },
    agreed: changes.agreed,
    history: changes.history,
    userFiles,
  });
  const clientStatus = createClientStatus({
    clients,
    labelOf: names.labelOf,
    turns,
    terminals,
    hooksOff,
    interrupted,
    isReviewing: reviews.isPending,
    report,
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
  const tellLostClis = createReconnectHints({
    clients,
    profiles,
    terminals,
    interrupted,
    isSeamless,
    lost: (cli) => prompts.connect(cli),
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
    .on("connected", turns.connected)
    .on("connected", hooksOff.refresh)
    .on("disconnected", contextPublisher.disconnected)
    .on("disconnected", clientStatus.report)
    .on("ended", reviews.abandon)
    .on("ended", contextPublisher.disconnected)
    .on("ended", terminals.forget)
    .on("ended", (client) => {
      const isSame = ({ info }: Client) => info.credential === client.info.credential;
      turns.disconnected(client, !clients.connected().some(isSame));
    })
    .on("ended", hooksOff.refresh)
    .on("ended", clientStatus.report);
  terminals.onFound(clientStatus.report);
  terminals.onFound(hooksOff.refresh);
  turns.onFound(clientStatus.report);
  hooksOff.onChanged(clientStatus.report);
  turns.on(createTurnReports(bridge, turns, terminals, clientStatus.report));
  turns.on(changes.listener);

  const { propose } = reviews;
  const following = {
    listener: changes.listener,
    newTurn: (agent: Agent) => turns.newTurn(agent, ""),
    isGated: (cli: string) => isGated(cli, gate),
    propose,
    userFiles,
  };
  const editor = createEditorEndpoint({ bridge, log, version, boot, following, report, remember });
  /** Whether a user can answer questions of the agent's CLI. */
  async function canAnswer(agent: Agent): Promise<boolean> {
    const { headless = [] } = profileOf(agent.cli) ?? {};
    const isConnected = (await turns.findClient(agent)) !== undefined;
    if (!isConnected || headless.length === 0 || agent.pid === undefined) return isConnected;
    return !(await platform.words(agent.pid)).some((word) => headless.includes(word));
  }
  const hooks = createHooksRoute({
    listeners: [turns.handle, hooksOff.listener],
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
        profiles,
        port,
        connect: boot.connect,
      }),
      async terminals(event) {
        prompts.terminals(event);
        tellLostClis(event);
        await terminals.handlers.terminals(event);
      },
      context: contextPublisher.snapshot,
      terminal_ready: ({ terminal }) =>
        // An agent that is not connected is found by its process.
        turns.ready((id, pid) =>
          id === undefined ? terminals.contains(terminal, pid) : terminals.nameOf(id) === terminal,
        ),
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
    storeNow: store.storeNow,
    endReviews: reviews.close,
    async close() {
      editor.close();
      hooksOff.close();
      turns.close();
      prompts.close();
      reviews.close(false);
      await changes.close();
      await store.close();
    },
  };
}
