/** Defines the two entries of the bundle: the remote plugin and the private host. */
import "./base/interpret-schemas.ts";
import type { NvimPlugin } from "neovim";
import * as z from "zod";
import packageJson from "../package.json" with { type: "json" };
import { type Companion, createCompanion } from "./host.ts";
import { type Editor, EVENT_FUNCTION, EVENT_METHOD } from "./neovim/bridge.ts";
import { exitNow, exitOnFailure, exitWithEditor } from "./neovim/clean-up-when-neovim-ends.ts";
import { connect } from "./neovim/client.ts";

/** Serves one Neovim. Each start creates a new companion. */
function createHost(nvim: Editor, stopped: () => void) {
  let companion: Companion | undefined;
  exitWithEditor(
    nvim,
    () => companion?.rejectReviews(),
    () => companion?.abandon(),
  );
  return {
    start(number?: number) {
      companion = createCompanion({ version: packageJson.version, nvim, number, stopped });
      return companion.start();
    },
    dispatch: (name: unknown, payload: unknown) => companion?.dispatch(name, payload),
    log: () => companion?.log,
  };
}

/** Runs the private host, connected over standard input and output. */
export function runPrivateHost(): void {
  const nvim = connect();
  const host = createHost(nvim, exitNow);
  nvim.on("notification", (method: string, [name, payload]: unknown[]) => {
    if (method === EVENT_METHOD) host.dispatch(name, payload);
  });
  exitOnFailure(host.log);
  void host.start();
}

/**
 * The remote plugin for `:UpdateRemotePlugins`. Registers functions but no autocommands, so that no event in Neovim
 * starts Node.
 */
export function plugin(plugin: NvimPlugin): void {
  const host = createHost(plugin.nvim, () => {});
  const start = ([number]: unknown[]) => host.start(z.number().optional().parse(number));
  plugin.registerFunction("GeminiBridgeStart", start, { sync: false });
  plugin.registerFunction(EVENT_FUNCTION, ([name, payload]: unknown[]) => host.dispatch(name, payload), {
    sync: false,
  });
}

/**
 * Describes the MCP server `neovim`. The build stores this description for dist/neovim.cjs, which uses it while no
 * editor runs.
 */
export const offer = async () =>
  (await import("./model/server-description.ts")).describeOffer(packageJson.version);
