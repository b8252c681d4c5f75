/** Finds CLIs that will not connect automatically, and other editors on this machine. */
import * as z from "zod";
import type { Editors } from "./contract/neovim.ts";
import type { Handlers } from "./neovim/bridge.ts";
import { announcedEditors, chooseEditor, contains } from "./profiles/announced-editors.ts";
import type { Profile } from "./profiles/profiles.ts";
import { readSettings, setting } from "./profiles/settings.ts";
import type { Unconnected } from "./prompt/type-ide-enable.ts";
import { platform } from "./system/platform.ts";
import { runsProgram } from "./system/processes.ts";
import type { Variables } from "./system/system.ts";

interface CliAndEditorSearchOptions {
  /** Called for a CLI in one of Neovim's terminals if this CLI will not connect automatically. */
  unconnected: (cli: Unconnected) => void;
  profiles: readonly Profile[];
  /** Port of this bridge. */
  port: number;
  /** Whether CLIs in Neovim's terminals connect without asking the user. */
  connect: boolean;
}

/**
 * Tells the user how to connect a CLI. Names the answer to choose: in some CLIs, "Yes" runs `/ide install`, which does
 * not support Neovim.
 */
const hint = ({ label, answer, socket }: Profile) =>
  socket
    ? `${label} is not connected yet: type /ide in its terminal.`
    : `${label} is not connected yet. Answer ${answer} if it asks whether to connect. In any case, type /ide enable.`;

export function createCliAndEditorSearch({
  unconnected,
  profiles,
  port,
  connect,
}: CliAndEditorSearchOptions): Pick<Handlers, "cli_started" | "editors"> {
  /** Profiles for which the user has already seen a hint. Enabling one CLI enables all CLIs of its profile. */
  const done = new Set<string>();
  return {
    cli_started({ terminal, cli, cmd, cwd, env }) {
      const profile = profiles.find(({ name }) => name === cli);
      if (!profile || !runsProgram(cmd, profile) || done.has(cli)) return;
      const { isDecided, isAsked } = readChoice(profile, env, cwd);
      const { socket } = profile;
      // A CLI without a variable for the port finds the bridge by the bridge's lock file.
      const findsBridge = socket && (socket.variable === undefined || env[socket.variable] === String(port));
      if (isDecided || findsBridge) return;
      done.add(cli);
      unconnected({ terminal, types: connect && isAsked, isAsked, hint: hint(profile) });
    },
    editors: ({ cwd }) => editorsFor(cwd, port),
  };
}

/**
 * Reads two choices of the user. `isDecided`: the user has turned IDE mode on or off. `isAsked`: the CLI will ask the
 * user whether to connect. A user who has told the CLI not to ask again may not want to connect.
 */
function readChoice(profile: Profile, env: Variables, cwd: string): { isDecided: boolean; isAsked: boolean } {
  const files = readSettings(profile, env, cwd);
  return {
    isDecided: setting(files, profile.settings.ide, z.boolean()) !== undefined,
    isAsked: profile.name === "gemini" && !setting(files, "ide.hasSeenNudge", z.boolean())?.value,
  };
}

function editorsFor(cwd: string, own: number): Editors | undefined {
  const open = announcedEditors(platform.temporaryDirectory(process.env)).filter(
    ({ isAlive, content }) => isAlive && contains(content?.workspacePath, cwd),
  );
  // Chooses the editor as a CLI in another terminal does. No editor is an ancestor of such a CLI. `idePid` is therefore
  // 0, because no process has this id.
  const taken = chooseEditor(open, { idePid: 0, cwd });
  return taken && { count: open.length, pid: taken.pid, isOwn: taken.port === own };
}
