/** Makes the bridge known to CLIs: the terminal's environment, the discovery file, and what the editor is told of it. */
import { delimiter } from "node:path";
import { loopbackVariables } from "./cli/container.ts";
import type { Address } from "./http/guard.ts";
import { createDiscovery } from "./ide/discovery.ts";
import { CONNECT, writeSystemDefaults } from "./ide/system-defaults.ts";
import { type Environment, FOREIGN_ENVIRONMENT } from "./ide/wire.ts";
import { workspacePaths } from "./ide/workspace.ts";
import type { Log } from "./log.ts";
import type { Bridge } from "./nvim/bridge.ts";
import type { Boot, Status } from "./nvim/protocol.ts";

export interface WorkspacePublisher {
  /**
   * Publishes these directories; calls that overlap are carried out one after the other, so that the last ones stay.
   * @throws {DiscoveryError} when the file cannot be written, an abort when the bridge stops meanwhile
   */
  publish(directories: readonly string[]): Promise<void>;
  /** Puts the discovery file back if it is gone. @throws {DiscoveryError} */
  restore(): void;
  /** Deletes the files, synchronously. May run twice. */
  remove(): void;
}

export interface WorkspacePublisherOptions {
  bridge: Bridge;
  log: Log;
  address: Address;
  boot: Pick<Boot, "idePid" | "stateDirectory" | "connect">;
  report: (change: Partial<Status>) => void;
  /** Aborted when the bridge stops: from then on nothing is published. */
  signal: AbortSignal;
}

export function createWorkspacePublisher(options: WorkspacePublisherOptions): WorkspacePublisher {
  const { bridge, log, report, signal } = options;
  const { idePid, stateDirectory, connect } = options.boot;
  const { port, tokens } = options.address;
  const { gemini: token = "" } = tokens;
  const defaults = writeSystemDefaults(stateDirectory, connect ? [CONNECT] : [], process.env);
  const connection = connect ? defaults.obstacle : "the option terminal.connect is off";
  if (connection !== undefined) log.info("CLIs do not connect without a question:", connection);
  const discovery = createDiscovery({ pid: idePid, port, authToken: token, report: log.warn });
  /** Directories that the user has been told of. */
  const refused = new Set<string>();
  let last: Promise<void> = Promise.resolve();
  // Before the file is written, so that Lua can remove it should this process be killed meanwhile.
  report({ port, pid: process.pid, discoveryFile: discovery.path, tokens, connection });

  async function publish(directories: readonly string[]): Promise<void> {
    signal.throwIfAborted();
    const paths = await workspacePaths(directories);
    signal.throwIfAborted();
    for (const directory of paths.refused) {
      if (!refused.has(directory)) bridge.tell("message", { level: "warn", text: cannotBeListed(directory) });
      refused.add(directory);
    }
    const set: Environment = {
      GEMINI_CLI_IDE_SERVER_PORT: String(port),
      GEMINI_CLI_IDE_WORKSPACE_PATH: paths.open.join(delimiter),
      GEMINI_CLI_IDE_AUTH_TOKEN: token,
      GEMINI_CLI_IDE_PID: String(idePid),
      ...(defaults.path !== undefined && { GEMINI_CLI_SYSTEM_DEFAULTS_PATH: defaults.path }),
    };
    const clis = loopbackVariables(process.env);
    await bridge.call("set_environment", { set: { ...set }, unset: FOREIGN_ENVIRONMENT, clis });
    signal.throwIfAborted();
    // Last, so that a CLI that finds the file finds everything else in place.
    discovery.publish(paths.listed);
    log.debug("the discovery file was written:", discovery.path, paths.listed);
    report({ state: "running", workspace: paths.listed });
  }

  return {
    publish(directories) {
      const next = () => publish(directories);
      last = last.then(next, next);
      return last;
    },
    restore: discovery.restore,
    remove() {
      discovery.remove();
      defaults.remove();
    },
  };
}

function cannotBeListed(directory: string): string {
  return (
    `Gemini CLI cannot be told of ${directory}: the "${delimiter}" in its name separates directories there. ` +
    "A CLI that is started in it does not find this Neovim."
  );
}
