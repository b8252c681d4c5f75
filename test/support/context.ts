/** Starts a Neovim whose host is the test, to check its contexts. */
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

/** A message and the time of its arrival (`performance.now()`). */
export interface Received<T> {
  at: number;
  value: T;
}

/** A Neovim whose host is the test: real RPC on both sides. Computes the contexts from the snapshots. */
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

  /** Calls Lua like the host. @throws Error with Lua's message */
  async call(name: string, params: object): Promise<unknown> {
    const answer = await this.nvim.lua("return require('gemini-bridge.host.rpc').call(...)", name, params);
    const { result, error } = answer as { result?: unknown; error?: string };
    if (error !== undefined) throw new Error(error);
    return result;
  }

  async attach(): Promise<void> {
    await this.call("attach", { channel: await this.nvim.nvim.channelId, pid: process.pid });
  }

  /** Subscribes to snapshots, by default with the host's options. */
  async subscribe(options: Partial<typeof SUBSCRIPTION> = {}): Promise<void> {
    await this.call("context_subscribe", { ...SUBSCRIPTION, ...options });
  }

  files(): File[] {
    return this.context.current().workspaceState?.openFiles ?? [];
  }

  active(): File | undefined {
    return this.files().find(({ isActive }) => isActive);
  }

  /** Paths of the open files, relative to the workspace if they are in it. */
  paths(): string[] {
    const { workspace } = this.nvim.dirs;
    return this.files().map(({ path }) =>
      path.startsWith(`${workspace}/`) ? path.slice(workspace.length + 1) : path,
    );
  }

  /** Waits until `read` returns `wanted`, then asserts it. */
  async until<T>(t: Test, read: () => T, wanted: T, what: string): Promise<void> {
    await waitFor(() => isDeepStrictEqual(read(), wanted), what, 2000).catch(() => {});
    t.strictSame(read(), wanted, what);
  }
}

/**
 * Lua that waits until a terminal's program runs. If a terminal is closed while its process is still a fork
 * of Neovim, Neovim itself ends: the fork's signal handler reports the SIGHUP to the parent (once in 2,000
 * `:terminal | bd!`, 0.10.4 and 0.12.4).
 */
const UNTIL_TERMINAL_RUNS = `
  vim.api.nvim_create_autocmd('TermOpen', { callback = function(event)
    local program = ('/proc/%d/exe'):format(vim.fn.jobpid(vim.bo[event.buf].channel))
    while vim.uv.fs_readlink(program) == vim.uv.exepath() do
      vim.uv.sleep(1)
    end
  end })`;

/** Starts Neovim with the bridge attached to the test. By default, a CLI counts as connected. */
export async function startContext(
  t: Scope,
  options: NvimOptions & { connected?: boolean } = {},
): Promise<ContextHost> {
  const host = new ContextHost(
    await startNvim(t, { ...options, init: `${UNTIL_TERMINAL_RUNS}\n${options.init ?? ""}` }),
  );
  t.teardown(() => host.context.close());
  await host.attach();
  if (options.connected ?? true) {
    await host.subscribe();
    await waitFor(() => host.snapshots.some(({ value }) => !value.more), "the first snapshot");
  }
  return host;
}
