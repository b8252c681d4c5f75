/** Reads and types in terminal buffers of Neovim, through Lua. */
import { setTimeout as sleep } from "node:timers/promises";
import type { EventPayload } from "../contract/neovim.ts";
import type { Bridge, EventHandlers } from "../neovim/bridge.ts";

/**
 * Even an unchanged screen is read at this interval, because some decisions depend on how long it has been unchanged.
 */
const LOOK_INTERVAL_MS = 100;

/** A terminal that runs a CLI: a buffer of Neovim, or a pane of tmux. */
export interface Terminal {
  /** Name for messages. */
  readonly name: string;
  /** The CLI's directory, to which references are relative. */
  readonly cwd: string;
  /** Buffer of the terminal; absent for a pane. */
  readonly buf?: number;
  /** Starts to follow the screen. @returns a function that ends this */
  follow(): () => void;
  /**
   * Waits for a change of the screen, up to a short timeout.
   * @returns the screen; undefined after the program has ended
   */
  next(): Promise<{ readonly lines: readonly string[]; readonly isEditing: boolean } | undefined>;
  /**
   * Pastes a text. A buffer refuses it if the screen has changed since it was read.
   * @returns whether the text was pasted
   */
  paste(text: string): Promise<boolean>;
  /**
   * Types keys. A buffer refuses them if the screen has changed since it was read.
   * @returns whether the keys were typed
   */
  press(keys: string): Promise<boolean>;
  focus(): void;
}

export interface Buffers {
  terminal(buf: number, name: string, cwd: string): Terminal;
  readonly handlers: Pick<EventHandlers, "screen">;
}

/** @param signal aborted when the bridge stops */
export function createBuffers(bridge: Bridge, signal: AbortSignal): Buffers {
  /** By buffer that is followed: a function that is called with each new screen of the buffer. */
  const followed = new Map<number, (screen: EventPayload<"screen">) => void>();

  function terminal(buf: number, name: string, cwd: string): Terminal {
    let screen: EventPayload<"screen"> | undefined;
    let changed = () => {};
    let followers = 0;

    async function type(what: { paste: string } | { keys: string }): Promise<boolean> {
      if (!screen) return false;
      const { typed } = await bridge.call("screen_type", { buf, tick: screen.tick, ...what });
      if (!typed) screen = undefined; // Lua sends the changed screen
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
        const { lines, isEditing } = screen;
        return lines && { lines, isEditing };
      },
      paste: (text) => type({ paste: text }),
      press: (keys) => type({ keys }),
      focus() {}, // Lua focuses buffers itself
    };
  }

  return { terminal, handlers: { screen: (screen) => followed.get(screen.buf)?.(screen) } };
}
