/** Typed calls into Lua, and events out of it. */
import type { Neovim } from "neovim";
import * as z from "zod";
import type { Log } from "../base/log.ts";
import { Refusal } from "../base/refusal.ts";
import type { Boot, CallName, CallResult, Calls, EventName, EventPayload } from "../contract/neovim.ts";

/** The RPC notification that carries every event: `[name, payload]`. The client swallows names that end in `_event`. */
export const EVENT_METHOD = "gemini_bridge";

/** The function that carries an event in the standard host, where unknown notifications are taken for plugin paths. */
export const EVENT_FUNCTION = "GeminiBridgeEvent";

/** What is needed of the client, in either kind of host. */
export type Editor = Pick<Neovim, "executeLua" | "on" | "request">;

export type EventHandlers = { [N in EventName]: (payload: EventPayload<N>) => void | Promise<void> };

/** A call that the editor could not carry out; the message is a sentence for the user. */
export class EditorError extends Refusal {
  override readonly name = "EditorError";
}

type Contract = typeof import("../contract/neovim.ts");

const Answer = z.object({ result: z.unknown().optional(), error: z.string().optional() });
const Channel = z.object({ id: z.number() });

export interface Bridge {
  /** Tells Lua which host this is. @returns what the host needs to know */
  attach(): Promise<Boot>;
  /**
   * Calls Lua.
   * @throws {EditorError} when Lua refuses, or answers something else than the contract says.
   */
  call<N extends CallName>(name: N, params: Calls[N]): Promise<CallResult<N>>;
  /** Like `call`, for what needs no answer: a failure is logged. */
  tell<N extends CallName>(name: N, params: Calls[N]): void;
  /** Takes an event that has come. It waits until it has a handler: a decision among the first must not be lost. */
  dispatch(name: unknown, payload: unknown): void;
  /**
   * Hands events to these handlers from now on: first those of `earlier`, then those that wait. What does not fit the
   * contract is logged and dropped.
   */
  handle(handlers: Partial<EventHandlers>, earlier?: Boot["decisions"]): void;
}

/** @param start which of Neovim's starts of the bridge this is, where one process serves several: told with each call */
export function createBridge(nvim: Editor, log: Log, start?: number): Bridge {
  const handlers: Partial<EventHandlers> = {};
  let waiting: [name: unknown, payload: unknown][] = [];
  let events: Contract["events"] | undefined;
  // When the first call is on its way: the schemas are made while Neovim answers it.
  const contract = new Promise(setImmediate).then(() => import("../contract/neovim.ts"));
  void contract.then((loaded) => {
    events = loaded.events;
    bridge.handle({});
  });

  async function run<N extends EventName>(name: N, payload: unknown): Promise<void> {
    // Nothing awaits an event, so an error that is not caught here is lost (or ends the process).
    try {
      await handlers[name]?.(events?.[name].parse(payload) as EventPayload<N>);
    } catch (error) {
      log.error(`event ${name} failed:`, error);
    }
  }

  const bridge: Bridge = {
    async attach() {
      if (start === undefined) return bridge.call("attach", { pid: process.pid });
      const { id } = Channel.parse(await nvim.request("nvim_get_chan_info", [0]));
      return bridge.call("attach", { channel: id, pid: process.pid });
    },
    async call(name, params) {
      const answer = Answer.parse(
        await nvim.executeLua("return require('gemini-bridge.host.rpc').call(...)", [
          name,
          params as never,
          ...(start === undefined ? [] : [start]),
        ]),
      );
      if (answer.error !== undefined) throw new EditorError(answer.error);
      const { results } = await contract;
      return results[name].parse(answer.result) as CallResult<typeof name>;
    },
    tell(name, params) {
      bridge.call(name, params).catch((error: unknown) => log.warn(`${name} failed:`, error));
    },
    dispatch(name, payload) {
      if (!events) waiting.push([name, payload]);
      else if (typeof name !== "string" || !Object.hasOwn(events, name)) log.warn("unknown event", name);
      else if (Object.hasOwn(handlers, name)) void run(name as EventName, payload);
      else waiting.push([name, payload]);
    },
    handle(more, earlier = []) {
      Object.assign(handlers, more);
      const due = [...earlier, ...waiting];
      waiting = [];
      for (const [name, payload] of due) bridge.dispatch(name, payload);
    },
  };
  return bridge;
}
