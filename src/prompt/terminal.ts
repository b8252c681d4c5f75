/** Reads and types in Neovim's terminal buffers, through Lua. */
import { setTimeout as sleep } from "node:timers/promises";
import type { EventPayload } from "../contract/neovim.ts";
import type { Bridge, EventHandlers } from "../neovim/bridge.ts";
import type { Appearance } from "./screens.ts";

/**
 * Interval at which even an unchanged screen is read (ms): some decisions depend on how long the screen has not
 * changed.
 */
const LOOK_INTERVAL_MS = 100;

/** The screen of a terminal. */
export interface Screen {
  readonly lines: readonly string[];
  /** Absent if nothing is known about the text in the prompt. */
  readonly appearance?: Appearance;
  /** Whether the CLI waits for an external editor. */
  readonly isEditing: boolean;
  /** Whether the user scrolls back in a tmux pane (copy mode), in which tmux cannot paste as one text. */
  readonly isScrolled?: boolean;
}

/** A terminal that runs a CLI: a buffer of Neovim, or a pane of tmux. */
export interface Terminal {
  /** Name of the terminal for messages. */
  readonly name: string;
  /** Directory of the CLI. File references are relative to this directory. */
  readonly cwd: string;
  /** Buffer of the terminal; absent for a tmux pane. */
  readonly buf?: number;
  /** Starts to follow the screen. @returns a function that stops following */
  follow(): () => void;
  /**
   * Waits for a change of the screen, up to a short timeout.
   * @returns the screen; undefined after the program has ended
   */
  next(): Promise<Screen | undefined>;
  /**
   * Pastes a text without control characters, except line breaks. In a terminal of Neovim, does nothing if the screen
   * has changed since it was read.
   * @returns whether the text was pasted
   */
  paste(text: string): Promise<boolean>;
  /**
   * Types keys. In a terminal of Neovim, does nothing if the screen has changed since it was read.
   * @returns whether the keys were typed
   */
  press(keys: string): Promise<boolean>;
}

export interface Buffers {
  terminal(buf: number, name: string, cwd: string): Terminal;
  readonly handlers: Pick<EventHandlers, "screen">;
}

/**
 * Creates the access to Neovim's terminal buffers.
 * @param signal aborted when the bridge stops
 */
export function createBuffers(bridge: Bridge, signal: AbortSignal): Buffers {
  /** For each followed buffer, a function that gets every new screen. */
  const followed = new Map<number, (screen: EventPayload<"screen">) => void>();

  function terminal(buf: number, name: string, cwd: string): Terminal {
    let screen: EventPayload<"screen"> | undefined;
    let changed = () => {};
    let followers = 0;

    async function type(what: { paste: string } | { keys: string }): Promise<boolean> {
      const read = screen;
      if (!read) return false;
      const { typed } = await bridge.call("screen_type", { buf, tick: read.tick, ...what });
      // Lua sends the changed screen after a refusal. On a busy machine, this screen may already have arrived, and Lua
      // does not send it again.
      if (!typed && screen === read) screen = undefined;
      return typed;
    }

    return {
      name,
      cwd,
      buf,
      follow() {
        followers += 1;
        if (followers === 1) {
          followed.set(buf, (shown) => {
            screen = shown;
            changed();
          });
          bridge.tell("screen_watch", { buf, on: true });
        }
        return () => {
          followers -= 1;
          if (followers > 0) return;
          followed.delete(buf);
          screen = undefined;
          bridge.tell("screen_watch", { buf, on: false });
        };
      },
      async next() {
        do {
          const change = new Promise<void>((resolve) => {
            changed = resolve;
          });
          await Promise.race([change, sleep(LOOK_INTERVAL_MS, undefined, { signal })]);
        } while (!screen);
        const { lines, isEditing, suggested, isUntouched } = screen;
        return lines && { lines, isEditing, appearance: { suggested, isUntouched } };
      },
      paste: (text) => type({ paste: text }),
      press: (keys) => type({ keys }),
    };
  }

  return { terminal, handlers: { screen: (screen) => followed.get(screen.buf)?.(screen) } };
}
