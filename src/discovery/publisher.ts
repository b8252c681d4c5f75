/** Publishes the workspace: sets the environment of terminals, writes the discovery files, and reports both to Lua. */
import { delimiter } from "node:path";
import type { Log } from "../base/log.ts";
import type { Boot, Status } from "../contract/neovim.ts";
import type { Address } from "../http/guard.ts";
import type { Bridge } from "../neovim/bridge.ts";
import { defaultSettings } from "../profiles/default-settings.ts";
import { launchArguments, launchVariables } from "../profiles/launch-arguments.ts";
import { type Profile, socketTokenOf } from "../profiles/profiles.ts";
import { writeSystemDefaults } from "../profiles/system-defaults.ts";
import { loopbackVariables } from "../system/container.ts";
import { type Announcements, createAnnouncements } from "./announcements.ts";
import { canBeJoined, workspacePaths } from "./workspace.ts";

interface WorkspacePublisher extends Pick<Announcements, "restore" | "refresh" | "remove"> {
  /**
   * Publishes these directories. Overlapping calls run one after the other, so that the last call wins.
   * @throws an abort error if the bridge stops meanwhile
   */
  publish(directories: readonly string[]): Promise<void>;
}

interface WorkspacePublisherOptions {
  bridge: Bridge;
  log: Log;
  address: Address & { readonly socketTokens: Address["tokens"] };
  profiles: readonly Profile[];
  boot: Pick<Boot, "editor" | "paths" | "options">;
  report: (change: Partial<Status>) => void;
  /** Aborted when the bridge stops. After that, nothing is published. */
  signal: AbortSignal;
}

export function createWorkspacePublisher(options: WorkspacePublisherOptions): WorkspacePublisher {
  const { bridge, log, report, signal, profiles } = options;
  const { editor, paths } = options.boot;
  const { connect } = options.boot.options;
  const { port, tokens, socketTokens } = options.address;
  const place = { directory: paths.state, editorPid: editor.pid };
  const defaults = profiles.map((profile) => {
    const parts = connect ? defaultSettings(profile, paths.hook) : [];
    return { profile, ...writeSystemDefaults(profile, place, parts, process.env) };
  });
  const launched = Object.fromEntries(
    profiles.map((profile) => [profile.name, launchArguments(profile, paths.hook)]),
  );
  const variables = Object.fromEntries(profiles.map((profile) => [profile.name, launchVariables(profile)]));
  const obstacles: Record<string, string> = {};
  for (const { profile, obstacle } of defaults) {
    const reason = connect ? obstacle : "the option terminal.connect is off";
    if (!profile.defaults || reason === undefined) continue;
    obstacles[profile.name] = reason;
    log.info(`${profile.label} asks before it connects:`, reason);
  }
  /** Directories and problems about which the user was warned. */
  const told = new Set<string>();
  const tell = (what: string, text: string) => {
    if (!told.has(what)) bridge.tell("message", { level: "warn", text });
    told.add(what);
  };
  const announcements = createAnnouncements({
    profiles,
    announcement: (profile) => ({
      pid: editor.idePid,
      editorPid: editor.pid,
      port,
      authToken: tokens[profile.name] ?? "",
      socketToken: socketTokens[socketTokenOf(profile)],
    }),
    log,
    failed: ({ label, directory }, { message }) => {
      log.warn(`${label} cannot find this editor:`, message);
      // All CLIs with files in the temporary directory have the same problem. One message is enough.
      tell(directory.startsWith("{tmp}") ? "{tmp}" : message, `${label} cannot find this Neovim: ${message}`);
    },
  });
  let last: Promise<void> = Promise.resolve();
  // Tells Lua the paths before the files are written, so that Lua can remove the files if this process is killed.
  report({
    port,
    pid: process.pid,
    discoveryFiles: announcements.paths,
    tokens: { ...tokens, ...socketTokens },
    obstacles,
  });

  async function publish(directories: readonly string[]): Promise<void> {
    signal.throwIfAborted();
    const paths = await workspacePaths(directories);
    signal.throwIfAborted();
    for (const directory of paths.open) {
      if (!canBeJoined(directory)) tell(directory, cannotBeListed(directory));
    }
    const { set, unset } = announcements.variables(paths.open);
    for (const { socket } of profiles) if (socket?.variable && !connect) delete set[socket.variable];
    for (const { profile, path } of defaults) {
      if (profile.defaults && path !== undefined) set[profile.defaults.variable] = path;
    }
    await bridge.call("set_environment", {
      set,
      unset,
      clis: loopbackVariables(process.env),
      arguments: connect ? launched : {},
      variables: connect ? variables : {},
    });
    signal.throwIfAborted();
    // Writes the discovery files last, because a CLI may connect as soon as its file exists.
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
    restore() {
      told.clear(); // the user asks for the files again
      announcements.restore();
    },
    refresh: announcements.refresh,
    remove() {
      announcements.remove();
      for (const { remove } of defaults) remove();
    },
  };
}

function cannotBeListed(directory: string): string {
  return (
    `Gemini CLI in ${directory} cannot find this Neovim, because the path contains "${delimiter}". ` +
    "Rename the directory, or start the CLI elsewhere."
  );
}
