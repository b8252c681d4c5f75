/** The route that hooks of the CLIs call: what they tell, and whether an edit is to be asked about. */
import { createHash } from "node:crypto";
import { setTimeout as delay, setImmediate } from "node:timers/promises";
import * as z from "zod";
import type { Log } from "../base/log.ts";
import type { AgentEvent } from "../contract/hooks.ts";
import type { Route } from "../http/guard.ts";

/** The CLI, and with it the agent, waits no longer than this for those who take a look before a tool (milliseconds). */
const PATIENCE = 500;

/** A CLI with the hooks from two places tells everything twice, at the same moment. */
const MAX_RECENT = 64;

/** Has Gemini CLI ask the user, whatever its approval mode. */
const ASK = { decision: "ask" } as const;

/**
 * Is told at once. For `tool_starting` the CLI waits until its promise is settled, for a while.
 * @param begun aborted when it waits no longer
 */
export type AgentListener = (event: AgentEvent, begun: AbortSignal) => void | Promise<void>;

export interface HooksRouteOptions {
  listeners: readonly AgentListener[];
  /** Whether the CLI is to ask before a tool that starts. */
  asks(event: AgentEvent): Promise<boolean>;
  log: Log;
  /** Milliseconds. */
  patience?: number;
}

/** `pid` is the CLI's; with `notice` it waits for no answer. */
const Query = z.object({
  pid: z.coerce.number().int().positive().optional().catch(undefined),
  notice: z.string().optional().catch(undefined),
});

/** `POST`, by the script extension/hooks/hook.sh: with the JSON that the CLI gave it. */
export function createHooksRoute(options: HooksRouteOptions): Route {
  const { listeners, asks, log, patience = PATIENCE } = options;
  const recent = new Set<string>();

  function isNew(event: AgentEvent): boolean {
    const { texts: _, ...rest } = { texts: undefined, ...event };
    const key = createHash("sha256").update(JSON.stringify(rest)).digest("base64");
    if (recent.has(key)) return false;
    const [oldest] = recent;
    if (oldest !== undefined && recent.size >= MAX_RECENT) recent.delete(oldest);
    recent.add(key);
    return true;
  }

  /** An error of a listener's is the log's: the agent goes on. */
  async function tell(listener: AgentListener, event: AgentEvent, begun: AbortSignal): Promise<void> {
    try {
      await listener(event, begun);
    } catch (error) {
      log.error(`${event.kind} of ${event.agent.cli} failed:`, error);
    }
  }

  function inTime<T>(answer: Promise<T>): Promise<T | undefined> {
    return Promise.race([answer.catch(() => undefined), delay(patience, undefined, { ref: false })]);
  }

  return {
    url: "/hook",
    methods: ["POST"],
    isText: true,
    async handler({ body, query, credential: cli }, reply) {
      const { pid, notice } = Query.parse(query);
      const answer = (status: number) => (reply.sent ? reply : reply.code(status).send());
      if (notice !== undefined) {
        answer(204);
        // The agent goes on while megabytes are parsed; what it tells next is read after that.
        await setImmediate();
      }
      // Not before a hook comes: a start need not make its schemas.
      const { parseHook } = await import("../contract/hooks.ts");
      let event: AgentEvent | undefined;
      try {
        event = parseHook(JSON.parse(String(body)), { cli, pid });
      } catch {
        log.info(`${cli} sent a hook that is none of its own`);
        return answer(400);
      }
      if (!event || !isNew(event)) return answer(204);
      log.debug(`${cli}: ${event.kind}`);
      const begin = new AbortController();
      const told = Promise.all(listeners.map((listener) => tell(listener, event, begin.signal)));
      if (event.kind !== "tool_starting") return answer(204);
      const [ask, seen] = await Promise.all([inTime(asks(event)), inTime(told)]);
      begin.abort();
      if (!seen) log.warn(`${cli} was not held up any longer before ${event.tool.name}`);
      return ask && !reply.sent ? reply.send(ASK) : answer(204);
    },
  };
}
