/** Sends typed calls to Lua, and receives events from Lua. */
import type { Neovim } from "neovim";
import * as z from "zod";
import type { Log } from "../base/log.ts";
import { Refusal, sentence } from "../base/refusal.ts";
import type {
  AwaitedCall,
  Boot,
  CallName,
  CallResult,
  Calls,
  EventName,
  EventPayload,
  RequestName,
  RequestParams,
  RequestResult,
} from "../contract/neovim.ts";
import type { QuestionName, Questions } from "../contract/questions.ts";

/**
 * Method of the RPC notification that carries every event: `[name, payload]`. Must not end in `_event`, because the RPC
 * client drops such notifications.
 */
export const EVENT_METHOD = "gemini_bridge";

/**
 * Name of the function that receives events in the standard Node host. Notifications would not work in that host: it
 * would treat the name of an unknown method as the path of a plugin.
 */
export const EVENT_FUNCTION = "GeminiBridgeEvent";

/** The part of the Neovim client that the bridge uses, in the private and in the shared host. */
export type Editor = Pick<Neovim, "executeLua" | "notify" | "on" | "request">;

const SILENT = "Neovim does not answer, perhaps because it waits for the user at a prompt: try again later";

type LuaArguments = NonNullable<Parameters<Editor["executeLua"]>[1]>;

export type EventHandlers = { [N in EventName]: (payload: EventPayload<N>) => void | Promise<void> };

/** The results are the answers. The message of a thrown {@link Refusal} is the answer, too; other errors are logged. */
type RequestHandlers = {
  [N in RequestName]: (params: RequestParams<N>) => RequestResult<N> | Promise<RequestResult<N>>;
};

/** The handlers of events and requests, whose names differ. */
export type Handlers = Omit<EventHandlers, "request" | "answered"> & RequestHandlers;

type Contract = typeof import("../contract/neovim.ts");

const Result = z.object({ result: z.unknown().optional(), error: z.string().optional() });
const Channel = z.object({ id: z.number() });

interface Limits {
  timeout?: number | undefined;
  signal: AbortSignal;
}

export interface Bridge {
  /** Registers this host with Lua. @returns the data for the start of the host */
  attach(): Promise<Boot>;
  /** Calls Lua and waits for the result. @throws {Refusal} if Lua refuses the call */
  call<N extends AwaitedCall>(name: N, params: Calls[N]): Promise<CallResult<N>>;
  /**
   * Sends a request that Lua may answer later.
   * @param limits `timeout`: time to wait (ms), default: no limit; `signal`: ends the wait with the signal's reason
   * @returns the answer, not checked yet
   * @throws {Refusal} if Lua refuses the request or does not answer in time
   */
  ask<N extends QuestionName>(name: N, params: Questions[N], limits: Limits): Promise<unknown>;
  /** Calls Lua without an answer, which costs less. Lua logs a failure. */
  tell<N extends CallName>(name: N, params: Calls[N]): void;
  /**
   * Runs the handler of an event. Without a handler, the event waits until `handle` adds one, so that no early decision
   * is lost.
   */
  dispatch(name: unknown, payload: unknown): void;
  /**
   * Adds handlers, and runs them for the `earlier` events, then for the waiting events and requests. Logs and drops an
   * event that does not match the contract.
   */
  handle(handlers: Partial<Handlers>, earlier?: Boot["reviews"]["decisions"]): void;
}

/**
 * Creates the connection to Lua.
 * @param start number of this start, sent with each call. Set only in the shared host, which serves several starts
 */
export function createBridge(nvim: Editor, log: Log, start?: number): Bridge {
  const handlers: Partial<EventHandlers & RequestHandlers> = {
    request: answer,
    answered: ({ id, result, error }) => open.get(id)?.(error === undefined ? result : new Refusal(error)),
  };
  /** Functions that settle the requests which Lua has not answered yet, by id. */
  const open = new Map<number, (outcome: unknown) => void>();
  let lastId = 0;
  let waiting: [name: unknown, payload: unknown][] = [];
  let events: Contract["events"] | undefined;
  let requests: Contract["requests"] | undefined;
  // Loads the schemas after the first call was sent, while Neovim answers the call.
  const contract = new Promise(setImmediate).then(() => import("../contract/neovim.ts"));
  void contract.then((loaded) => {
    ({ events, requests } = loaded);
    bridge.handle({});
  });

  async function run<N extends EventName>(name: N, payload: unknown): Promise<void> {
    // Catches all errors, because no caller awaits an event. An error would be lost, or would end the process.
    try {
      const handler = handlers[name] as EventHandlers[N] | undefined;
      await handler?.(events?.[name].parse(payload) as EventPayload<N>);
    } catch (error) {
      log.error(`event ${name} failed:`, error);
    }
  }

  const isRequest = (name: string): name is RequestName =>
    requests !== undefined && Object.hasOwn(requests, name);

  /** Runs the handler of a request, and sends the answer. Without a handler, the request waits like an event. */
  async function answer(request: EventPayload<"request">): Promise<void> {
    const { id, name, params } = request;
    if (isRequest(name) && !Object.hasOwn(handlers, name)) return void waiting.push(["request", request]);
    try {
      bridge.tell("answered", { id, result: await resultOf(name, params) });
    } catch (error) {
      if (!(error instanceof Refusal)) log.error(`request ${name} failed:`, error);
      bridge.tell("answered", { id, error: sentence(error) });
    }
  }

  async function resultOf(name: string, params: unknown): Promise<unknown> {
    if (!requests || !isRequest(name)) throw new Error("unknown request");
    const handler = handlers[name] as (params: unknown) => unknown;
    return handler(requests[name].params.parse(params));
  }

  const inLua = (name: CallName, params: object) =>
    [name, params, ...(start === undefined ? [] : [start])] as LuaArguments;

  const bridge: Bridge = {
    async attach() {
      if (start === undefined) return bridge.call("attach", { pid: process.pid });
      const { id } = Channel.parse(await nvim.request("nvim_get_chan_info", [0]));
      return bridge.call("attach", { channel: id, pid: process.pid });
    },
    async call(name, params) {
      const answer = Result.parse(
        await nvim.executeLua("return require('gemini-bridge.calls').call(...)", inLua(name, params)),
      );
      if (answer.error !== undefined) throw new Refusal(answer.error);
      const { results } = await contract;
      return results[name].parse(answer.result) as CallResult<typeof name>;
    },
    async ask(name, params, { timeout, signal }) {
      signal.throwIfAborted();
      const id = ++lastId;
      const waiting = new AbortController();
      try {
        return await new Promise((resolve, reject) => {
          open.set(id, (outcome) => (outcome instanceof Error ? reject(outcome) : resolve(outcome)));
          signal.addEventListener("abort", () => reject(signal.reason), { signal: waiting.signal });
          const timer = timeout === undefined ? undefined : setTimeout(reject, timeout, new Refusal(SILENT));
          waiting.signal.addEventListener("abort", () => clearTimeout(timer));
          bridge.call("request", { id, name, params }).catch((error: unknown) => {
            reject(error instanceof Refusal ? error : new Refusal("Neovim has exited"));
          });
        });
      } finally {
        open.delete(id);
        waiting.abort();
      }
    },
    tell(name, params) {
      nvim.notify("nvim_exec_lua", ["require('gemini-bridge.calls').tell(...)", inLua(name, params)]);
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
