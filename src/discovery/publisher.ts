/** Makes the bridge known to CLIs: the terminal's environment, the discovery files, and what the editor is told of it. */
import { delimiter } from "node:path";
import type { Log } from "../base/log.ts";
import type { Boot, Status } from "../contract/neovim.ts";
import type { Address } from "../http/guard.ts";
import type { Bridge } from "../neovim/bridge.ts";
import { defaultSettings } from "../profiles/default-settings.ts";
import type { Profile } from "../profiles/profiles.ts";
import { writeSystemDefaults } from "../profiles/system-defaults.ts";
import { loopbackVariables } from "../system/container.ts";
import { createAnnouncements } from "./announcements.ts";
import { canBeJoined, workspacePaths } from "./workspace.ts";

export interface WorkspacePublisher {
  /**
   * Publishes these directories; calls that overlap are carried out one after the other, so that the last ones stay.
   * @throws {DiscoveryError} when the file cannot be written, an abort when the bridge stops meanwhile
   */
  publish(directories: readonly string[]): Promise<void>;
  /** Puts back discovery files that are gone. @throws {DiscoveryError} */
  restore(): void;
  /** The user has come to this editor. */
  refresh(): void;
  /** Deletes the files, synchronously. May run twice. */
  remove(): void;
}

export interface WorkspacePublisherOptions {
  bridge: Bridge;
  log: Log;
  address: Address;
  profiles: readonly Profile[];
  boot: Pick<Boot, "idePid" | "editorPid" | "stateDirectory" | "connect" | "hookScript" | "tools">;
  report: (change: Partial<Status>) => void;
  /** Aborted when the bridge stops: from then on nothing is published. */
  signal: AbortSignal;
}

export function createWorkspacePublisher(options: WorkspacePublisherOptions): WorkspacePublisher {
  const { bridge, log, report, signal, profiles } = options;
  const { idePid: pid, editorPid, stateDirectory, connect, hookScript, tools } = options.boot;
  const { port, tokens } = options.address;
  const defaults = profiles.map((profile) => {
    const parts = connect ? defaultSettings(profile, hookScript, tools.trust) : [];
    return { profile, ...writeSystemDefaults(profile, stateDirectory, parts, process.env) };
  });
  const obstacle = defaults.find(({ obstacle }) => obstacle !== undefined)?.obstacle;
  const connection = connect ? obstacle : "the option terminal.connect is off";
  if (connection !== undefined) log.info("CLIs do not connect without a question:", connection);
  /** What the user has been told of: directories and CLIs. */
  const told = new Set<string>();
  const tell = (what: string, text: string) => {
    if (!told.has(what)) bridge.tell("message", { level: "warn", text });
    told.add(what);
  };
  const announcements = createAnnouncements({
    profiles,
    announcement: ({ name }) => ({ pid, editorPid, port, authToken: tokens[name] ?? "" }),
    log,
    failed: ({ name, label }, { message }) => {
      log.warn(`${label} does not find this editor:`, message);
      tell(name, `${label} does not find this Neovim: ${message}`);
    },
  });
  let last: Promise<void> = Promise.resolve();
  // Before the file is written, so that Lua can remove it should this process be killed meanwhile.
  report({ port, pid: process.pid, discoveryFiles: announcements.paths, tokens, connection });

  async function publish(directories: readonly string[]): Promise<void> {
    signal.throwIfAborted();
    const paths = await workspacePaths(directories);
    signal.throwIfAborted();
    for (const directory of paths.open) {
      if (!canBeJoined(directory)) tell(directory, cannotBeListed(directory));
    }
    const { set, unset } = announcements.variables(paths.open);
    for (const { profile, path } of defaults) {
      if (profile.defaults && path !== undefined) set[profile.defaults.variable] = path;
    }
    await bridge.call("set_environment", { set, unset, clis: loopbackVariables(process.env) });
    signal.throwIfAborted();
    // Last, so that a CLI that finds the file finds everything else in place.
    announcements.publish(paths.listed);
    log.debug("the discovery files were written:", announcements.paths, paths.listed);
    report({ state: "running", workspace: paths.listed.filter(canBeJoined) });
  }

  return {
    publish(directories) {
      const next = () => publish(directories);
      last = last.then(next, next);
      return last;
    },
    restore: announcements.restore,
    refresh: announcements.refresh,
    remove() {
      announcements.remove();
      for (const { remove } of defaults) remove();
    },
  };
}

function cannotBeListed(directory: string): string {
  return (
    `Gemini CLI cannot be told of ${directory}: the "${delimiter}" in its name separates directories there. ` +
    "A CLI that is started in it does not find this Neovim."
  );
}
