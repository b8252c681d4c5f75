/** Starts the subject of a measurement: this plugin, or Neovim without plugins. */
import {
  type CompanionClient,
  connectClient,
  type Discovery,
  readDiscovery,
} from "../test/support/client.ts";
import { HookedAgent } from "../test/support/hooked-agent.ts";
import { type Nvim, type NvimOptions, root, startNvim } from "../test/support/nvim.ts";
import type { Scope } from "../test/support/scope.ts";
import { waitFor } from "../test/support/wait.ts";

export { within } from "../test/support/scope.ts";

export interface Subject {
  name: string;
  /** Lua for init.lua. Puts the plugin on 'runtimepath' and sets it up. */
  init: string;
  /** Lua that starts the bridge. */
  start: string;
  /** Lua that accepts the pending proposal. */
  accept: string;
}

/** Disables Neovim's own plugins that also handle cursor and buffer events. */
const QUIET = "vim.g.loaded_matchparen, vim.g.loaded_netrwPlugin = 1, 1\n";

export const ours: Subject = {
  name: "gemini-bridge.nvim",
  init: "require('gemini-bridge').setup()",
  start: "vim.cmd.GeminiStart()",
  accept: "vim.cmd.GeminiAccept()",
};

/** Neovim without plugins. */
export const plain: Subject = { name: "Neovim", init: "", start: "", accept: "" };

export function startSubject(scope: Scope, subject: Subject, options: NvimOptions = {}): Promise<Nvim> {
  // Removes this plugin if it is not measured. The test helpers have added it to 'runtimepath'.
  const remove = subject === ours ? "" : `vim.opt.runtimepath:remove(${JSON.stringify(root)})\n`;
  return startNvim(scope, {
    ...options,
    init: QUIET + remove + subject.init + (options.init ?? ""),
  });
}

/** The discovery file of this plugin. */
export function discoveryOf(nvim: Nvim): Discovery {
  const [file] = readDiscovery(nvim.dirs.tmp);
  if (!file) throw new Error("no discovery file");
  return file;
}

/** Returns an agent that reports its edits to the bridge. */
export function agentOf(nvim: Nvim): HookedAgent {
  return new HookedAgent({ nvim, file: () => discoveryOf(nvim) });
}

export interface Running {
  nvim: Nvim;
  clients: CompanionClient[];
  /** The client that has connected first. */
  readonly client: CompanionClient;
}

/** Starts a Neovim with a running bridge and connected clients. The clients have received the first context. */
export async function startBridge(
  scope: Scope,
  subject: Subject,
  { clients = 1, ...options }: NvimOptions & { clients?: number } = {},
): Promise<Running> {
  const nvim = await startSubject(scope, subject, options);
  await nvim.lua(subject.start);
  const { port, content } = await waitFor(
    () => readDiscovery(nvim.dirs.tmp)[0],
    "the discovery file",
    20_000,
  );
  const token = content.authToken;
  const connected: CompanionClient[] = [];
  for (let i = 0; i < clients; i += 1) connected.push(await connectClient(scope, { port, token }));
  for (const client of connected) {
    // Fires events until the client has a context.
    const told = () => client.waitForNotification("ide/contextUpdate", undefined, 500).catch(() => undefined);
    for (let i = 0; i < 40 && !(await told()); i += 1) {
      await nvim.lua("vim.api.nvim_exec_autocmds('CursorMoved', {})");
    }
  }
  return {
    nvim,
    clients: connected,
    get client() {
      const [first] = connected;
      if (!first) throw new Error("no client");
      return first;
    },
  };
}
