/** The companion's life: starting > running > stopping > stopped. A new start takes a new companion. */
import { BUILD } from "./base/build.ts";
import { createLog, type Log } from "./base/log.ts";
import { sentence } from "./base/refusal.ts";
import type { Memory, Status } from "./contract/neovim.ts";
import { createBridge, type Editor, type EventHandlers } from "./neovim/bridge.ts";
import type { Services } from "./services.ts";

/** A client fetches an event stream that ended again after this time (SDK 1.x); if that succeeds, it noticed nothing. */
const RETURN_DELAY_MS = 1_000;

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
  let memory: Memory = { sessions: [], editorSessions: [], agents: [], diffs: [] };

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
   * After each `await` it is asked whether the bridge has been stopped meanwhile. What a step needs is loaded when the
   * one before it has been done: the first while Neovim answers, the last when CLIs can find the editor already.
   */
  async function run(): Promise<void> {
    const loaded = new Promise(setImmediate).then(() => import("./presence.ts"));
    const [boot, { createPresence }] = await Promise.all([bridge.attach(), loaded]);
    signal.throwIfAborted();
    log.open(boot.logFile, boot.logLevel);
    const { stoppedAt, ...earlier } = boot.memory ?? memory;
    memory = earlier;
    const { sessions, diffs } = memory;
    if (boot.memory) log.info(`follows a host: ${sessions.length} sessions, ${diffs.length} reviews`);
    if (stoppedAt !== undefined) remember({}); // it does not count after a crash of this host
    let services: Services | undefined;
    const undoWith = (dispose: () => unknown) => void disposals.push(dispose);
    undoWith(() => services?.close());
    const presence = await createPresence({ bridge, log, boot, report, signal, undoWith });
    const { profiles, endpoint, handlers } = presence;
    const isSeamless = stoppedAt !== undefined && Date.now() - stoppedAt < RETURN_DELAY_MS;

    async function serve(): Promise<void> {
      const { createServices } = await import("./services.ts");
      signal.throwIfAborted();
      const { port } = endpoint;
      const shared = { version, bridge, log, boot, profiles, port, memory, report, remember };
      services = createServices({ ...shared, isSeamless });
      await services.restore();
      signal.throwIfAborted();
      await endpoint.serve(services.routes, boot.server.bodyLimit);
      signal.throwIfAborted();
      const writeLog: EventHandlers["log"] = ({ level, text }) => log[level](text);
      bridge.handle({ ...services.handlers, ...handlers, log: writeLog }, boot.decisions);
      services.resume();
    }

    // Clients of the host before this one know the port, and ask already: they do not wait for Neovim.
    if (boot.memory) await Promise.all([presence.publish(), serve()]);
    else await presence.publish().then(serve);
  }

  async function undo(): Promise<void> {
    for (const dispose of disposals.splice(0).reverse()) await dispose();
  }

  async function stop(error?: unknown): Promise<void> {
    stopping.abort();
    if (memory.sessions.length + memory.editorSessions.length > 0)
      bridge.tell("remember", { ...memory, stoppedAt: Date.now() });
    await undo();
    log.info("stopped");
    const reason = error === undefined ? {} : { error: sentence(error) };
    await bridge.call("status", { state: "stopped", workspace: [], clients: [], ...reason }).catch(() => {});
  }

  bridge.handle({ stop: () => stop().then(stopped) });
  return {
    async start() {
      try {
        await run();
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
