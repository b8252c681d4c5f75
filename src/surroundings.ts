/** What the host looks up on this machine for the user: CLIs that will not connect, other editors. */
import { basename } from "node:path";
import * as z from "zod";
import type { Editors, Status } from "./contract/neovim.ts";
import type { Bridge, EventHandlers } from "./neovim/bridge.ts";
import { announcedEditors, chooseEditor, contains } from "./profiles/announced-editors.ts";
import type { Profile } from "./profiles/profiles.ts";
import { readSettings, setting } from "./profiles/settings.ts";
import { here } from "./system/here.ts";
import type { Variables } from "./system/system.ts";

export interface SurroundingsOptions {
  bridge: Bridge;
  report: (change: Partial<Status>) => void;
  profiles: readonly Profile[];
  /** This bridge's own. */
  port: number;
  /** Whether a CLI in a terminal of Neovim's is to connect without a question. */
  connect: boolean;
}

/** Where "Yes" is wrong it would run `/ide install`, which knows no Neovim. */
const hint = ({ label, answer }: Profile) =>
  `${label} does not connect yet: answer ${answer} if it asks, then type /ide enable in it, once.`;

export function createSurroundings({
  bridge,
  report,
  profiles,
  port,
  connect,
}: SurroundingsOptions): Pick<EventHandlers, "cli_started" | "editors_asked"> {
  /** Once it is enabled in one, it is so for the next of the same kind. */
  const done = new Set<string>();
  return {
    cli_started({ terminal, cli, program, cwd, env }) {
      const profile = profiles.find(({ name }) => name === cli);
      const isOther = basename(program) !== basename(profile?.cmd[0] ?? "");
      if (!profile || isOther || done.has(cli)) return;
      const { isDecided, isAsked } = readChoice(profile, env, cwd);
      if (isDecided) return;
      done.add(cli);
      bridge.tell("cli_unconnected", { terminal, types: connect && isAsked, isAsked, hint: hint(profile) });
    },
    editors_asked({ cwd }) {
      report({ editors: editorsFor(cwd, port) });
    },
  };
}

/**
 * What the user has chosen: whether it is to connect (off is a choice, too), and whether the CLI will ask. One who
 * does not want to be asked again may not want it at all.
 */
function readChoice(profile: Profile, env: Variables, cwd: string): { isDecided: boolean; isAsked: boolean } {
  const files = readSettings(profile, env, cwd);
  return {
    isDecided: setting(files, profile.settings.ide, z.boolean()) !== undefined,
    isAsked: profile.name === "gemini" && !setting(files, "ide.hasSeenNudge", z.boolean())?.value,
  };
}

function editorsFor(cwd: string, own: number): Editors | undefined {
  const open = announcedEditors(here.temporaryDirectory(process.env)).filter(
    ({ isAlive, content }) => isAlive && contains(content?.workspacePath, cwd),
  );
  // No editor is above a CLI in another terminal.
  const taken = chooseEditor(open, { idePid: 0, cwd });
  return taken && { count: open.length, pid: taken.pid, isOwn: taken.port === own };
}
