/** Entry of the remote plugin and of the private host: wiring only. */
import { setFlagsFromString } from "node:v8";
import type { NvimPlugin } from "neovim";
import * as z from "zod";
import packageJson from "../package.json" with { type: "json" };
import { type Companion, createCompanion } from "./companion.ts";
import { openLog } from "./log.ts";
import { createBridge, type Editor } from "./nvim/bridge.ts";
import { connect } from "./nvim/client.ts";
import { EVENT_FUNCTION, EVENT_METHOD } from "./nvim/protocol.ts";

const ChannelInfo = z.object({ id: z.number() });

// Compiling a parser for each schema costs more than a message a second ever gains: 8 ms of a start.
z.config({ jitless: true });

/** Serves one Neovim; a stopped companion is followed by a new one. */
function createHost(nvim: Editor, stopped: () => void) {
  let companion: Companion | undefined;
  const log = () => companion?.log() ?? openLog("", "error");
  const bridge = createBridge(nvim, log, () => companion?.handlers);
  const abandon = () => companion?.abandon();
  const leave = () => {
    abandon();
    process.exit();
  };
  // A killed Neovim shows in its closed channel only; one that quits ends its children by signal.
  nvim.on("disconnect", leave);
  for (const signal of ["SIGTERM", "SIGHUP", "SIGINT"] as const) process.on(signal, leave);
  process.on("exit", abandon);
  return {
    async start() {
      const info = ChannelInfo.parse(await nvim.request("nvim_get_chan_info", [0]));
      companion = createCompanion({ version: packageJson.version, bridge, channel: info.id, stopped });
      await companion.start();
    },
    dispatch: bridge.dispatch,
    log,
  };
}

/** Runs as a process of Neovim's own, connected by standard input and output. */
export function runPrivateHost(): void {
  const nvim = connect();
  const host = createHost(nvim, () => process.exit(0));
  nvim.on("notification", (method: string, [name, payload]: unknown[]) => {
    if (method === EVENT_METHOD) host.dispatch(name, payload);
  });
  // A thousand reviews leave 74 MB resident: 126 without the first, up to 88 without the second, which keeps the young
  // generation small, 77 without the third, which has a function run for longer before the optimizing compiler takes
  // it, and its memory. Given on the command line they would have Node compile its own modules anew, 30 ms; the first
  // event comes with the first client, when they are loaded.
  const flags = "--optimize-for-size --semi-space-growth-factor=1 --interrupt-budget=1000000";
  nvim.once("notification", () => setFlagsFromString(flags));
  for (const failure of ["uncaughtException", "unhandledRejection"] as const) {
    process.on(failure, (error: unknown) => {
      host.log().error(`${failure}:`, error);
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
      process.exit(1);
    });
  }
  void host.start();
}

/** Registered by `:UpdateRemotePlugins` for the standard host. Functions only: nothing starts Node by itself. */
export function plugin(plugin: NvimPlugin): void {
  const host = createHost(plugin.nvim, () => {});
  plugin.registerFunction("GeminiBridgeStart", () => host.start(), { sync: false });
  plugin.registerFunction(EVENT_FUNCTION, ([name, payload]: unknown[]) => host.dispatch(name, payload), {
    sync: false,
  });
}

/** For the build: what has run once when V8's code cache is made need not be compiled at run time. */
export { prepare } from "./http/sessions.ts";
