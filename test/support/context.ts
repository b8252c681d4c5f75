/** Starts a Neovim in which the test itself is the host, to check the contexts for CLIs. */
import { isDeepStrictEqual } from "node:util";
import type { Test } from "tap";
import { type Context, createContext } from "../../src/context/context.ts";
import { SUBSCRIPTION } from "../../src/context/snapshot-subscription.ts";
import { type File, IdeContext } from "../../src/contract/companion.ts";
import { Snapshot } from "../../src/contract/neovim.ts";
import { EVENT_METHOD } from "../../src/neovim/bridge.ts";
import { type Nvim, type NvimOptions, startNvim } from "./nvim.ts";
import type { Scope } from "./scope.ts";
import { waitFor } from "./wait.ts";

/** A message, and the time when the message arrived (`performance.now()`). */
export interface Received<T> {
  at: number;
  value: T;
}

/** A Neovim in which the test itself is the host, with real RPC on both sides. Computes contexts from snapshots. */
export class ContextHost {
  readonly snapshots: Received<Snapshot>[] = [];
  readonly contexts: Received<IdeContext>[] = [];
  readonly context: Context = createContext({ changed: () => this.#received() });

  constructor(readonly nvim: Nvim) {
    nvim.nvim.on("notification", (method: string, [event, payload]: unknown[]) => {
      if (method !== EVENT_METHOD || event !== "context") return;
      const snapshot = Snapshot.parse(payload);
      this.snapshots.push({ at: performance.now(), value: snapshot });
      if (this.context.apply(snapshot)) this.#received();
    });
  }

  #received(): void {
    this.contexts.push({ at: performance.now(), value: IdeContext.parse(this.context.current()) });
  }

  /**
   * Calls Lua as the host does.
   * @throws Error with Lua's message
   */
  async call(name: string, params: object): Promise<unknown> {
    const answer = await this.nvim.lua("return require('gemini-bridge.calls').call(...)", name, params);
    const { result, error } = answer as { result?: unknown; error?: string };
    if (error !== undefined) throw new Error(error);
    return result;
  }

  async attach(): Promise<void> {
    await this.call("attach", { channel: await this.nvim.nvim.channelId, pid: process.pid });
  }

  /** Subscribes to snapshots. Default: the host's options. */
  async subscribe(options: Partial<typeof SUBSCRIPTION> = {}): Promise<void> {
    await this.call("context_subscribe", { ...SUBSCRIPTION, ...options });
  }

  files(): File[] {
    return this.context.current().workspaceState?.openFiles ?? [];
  }

  active(): File | undefined {
    return this.files().find(({ isActive }) => isActive);
  }

  /** Returns the paths of the open files. Paths in the workspace are relative. */
  paths(): string[] {
    const { workspace } = this.nvim.dirs;
    return this.files().map(({ path }) =>
      path.startsWith(`${workspace}/`) ? path.slice(workspace.length + 1) : path,
    );
  }

  /** Waits until `read` returns `wanted`, and asserts the equality. */
  async until<T>(t: Test, read: () => T, wanted: T, what: string): Promise<void> {
    await waitFor(() => isDeepStrictEqual(read(), wanted), what, 2000).catch(() => {});
    t.strictSame(read(), wanted, what);
  }
}

/**
 * Lua that waits until the program of a terminal runs. Before this moment, the process is still a fork of Neovim. If
 * the terminal is closed then, Neovim itself exits, because the signal handler of the fork reports SIGHUP to Neovim.
 * Seen once in 2,000 runs of `:terminal | bd!` (0.10.4 and 0.12.4).
 */
const UNTIL_TERMINAL_RUNS = `
  vim.api.nvim_create_autocmd('TermOpen', { callback = function(event)
    local program = ('/proc/%d/exe'):format(vim.fn.jobpid(vim.bo[event.buf].channel))
    while vim.uv.fs_readlink(program) == vim.uv.exepath() do
      vim.uv.sleep(1)
    end
  end })`;

/** Starts a Neovim and attaches the test as the host. Default: a CLI counts as connected. */
export async function startContext(t: Scope, options: NvimOptions & { connected?: boolean } = {}) {
  const nvim = await startNvim(t, { ...options, init: `${UNTIL_TERMINAL_RUNS}\n${options.init ?? ""}` });
  const host = new ContextHost(nvim);
  t.teardown(() => host.context.close());
  await host.attach();
  if (options.connected ?? true) {
    await host.subscribe();
    await waitFor(() => host.snapshots.some(({ value }) => !value.more), "the first snapshot");
  }
  return { host, nvim };
}
