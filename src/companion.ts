/** The companion's life: starting > running > stopping > stopped. A new start takes a new companion. */
import { randomBytes } from "node:crypto";
import { delimiter } from "node:path";
import type { FastifyInstance } from "fastify";
import { buildApp } from "./http/server.ts";
import { createSessions, prepare, type Sessions } from "./http/sessions.ts";
import { registerTools } from "./http/tools.ts";
import { createDiscoveryFile } from "./ide/discovery.ts";
import { removeLeftovers } from "./ide/leftovers.ts";
import { type Environment, FOREIGN_ENVIRONMENT } from "./ide/wire.ts";
import { workspacePaths } from "./ide/workspace.ts";
import { type Log, openLog } from "./log.ts";
import type { Bridge, EventHandlers } from "./nvim/bridge.ts";
import type { Boot, Status } from "./nvim/protocol.ts";
import { createPublisher } from "./publisher.ts";
import { Refusal } from "./refusal.ts";
import { createReviews } from "./reviews.ts";

export interface Companion {
  /** Attaches, listens, publishes the discovery file and tells Lua the outcome. Never rejects. */
  start(): Promise<void>;
  /** Undoes what has been done so far and tells Lua. Cancels a start; may run twice. */
  stop(): Promise<void>;
  /** Removes what would outlive the process, synchronously, for signals and crashes. */
  abandon(): void;
  readonly handlers: EventHandlers;
  log(): Log;
}

export interface CompanionOptions {
  version: string;
  bridge: Bridge;
  /** This host's channel in Neovim. */
  channel: number;
  /** The user asked for the end, and everything is undone. */
  stopped: () => void;
}

/** A stop came while the start was under way. */
class Cancelled extends Error {}

type RunningHandlers = Omit<EventHandlers, "stop">;

export function createCompanion({ version, bridge, channel, stopped }: CompanionOptions): Companion {
  let log: Log = openLog("", "error");
  let stopping = false;
  const disposals: (() => unknown)[] = [];
  let status: Status = { state: "starting", workspace: [], clients: [] };
  let ready: (handlers: RunningHandlers) => void;
  // What happens in the editor during the start waits here: a decision among it must not be lost.
  const running = new Promise<RunningHandlers>((resolve) => {
    ready = resolve;
  });

  function report(change: Partial<Status>): void {
    status = { ...status, ...change };
    bridge.tell("status", status);
  }

  /** Everything after an `await` in a start asks this first. */
  function goOn(): void {
    if (stopping) throw new Cancelled();
  }

  async function undo(): Promise<void> {
    for (const dispose of disposals.splice(0).reverse()) await dispose();
  }

  /** Sessions, and all that serves them. */
  function assemble(boot: Boot) {
    const remember = () => {
      if (!stopping) bridge.tell("remember", { sessions: sessions.known(), diffs: reviews.known() });
    };
    const reportClients = () => {
      if (!stopping) report({ clients: sessions.open().map(({ known }) => known) });
    };
    const get = () => sessions;
    const reviews = createReviews({
      bridge,
      log,
      sessions: get,
      lastDiffId: boot.lastDiffId,
      known: boot.memory?.diffs ?? [],
      changed: remember,
    });
    const publisher = createPublisher({
      bridge,
      log,
      sessions: get,
      shared(shared) {
        if (!stopping) report({ shared });
      },
    });
    const sessions: Sessions = createSessions({
      version,
      maxSessions: boot.server.maxSessions,
      grace: boot.server.grace,
      hooks: {
        register: (server, session) => registerTools(server, reviews.tools(session), log),
        changed: remember,
        opened(session) {
          reportClients();
          publisher.opened(session);
        },
        dropped() {
          publisher.dropped();
          reportClients();
        },
        closed(session) {
          reviews.forget(session);
          publisher.dropped();
          reportClients();
        },
      },
    });
    return { sessions, reviews, publisher };
  }

  async function run(boot: Boot): Promise<void> {
    const token = boot.token ?? randomBytes(32).toString("base64url");
    const { sessions, reviews, publisher } = assemble(boot);
    await sessions.restore(boot.memory?.sessions ?? []);

    let port = 0;
    const app = buildApp({ token, port: () => port, sessions, bodyLimit: boot.server.bodyLimit });
    disposals.push(() => app.close());
    await removeLeftovers();
    goOn();
    port = await listen(app, boot.port);
    goOn();

    log.info(`listening on port ${port} for process ${boot.idePid}`);

    const file = createDiscoveryFile(boot.idePid, port, token);
    disposals.push(() => file.remove());
    // Before it is written, so that Lua can remove it should this process be killed meanwhile.
    report({ port, pid: process.pid, discoveryFile: file.path, token });
    const refused = new Set<string>();
    const publish = async (directories: string[]) => {
      const paths = await workspacePaths(directories);
      for (const directory of paths.refused) {
        if (!refused.has(directory))
          bridge.tell("message", { level: "warn", text: cannotBeListed(directory) });
        refused.add(directory);
      }
      const set: Environment = {
        GEMINI_CLI_IDE_SERVER_PORT: String(port),
        GEMINI_CLI_IDE_WORKSPACE_PATH: paths.open.join(delimiter),
        GEMINI_CLI_IDE_AUTH_TOKEN: token,
        GEMINI_CLI_IDE_PID: String(boot.idePid),
      };
      await bridge.call("set_environment", { set: { ...set }, unset: FOREIGN_ENVIRONMENT });
      goOn();
      // Last, so that a CLI that finds the file finds everything else in place.
      file.write(paths.listed);
      report({ state: "running", workspace: paths.listed });
    };
    await publish(boot.workspace.directories);
    void prepare();

    let published = Promise.resolve();
    ready({
      ...reviews.handlers,
      context: publisher.snapshot,
      // One after the other: the last directories must be the ones that stay.
      workspace({ directories }) {
        published = published.then(() => publish(directories)).catch(complain);
        return published;
      },
    });
    for (const [event, payload] of boot.decisions) bridge.dispatch(event, payload);
  }

  function complain(error: unknown): void {
    if (error instanceof Cancelled) return;
    log.error("the workspace was not published:", error);
    bridge.tell("message", { level: "warn", text: sentence(error) });
  }

  async function start(): Promise<void> {
    try {
      const boot = await bridge.call("attach", { channel, pid: process.pid });
      log = openLog(boot.logFile, boot.logLevel);
      goOn();
      await run(boot);
    } catch (error) {
      await undo();
      if (error instanceof Cancelled) return;
      log.error("the start failed:", error);
      await bridge
        .call("status", { state: "stopped", workspace: [], clients: [], error: sentence(error) })
        .catch(() => {});
      stopped();
    }
  }

  async function stop(): Promise<void> {
    stopping = true;
    await undo();
    await bridge.call("status", { state: "stopped", workspace: [], clients: [] }).catch(() => {});
  }

  return {
    start,
    stop,
    abandon() {
      stopping = true;
      for (const dispose of disposals.reverse()) dispose();
    },
    handlers: {
      stop: () => stop().then(stopped),
      workspace: async (payload) => (await running).workspace(payload),
      context: async (payload) => (await running).context(payload),
      diff_accepted: async (payload) => (await running).diff_accepted(payload),
      diff_rejected: async (payload) => (await running).diff_rejected(payload),
      diff_closed: async (payload) => (await running).diff_closed(payload),
    },
    log: () => log,
  };
}

/** What the user is told of an error; the rest is in the log. */
function sentence(error: unknown): string {
  return error instanceof Refusal ? error.message : "the bridge failed; see :GeminiLog";
}

function cannotBeListed(directory: string): string {
  return (
    `Gemini CLI cannot be told of ${directory}: the "${delimiter}" in its name separates directories there. ` +
    "A CLI that is started in it does not find this Neovim."
  );
}

/** Listens on the port of the host before this one when it is still free, else on any. @returns the port. */
async function listen(app: FastifyInstance, wanted = 0): Promise<number> {
  const host = "127.0.0.1";
  try {
    await app.listen({ host, port: wanted });
  } catch (error) {
    if (wanted === 0) throw error;
    await app.listen({ host, port: 0 });
  }
  const address = app.server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return address.port;
}
