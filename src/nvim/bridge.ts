/** Typed calls into Lua, and events out of it. */
import type { Neovim } from "neovim";
import * as z from "zod";
import type { Log } from "../log.ts";
import { Refusal } from "../refusal.ts";
import {
  type CallName,
  type CallResult,
  type Calls,
  type EventName,
  type EventPayload,
  events,
  results,
} from "./protocol.ts";

/** What is needed of the client, in either kind of host. */
export type Editor = Pick<Neovim, "executeLua" | "on" | "request">;

export type EventHandlers = { [N in EventName]: (payload: EventPayload<N>) => void | Promise<void> };

/** A call that the editor could not carry out; the message is a sentence for the user. */
export class EditorError extends Refusal {
  override readonly name = "EditorError";
}

const Answer = z.object({ result: z.unknown().optional(), error: z.string().optional() });

export interface Bridge {
  /**
   * Calls Lua.
   * @throws {EditorError} when Lua refuses, or answers something else than the contract says.
   */
  call<N extends CallName>(name: N, params: Calls[N]): Promise<CallResult<N>>;
  /** Like `call`, for what needs no answer: a failure is logged. */
  tell<N extends CallName>(name: N, params: Calls[N]): void;
  /** Hands an incoming event to its handler. What does not fit the contract is logged and dropped. */
  dispatch(name: unknown, payload: unknown): void;
}

/** `handlers` is asked for with each event, so that a companion may be built on the bridge it serves. */
export function createBridge(
  nvim: Editor,
  log: () => Log,
  handlers: () => EventHandlers | undefined,
): Bridge {
  const bridge: Bridge = {
    async call(name, params) {
      const answer = Answer.parse(
        await nvim.executeLua("return require('gemini-bridge.host.rpc').call(...)", [name, params as never]),
      );
      if (answer.error !== undefined) throw new EditorError(answer.error);
      return results[name].parse(answer.result) as CallResult<typeof name>;
    },
    tell(name, params) {
      bridge.call(name, params).catch((error: unknown) => log().warn(`${name} failed:`, error));
    },
    dispatch(name, payload) {
      if (typeof name !== "string" || !Object.hasOwn(events, name)) {
        log().warn("unknown event", name);
        return;
      }
      void handle(name as EventName, payload);
    },
  };

  async function handle<N extends EventName>(name: N, payload: unknown): Promise<void> {
    // Nothing awaits an event, so an error that is not caught here is lost (or ends the process).
    try {
      await handlers()?.[name](events[name].parse(payload) as EventPayload<N>);
    } catch (error) {
      log().error(`event ${name} failed:`, error);
    }
  }

  return bridge;
}
