/** Creates the features and connects them. Loaded only when CLIs can already find the bridge. */
import { EventEmitter } from "node:events";
import { join } from "node:path";
import { createChanges } from "./changes/changes.ts";
import { createCliAndEditorSearch } from "./clis-and-editors.ts";
import { createContextPublisher } from "./context/publisher.ts";
import type { Agent } from "./contract/hooks.ts";
import type { Status } from "./contract/neovim.ts";
import { cleanUpDiscovery } from "./discovery/remove-leftovers-at-start.ts";
import { type Agents, answerHooks, followAgents, type Settings } from "./follow-agents.ts";
import type { Client, ClientEvents, ClientList } from "./http/client.ts";
import type { Route } from "./http/guard.ts";
import type { SocketRoute } from "./http/listen-on-port.ts";
import { createSessions, prepare } from "./http/sessions.ts";
import { createEditorEndpoint } from "./model/endpoint.ts";
import type { Handlers } from "./neovim/bridge.ts";
import { ownFoldersOf } from "./profiles/discovery-paths.ts";
import { createPrompts } from "./prompt/prompts.ts";
import { registerTools } from "./review/diff-tools.ts";
import type { ServicesOptions } from "./services-options.ts";
import { serveSockets, showReviews } from "./show-reviews.ts";
import { createStore } from "./store/store.ts";
import { createTemporaryFiles } from "./system/temporary-files.ts";
import { createUserFiles } from "./system/user-files.ts";
import { createClientStatus } from "./turns/client-status.ts";
import { isGated } from "./turns/gate.ts";
import { createReconnectHints } from "./turns/reconnect-hints.ts";
import { createTurnReports } from "./turns/report-turns.ts";

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

/** Creates the undecided changes, with what they need to store and write files. */
function followChanges({ bridge, boot, log, profiles }: ServicesOptions, { names, turns }: Agents) {
  const temporaryFiles = createTemporaryFiles(join(boot.paths.state, "drafts"));
  const userFiles = createUserFiles(temporaryFiles);
  const store = createStore({ directory: boot.paths.state, instance: boot.editor.instance, log });
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
  return { changes, store, temporaryFiles, userFiles };
}

/** Creates a list of the clients of several lists. Lists may be added later. */
function joinLists(lists: readonly ClientList[]): ClientList {
  return {
    connected: () => lists.flatMap((list) => list.connected()),
    get: (id) => lists.map((list) => list.get(id)).find((client) => client !== undefined),
  };
}

type Features = ReturnType<typeof createFeatures>;

/** Creates all features, each after the features that it needs. */
function createFeatures(options: ServicesOptions) {
  const { version, bridge, log, boot, profiles, memory, isSeamless, report, remember } = options;
  /** Events of all clients, whatever their protocol. */
  const events = new EventEmitter<ClientEvents>();
  const settings: Settings = { gate: boot.gate, paused: boot.sharing.paused };
  /** Sessions whose clients have noticed that an earlier host has ended. */
  const interrupted = new Set(
    memory.sessions.filter((session) => session.interrupted || !isSeamless).map(({ id }) => id),
  );
  const sessions = createSessions({ version, log, ...boot.server });
  const rememberSessions = () =>
    remember({
      sessions: sessions.all().map((info) => ({ ...info, interrupted: interrupted.has(info.id) })),
    });
  /** Clients by protocol. */
  const lists: ClientList[] = [sessions];
  const clients = joinLists(lists);

  const agents = followAgents(options, clients, interrupted, settings);
  const { terminals, turns, names, hooksOff } = agents;
  const { changes, store, temporaryFiles, userFiles } = followChanges(options, agents);
  const reviews = showReviews({ ...options, clients, agents, changes, userFiles });
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
  const prompts = createPrompts({
    bridge,
    log,
    clis: boot.clis,
    packageOf: (cli) => profiles.find(({ name }) => name === cli)?.package,
    isReviewing: () => reviews.isPending(),
    connected: clientStatus.connected,
    clientIn: (terminal) => clients.connected().find(({ id }) => terminals.nameOf(id) === terminal),
  });
  const shared = (shared: Status["shared"]) => report({ shared });
  const contextPublisher = createContextPublisher({ bridge, log, clients, shared });
  const following = {
    listener: changes.listener,
    newTurn: (agent: Agent) => turns.newTurn(agent, ""),
    isGated: (cli: string) => isGated(cli, settings.gate),
    propose: reviews.propose,
    userFiles,
  };
  const editor = createEditorEndpoint({ bridge, log, version, boot, following, report, remember });
  const sockets = serveSockets({
    ...options,
    agents,
    events,
    reviewsOf: reviews.of,
    diagnose: editor.diagnose,
  });
  lists.push(sockets);

  const toldOfLoss = { clients, profiles, terminals, interrupted, isSeamless };
  return {
    agents,
    changes,
    clients,
    clientStatus,
    contextPublisher,
    editor,
    events,
    prompts,
    rememberSessions,
    reviews,
    sessions,
    settings,
    sockets,
    store,
    temporaryFiles,
    tellLostClis: createReconnectHints({ ...toldOfLoss, lost: prompts.connect }),
  };
}

/** Tells the features about connected and ended clients, and about turns of agents. */
function joinEvents({ bridge, log }: Pick<ServicesOptions, "bridge" | "log">, features: Features): void {
  const { events, changes, clients, clientStatus, contextPublisher, reviews, sessions } = features;
  const { terminals, turns, hooksOff } = features.agents;
  sessions.events
    .on("created", (server, session) => registerTools(server, reviews.of(session), log))
    .on("changed", features.rememberSessions);
  for (const name of ["connected", "disconnected", "ended"] as const)
    sessions.events.on(name, (client) => events.emit(name, client));
  events
    .on("connected", clientStatus.report)
    .on("connected", contextPublisher.connected)
    .on("connected", terminals.find)
    .on("connected", turns.connected)
    .on("connected", hooksOff.refresh)
    .once("connected", changes.prepare)
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
  reviews.onChanged(() => {
    if (turns.hasHeard) clientStatus.report(); // without hooks, reviews do not change the activity
  });
  turns.on(createTurnReports(bridge, turns, terminals, clientStatus.report));
  turns.on(changes.listener);
}

/** Returns the handlers of all events and requests of Lua, except those of discovery and log. */
function handlersOf({ boot, profiles, port }: ServicesOptions, features: Features): Partial<Handlers> {
  const { agents, changes, contextPublisher, editor, prompts, reviews, settings, tellLostClis } = features;
  const { hooksOff, terminals, turns } = agents;
  const { connect } = boot.options;
  return {
    ...reviews.handlers,
    ...changes.handlers,
    ...prompts.handlers,
    ...editor.handlers,
    ...createCliAndEditorSearch({ unconnected: prompts.connect, profiles, port, connect }),
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
      settings.gate = setting;
      hooksOff.refresh();
    },
    sharing: ({ paused }) => {
      settings.paused = paused;
    },
  };
}

export function createServices(options: ServicesOptions): Services {
  const { memory, profiles } = options;
  const features = createFeatures(options);
  joinEvents(options, features);
  const { agents, changes, editor, prompts, reviews, sessions, settings, sockets, store } = features;
  const hooks = answerHooks({ ...options, agents, settings, undone: changes.undone });

  return {
    routes: [sessions.route("/mcp"), editor.sessions.route("/neovim"), hooks],
    sockets,
    handlers: handlersOf(options, features),
    async restore() {
      await sessions.restore(memory.sessions);
      await editor.sessions.restore(memory.editorSessions);
      // Stores which sessions are interrupted, for the host after this one.
      if (memory.sessions.length > 0) features.rememberSessions();
    },
    resume() {
      reviews.resume();
      void prepare();
      void features.temporaryFiles.removeLeftovers();
      for (const profile of profiles) void cleanUpDiscovery(profile);
    },
    opened(directories) {
      agents.hooksOff.opened(directories);
      store.opened(directories);
    },
    storeNow: store.storeNow,
    endReviews: reviews.close,
    async close() {
      editor.close();
      agents.hooksOff.close();
      agents.turns.close();
      prompts.close();
      reviews.close(false);
      await changes.close();
      await store.close();
    },
  };
}
