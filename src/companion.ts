/** The companion's life: starting > running > stopping > stopped. A new start takes a new companion. */
import { asksBefore, isGated } from "./agent/gate.ts";
import { createHooksRoute } from "./agent/route.ts";
import { createTracking } from "./agent/tracking.ts";
import { BUILD } from "./build.ts";
import { createClients } from "./clients.ts";
import { createContextPublisher } from "./context-publisher.ts";
import { createEditorEndpoint } from "./editor/endpoint.ts";
import { listen } from "./http/listen.ts";
import { createSessions, prepare } from "./http/sessions.ts";
import { registerTools } from "./http/tools.ts";
import { cleanUpDiscovery } from "./ide/discovery-cleanup.ts";
import { isActive } from "./ide/profile-paths.ts";
import { profilesOf } from "./ide/profiles.ts";
import { createLog, type Log } from "./log.ts";
import { createBridge, type Editor } from "./nvim/bridge.ts";
import type { Boot, Memory, Status } from "./nvim/protocol.ts";
import { sentence } from "./refusal.ts";
import { createRest } from "./rest.ts";
import { createReviews } from "./reviews.ts";
import { createSurroundings } from "./surroundings.ts";
import { createWorkspacePublisher } from "./workspace-publisher.ts";

export interface Companion {
  /** Attaches, listens, publishes the discovery file and tells Lua the outcome. Never rejects. */
  start(): Promise<void>;
  /** Undoes what has been done so far and tells Lua. Cancels a start; may run twice. */
  stop(): Promise<void>;
  /** Removes what would outlive the process, synchronously, for signals and crashes. */
  abandon(): void;
  /** Takes an event of Neovim's. */
  dispatch(name: unknown, payload: unknown): void;
  readonly log: Log;
}

export interface CompanionOptions {
  version: string;
  nvim: Editor;
  /** Which of Neovim's starts of the bridge this is, where one process serves several. */
  number?: number | undefined;
  /** The user asked for the end, and everything is undone. */
  stopped: () => void;
}

export function createCompanion({ version, nvim, number, stopped }: CompanionOptions): Companion {
  const log = createLog();
  const bridge = createBridge(nvim, log, number);
  const disposals: (() => unknown)[] = [];
  const stopping = new AbortController();
  const { signal } = stopping;
  let status: Status = { state: "starting", version, build: BUILD, workspace: [], clients: [] };
  let memory: Memory = { sessions: [], editorSessions: [], diffs: [] };

  function report(change: Partial<Status>): void {
    if (signal.aborted) return;
    status = { ...status, ...change };
    bridge.tell("status", status);
  }

  function remember(change: Partial<Memory>): void {
    if (signal.aborted) return;
    memory = { ...memory, ...change };
    bridge.tell("remember", memory);
  }

  /** After each `await` it is asked whether the bridge has been stopped meanwhile. */
  async function run(boot: Boot): Promise<void> {
    memory = boot.memory ?? memory;
    const profiles = profilesOf(boot.clis).filter(isActive);
    await Promise.all(profiles.map(cleanUpDiscovery));
    signal.throwIfAborted();

    const sessions = createSessions({ version, log, ...boot.server });
    const clients = createClients({
      bridge,
      sessions,
      profiles,
      earlier: memory.sessions,
      reconnect: boot.reconnect,
      report,
    });
    const { terminals, agents, activity } = clients;
    const rest = createRest();
    disposals.push(rest.close);
    const used = () => rest.changed(sessions.connected().length > 0);
    const { changes, history } = createTracking({ bridge, boot, log });
    disposals.push(changes.close);
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
    });
    disposals.push(reviews.close);
    const context = createContextPublisher({
      bridge,
      log,
      sessions,
      shared: (shared) => report({ shared }),
    });
    sessions.events
      .on("created", (server, session) => registerTools(server, reviews.tools(session), log))
      .on("changed", () => remember({ sessions: sessions.all() }))
      .on("connected", clients.report)
      .on("connected", context.connected)
      .on("connected", terminals.find)
      .on("connected", used)
      .on("disconnected", context.disconnected)
      .on("disconnected", clients.report)
      .on("ended", reviews.abandon)
      .on("ended", context.disconnected)
      .on("ended", terminals.forget)
      .on("ended", activity.gone)
      .on("ended", clients.report)
      .on("ended", used);
    const { sessions: known, diffs } = memory;
    if (boot.memory) log.info(`goes on after a crash: ${known.length} sessions, ${diffs.length} reviews`);
    await sessions.restore(memory.sessions);
    signal.throwIfAborted();

    let gate = boot.gate;
    const { propose } = reviews;
    const following = { listener: changes.listener, isGated: (cli: string) => isGated(cli, gate), propose };
    const editor = createEditorEndpoint({ bridge, log, version, boot, following, report, remember });
    disposals.push(editor.close);
    await editor.sessions.restore(memory.editorSessions);
    signal.throwIfAborted();

    const hooks = createHooksRoute({
      listeners: [activity.listener, changes.listener],
      asks: (event) => asksBefore(event, gate, async () => (await agents.find(event.agent)) !== undefined),
      log,
    });
    const routes = [sessions.route("/mcp"), editor.sessions.route("/neovim"), hooks];
    const address = await listen(
      { routes, log, bodyLimit: boot.server.bodyLimit },
      profiles.map(({ name }) => name),
      boot,
    );
    disposals.push(address.close);
    signal.throwIfAborted();
    log.info(`listening on port ${address.port} for process ${boot.idePid}`);

    const workspace = createWorkspacePublisher({ bridge, log, address, profiles, boot, report, signal });
    disposals.push(workspace.remove);
    await workspace.publish(boot.workspace.directories);
    void prepare();

    bridge.handle(
      {
        ...reviews.handlers,
        ...changes.handlers,
        ...terminals.handlers,
        ...editor.handlers,
        ...createSurroundings({ bridge, report, profiles, port: address.port, connect: boot.connect }),
        context: context.snapshot,
        terminal_ready: ({ terminal }) => activity.ready(terminal),
        gate: (setting) => {
          gate = setting;
        },
        log: ({ level, text }) => log[level](text),
        announce: () => attempt(workspace.restore),
        focused: workspace.refresh,
        workspace: ({ directories }) => attempt(() => workspace.publish(directories)),
      },
      boot.decisions,
    );
    reviews.resume();
  }

  /** What fails here the user is told. */
  async function attempt(publish: () => void | Promise<void>): Promise<void> {
    try {
      await publish();
    } catch (error) {
      if (signal.aborted) return;
      log.error("the bridge was not made known to CLIs:", error);
      bridge.tell("message", { level: "warn", text: sentence(error) });
    }
  }

  async function undo(): Promise<void> {
    for (const dispose of disposals.splice(0).reverse()) await dispose();
  }

  async function stop(error?: unknown): Promise<void> {
    stopping.abort();
    await undo();
    log.info("stopped");
    const reason = error === undefined ? {} : { error: sentence(error) };
    await bridge.call("status", { state: "stopped", workspace: [], clients: [], ...reason }).catch(() => {});
  }

  bridge.handle({ stop: () => stop().then(stopped) });
  return {
    async start() {
      try {
        const boot = await bridge.attach();
        signal.throwIfAborted();
        log.open(boot.logFile, boot.logLevel);
        await run(boot);
      } catch (error) {
        if (signal.aborted) return undo();
        log.error("the start failed:", error);
        await stop(error);
        stopped();
      }
    },
    stop,
    abandon() {
      stopping.abort();
      for (const dispose of disposals.reverse()) dispose();
    },
    dispatch: bridge.dispatch,
    log,
  };
}
