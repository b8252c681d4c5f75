/**
 * Queues the user's prompts for CLIs, delivers them in order, and ends the sentence "The prompt waits until …". Also
 * reports to Lua how a delivery ends.
 */
import type { Log } from "../base/log.ts";
import { sentence } from "../base/refusal.ts";
import type { CallResult, EventPayload } from "../contract/neovim.ts";
import type { Client } from "../http/client.ts";
import type { EventHandlers } from "../neovim/bridge.ts";
import { createDestinations, type DestinationsOptions } from "./destination.ts";
import type { Cli } from "./screen-state.ts";
import { drawingOf, type Reading } from "./screens.ts";
import { createBuffers } from "./terminal.ts";
import { createIdeEnabler, type Unconnected } from "./type-ide-enable.ts";
import { type Delivery, deliver, type Prompt, type Waiting, type WaitState } from "./wait-and-type.ts";

/**
 * Delay before the user is told that a prompt waits (ms). Applies to states of the screen that usually end by
 * themselves (`PASSING`).
 */
const NOTICE_DELAY_MS = 1_000;
const PASSING: readonly string[] = ["absent", "menu"] satisfies Reading["state"][];

/** Ends the sentence "The prompt waits until …", by state of the screen. */
const REASONS: Record<WaitState, (name: string) => string> = {
  question: (name) => `you answer the question in ${name}`,
  typed: (name) => `you send or delete your text in ${name}`,
  menu: (name) => `you close the menu in ${name}`,
  elsewhere: (name) => `you leave the shell mode or the search of ${name} with Esc`,
  scrolled: (name) => `you leave the copy mode of ${name}`,
  absent: (name) => `${name} is ready for input`,
  empty: (name) => `${name} accepts input`,
};

interface Prompts {
  readonly handlers: Pick<EventHandlers, "prompt" | "prompts_cancelled" | "screen">;
  /** Updates the list of terminals of `:Gemini`. */
  terminals(event: EventPayload<"terminals">): void;
  /** Connects a CLI, or tells the user how to connect the CLI. */
  connect(cli: Unconnected): void;
  close(): void;
}

interface Queued extends Prompt {
  /** The only profile whose CLIs may get the prompt. */
  readonly cli: string | undefined;
}

interface PromptsOptions extends Omit<DestinationsOptions, "buffers" | "signal"> {
  log: Log;
  /** Counts the connected CLIs of a profile. CLIs that show "Disconnected" do not count. */
  connected(cli: string): number;
  /** Returns the client in a terminal of `:Gemini`; undefined if the client is unknown or not connected. */
  clientIn(terminal: string): Client | undefined;
}

export function createPrompts(options: PromptsOptions): Prompts {
  const { bridge, log, clis } = options;
  const closing = new AbortController();
  const { signal } = closing;
  const buffers = createBuffers(bridge, signal);
  const destinations = createDestinations({ ...options, buffers, signal });
  /** Waiting prompts by terminal of `:Gemini`. The key "" is for prompts without a terminal. */
  const queues = new Map<string, Queued[]>();

  /** Creates a function that reports why a prompt waits. Tells the user each reason only once. */
  function reporter(id: number, name: string): Waiting {
    const said = new Set<WaitState>();
    let last: WaitState | undefined;
    return (state, since) => {
      const isDue = !PASSING.includes(state) || Date.now() - since >= NOTICE_DELAY_MS;
      const say = isDue && !said.has(state);
      if (say) said.add(state);
      if (say || state !== last) bridge.tell("prompt_waits", { id, reason: REASONS[state](name), say });
      last = state;
    };
  }

  /**
   * Types the prompt. If the CLI can insert file references itself, lets the CLI do so, and types only the rest of the
   * prompt.
   */
  async function enter(
    cli: Cli,
    prompt: Prompt,
    { text, references = [], userText }: CallResult<"prompt_found">,
  ): Promise<Delivery> {
    const { name, cwd } = cli.terminal;
    const waiting = reporter(prompt.id, name);
    // Adds a blank. Without the blank, the CLI would offer completions after a reference at the end of the text.
    const type = (typed: string) =>
      deliver(cli, prompt, { text: `${typed} `, enter: prompt.submit }, waiting);
    const mention = options.clientIn(name)?.mention?.(references, cwd);
    if (!mention) return type(text);
    const { shows, insert } = mention;
    const isAll = userText === "";
    const delivery = await deliver(
      cli,
      prompt,
      { text: shows, enter: prompt.submit && isAll, insert },
      waiting,
    );
    return isAll || !delivery.typed ? delivery : type(userText);
  }

  async function handle(terminal: string, prompt: Queued): Promise<void> {
    const { id } = prompt;
    const cli = await (terminal === "" ? destinations.outside(prompt.cli) : destinations.started(terminal));
    if (prompt.isCancelled) return;
    if (!cli && terminal === "") return bridge.tell("prompt_open", { id });
    const name = cli?.terminal.name ?? terminal;
    let delivery: Delivery = { typed: false };
    if (cli) {
      const { cwd } = cli.terminal;
      const quotesPaths = cli.drawing?.quotesPaths ?? false;
      const found = await bridge.call("prompt_found", { id, name, cwd, quotesPaths });
      delivery = await enter(cli, prompt, found);
    }
    const { typed, problem = typed ? undefined : `The prompt was not sent: ${name} has ended.` } = delivery;
    bridge.tell("prompt_done", { id, typed, problem });
  }

  async function work(terminal: string, queue: Queued[]): Promise<void> {
    for (let prompt = queue[0]; prompt; prompt = queue[0]) {
      try {
        await handle(terminal, prompt);
      } catch (error) {
        if (signal.aborted) return; // Lua keeps the texts of the prompts
        log.warn("a prompt was not delivered:", error);
        const problem = `The prompt was not sent: ${sentence(error)}`;
        bridge.tell("prompt_done", { id: prompt.id, typed: false, problem });
      }
      queue.shift();
    }
  }

  const connect = createIdeEnabler({
    bridge,
    destinations,
    drawingOf(terminal) {
      const like = clis.find(({ name }) => name === destinations.profileOf(terminal))?.like;
      return like && drawingOf(like);
    },
    connected: (terminal) => options.connected(destinations.profileOf(terminal) ?? ""),
    signal,
  });

  return {
    handlers: {
      ...buffers.handlers,
      prompt({ id, submit, terminal = "", cli }) {
        const queue = queues.get(terminal) ?? [];
        queues.set(terminal, queue);
        queue.push({ id, submit, cli, isCancelled: false });
        if (queue.length === 1) return work(terminal, queue);
        bridge.tell("prompt_waits", { id, reason: "the earlier prompts are delivered", say: false });
      },
      prompts_cancelled() {
        for (const queue of queues.values()) for (const prompt of queue) prompt.isCancelled = true;
      },
    },
    terminals: destinations.update,
    connect(cli) {
      connect(cli).catch((error: unknown) => signal.aborted || log.warn("/ide enable was not typed:", error));
    },
    close: () => closing.abort(),
  };
}
