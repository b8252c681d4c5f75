/**
 * Handles requests from the hooks of CLIs. The answer can make a CLI ask the user before an edit, or pass a message to
 * the CLI's agent.
 */
import { createHash } from "node:crypto";
import type { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import * as z from "zod";
import type { Log } from "../base/log.ts";
import type { AgentEvent, Begun } from "../contract/hooks.ts";
import type { Route } from "../http/guard.ts";
import { ASK } from "./gate.ts";

/** Maximum time for which listeners can delay a tool of a CLI. */
const MAX_WAIT_MS = 500;

/**
 * Maximum number of stored events. Stored events serve to recognize duplicates: a CLI sends each event twice if two
 * settings files contain its hooks.
 */
const MAX_RECENT = 64;

/**
 * Called with each event as soon as it arrives. Before a tool starts, the CLI waits for the returned promise, but not
 * longer than MAX_WAIT_MS.
 */
export type AgentListener = (event: AgentEvent, begun: Begun) => void | Promise<void>;

interface HooksRouteOptions {
  listeners: readonly AgentListener[];
  /** Returns whether the CLI must ask the user before it runs a tool. */
  asks(event: AgentEvent): Promise<boolean>;
  /** Returns a message for an agent that starts a turn; undefined if there is none. */
  tells(event: AgentEvent & { kind: "turn_started" }): string | undefined;
  /** Returns the kind of hook answer that makes a CLI ask the user; undefined if no answer does. */
  gateOf(cli: string): keyof typeof ASK | undefined;
  log: Log;
}

/** Parses a process id. Without a valid one, `z.number()` would create an error, which is slow. */
function pidOf(text: string | undefined): number | undefined {
  const pid = Number(text);
  return Number.isSafeInteger(pid) && pid > 0 ? pid : undefined;
}

/** `pid`: the CLI's process id. `notice`: set if the CLI does not wait for an answer. */
const Query = z.object({
  pid: z.string().optional().catch(undefined).transform(pidOf),
  notice: z.string().optional().catch(undefined),
});

/**
 * Returns whether the client has closed its connection. Clients do so if the host process did not answer for a while.
 * Waits two turns of the event loop, because Node notices a closed connection only after it has read the request.
 */
async function hasLeft(socket: Socket): Promise<boolean> {
  await setImmediate();
  await setImmediate();
  return socket.destroyed || socket.readableEnded;
}

/**
 * Creates the route for the script extension/hooks/hook.sh. The script posts the JSON that a hook receives from its
 * CLI.
 */
export function createHooksRoute({ listeners, asks, tells, gateOf, log }: HooksRouteOptions): Route {
  const recent = new Set<string>();

  function isNew(event: AgentEvent): boolean {
    const key = createHash("sha256").update(JSON.stringify(event)).digest("base64");
    if (recent.has(key)) return false;
    const [oldest] = recent;
    if (oldest !== undefined && recent.size >= MAX_RECENT) recent.delete(oldest);
    recent.add(key);
    return true;
  }

  /** Calls a listener. Logs errors, so that the agent can continue. */
  async function tell(listener: AgentListener, event: AgentEvent, begun: Begun): Promise<void> {
    try {
      await listener(event, begun);
    } catch (error) {
      log.error(`${event.kind} of ${event.agent.cli} failed:`, error);
    }
  }

  /** Waits for an answer. @returns undefined if there is no answer within MAX_WAIT_MS */
  function inTime<T>(answer: Promise<T>): Promise<T | undefined> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, MAX_WAIT_MS, undefined).unref();
      const settle = (value?: T) => {
        clearTimeout(timer);
        resolve(value);
      };
      answer.then(settle, () => settle());
    });
  }

  return {
    url: "/hook",
    methods: ["POST"],
    isText: true,
    async handler({ body, query, credential: cli, raw: { socket } }, reply) {
      const { pid, notice } = Query.parse(query);
      const answer = (status: number) => (reply.sent ? reply : reply.code(status).send());
      if (notice !== undefined) {
        answer(204);
        // Answers before parsing a long event, so that the agent can continue.
        await setImmediate();
      }
      // Loads the parser with the first event, because building its schemas would delay the start of the host process.
      const { parseHook } = await import("../contract/hooks.ts");
      let event: AgentEvent | undefined;
      try {
        event = parseHook(JSON.parse(String(body)), { cli, pid, canAsk: gateOf(cli) === "permission" });
      } catch {
        log.info(`${cli} sent an invalid hook event`);
        return answer(400);
      }
      if (!event || !isNew(event)) return answer(204);
      log.debug(`${cli}: ${event.kind}`);
      const begun = { aborted: false };
      if (event.kind === "tool_starting" && (await hasLeft(socket))) begun.aborted = true;
      const told = Promise.all(listeners.map((listener) => tell(listener, event, begun)));
      if (event.kind === "turn_started" && notice === undefined && !reply.sent) {
        const additionalContext = tells(event);
        if (additionalContext === undefined) return answer(204);
        return reply.send({ hookSpecificOutput: { hookEventName: event.hook, additionalContext } });
      }
      if (event.kind !== "tool_starting") return answer(204);
      const [ask, seen] = await Promise.all([inTime(asks(event)), inTime(told)]);
      if (!seen || begun.aborted)
        log.warn(`${cli} stopped waiting before ${event.tool.name}: reading its files took too long`);
      begun.aborted = true;
      const gate = ask ? gateOf(cli) : undefined;
      return gate && !reply.sent ? reply.send(ASK[gate]) : answer(204);
    },
  };
}
