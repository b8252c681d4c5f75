/** Runs the bridge through its states: starting, running, stopping, stopped. Each start creates a new companion. */
import { BUILD } from "./base/build.ts";
import { createLog, type Log } from "./base/log.ts";
import { sentence } from "./base/refusal.ts";
import type { Memory, Status } from "./contract/neovim.ts";
import { createBridge, type Editor, type EventHandlers } from "./neovim/bridge.ts";
import type { Services } from "./services.ts";

/**
 * Time after which a client (MCP SDK 1.x) reopens an ended event stream (ms). If the next host accepts requests by
 * then, the client does not notice that the previous host has stopped.
 */
const RETURN_DELAY_MS = 1_000;

export interface Companion {
  /** Attaches to Neovim, opens the port, publishes the discovery files and reports the result to Lua. Never rejects. */
  start(): Promise<void>;
  /**
   * Stops the bridge, or cancels its start: undoes all completed steps, and reports to Lua. Idempotent.
   * @param keepsReviews whether another host continues the open reviews. Default: the reviews end
   */
  stop(keepsReviews?: boolean): Promise<void>;
  /** Rejects the open reviews of CLIs that would hang without the editor. Call before `abandon` when Neovim ends. */
  rejectReviews(): void;
  /**
   * Removes the bridge's files, and stores the changes and the history. Works synchronously, so that signal handlers
   * can call it.
   */
  abandon(): void;
  /** Handles an event of Neovim. */
  dispatch(name: unknown, payload: unknown): void;
  readonly log: Log;
}

interface CompanionOptions {
  version: string;
  nvim: Editor;
  /** Number of this start of the bridge. Set only in the shared host, whose process serves several starts. */
  number?: number | undefined;
  /** Called after the bridge was stopped on request, and after a failed start. */
  stopped: () => void;
}

export function createCompanion({ version, nvim, number, stopped }: CompanionOptions): Companion {
  const log = createLog();
  const bridge = createBridge(nvim, log, number);
  const disposals: (() => unknown)[] = [];
  const stopping = new AbortController();
  const { signal } = stopping;
  let status: Status = { state: "starting", version, build: BUILD, workspace: [], clients: [] };
  let memory: Memory = { sessions: [], editorSessions: [], agents: [], diffs: [] };
  let services: Services | undefined;

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

  /**
   * Starts the bridge. After each `await`, checks whether the bridge was stopped meanwhile. Loads the modules in two
   * parts, for a fast start: the first part while the host waits for Neovim, the second when CLIs can already find the
   * editor.
   */
  async function run(): Promise<void> {
    const loaded = new Promise(setImmediate).then(() => import("./port-and-discovery.ts"));
    const [boot, { openPortAndDiscovery }] = await Promise.all([bridge.attach(), loaded]);
    signal.throwIfAborted();
    log.open(boot.paths.log, boot.options.logLevel);
    const { previous } = boot;
    memory = previous?.memory ?? memory;
    const { sessions, diffs } = memory;
    if (previous) log.info(`follows a host: ${sessions.length} sessions, ${diffs.length} reviews`);
    const undoWith = (dispose: () => unknown) => void disposals.push(dispose);
    undoWith(() => services?.close());
    const opened = await openPortAndDiscovery({ bridge, log, boot, report, signal, undoWith });
    const { profiles, endpoint, socketTokens, handlers, publish } = opened;
    // Measured here, because clients can return only now that the port is open.
    const isSeamless = previous?.wasStopped === true && Date.now() - previous.endedAt < RETURN_DELAY_MS;

    async function serve(): Promise<void> {
      const { createServices } = await import("./services.ts");
      signal.throwIfAborted();
      const { port } = endpoint;
      const shared = { version, bridge, log, boot, profiles, port, socketTokens, memory, report, remember };
      services = createServices({ ...shared, isSeamless });
      await services.restore();
      signal.throwIfAborted();
      await endpoint.serve(services.routes, boot.server.bodyLimit, services.sockets);
      signal.throwIfAborted();
      const writeLog: EventHandlers["log"] = ({ level, text }) => log[level](text);
      const workspace: EventHandlers["workspace"] = (event) => {
        services?.opened(event.directories);
        return handlers.workspace(event);
      };
      bridge.handle({ ...services.handlers, ...handlers, workspace, log: writeLog }, boot.reviews.decisions);
      services.resume();
    }

    // Serves clients without waiting for `publish`: clients of an earlier host already know the port, and may be
    // waiting for answers.
    if (previous) await Promise.all([publish(), serve()]);
    else await publish().then(serve);
  }

  async function undo(): Promise<void> {
    for (const dispose of disposals.splice(0).reverse()) await dispose();
  }

  async function stop(keepsReviews = false, error?: unknown): Promise<void> {
    stopping.abort();
    services?.endReviews(!keepsReviews);
    await undo();
    log.info("stopped");
    const reason = error === undefined ? {} : { error: sentence(error) };
    await bridge.call("status", { state: "stopped", workspace: [], clients: [], ...reason }).catch(() => {});
  }

  bridge.handle({ stop: ({ keepsReviews }) => stop(keepsReviews).then(stopped) });
  return {
    async start() {
      try {
        await run();
      } catch (error) {
        if (signal.aborted) return undo();
        log.error("the start failed:", error);
        await stop(false, error);
        stopped();
      }
    },
    stop,
    rejectReviews() {
      stopping.abort();
      services?.endReviews(true);
    },
    abandon() {
      stopping.abort();
      for (const dispose of disposals.reverse()) dispose();
      services?.storeNow();
      services = undefined; // `abandon` is called again when the process exits
    },
    dispatch: bridge.dispatch,
    log,
  };
}
