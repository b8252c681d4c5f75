/** What the host looks up on this machine for the user: CLIs that will not connect, other editors. */
import { basename } from "node:path";
import { temporaryDirectory } from "./cli/cli.ts";
import { announcedEditors, chooseEditor, contains } from "./cli/find-editor.ts";
import { readSettings, setting } from "./cli/settings.ts";
import type { Bridge, EventHandlers } from "./nvim/bridge.ts";
import type { Editors, Status } from "./nvim/protocol.ts";

export interface SurroundingsOptions {
  bridge: Bridge;
  report: (change: Partial<Status>) => void;
  /** This bridge's own. */
  port: number;
  /** Whether a CLI in a terminal of Neovim's is to connect without a question. */
  connect: boolean;
}

/** "Yes" would run `/ide install`, which knows no Neovim. */
const HINT = "Gemini CLI does not connect yet: answer No if it asks, then type /ide enable in it, once.";

export function createSurroundings({
  bridge,
  report,
  port,
  connect,
}: SurroundingsOptions): Pick<EventHandlers, "cli_started" | "editors_asked"> {
  // Once it is enabled in one CLI, it is so for the next.
  let isDone = false;
  return {
    cli_started({ terminal, program, cwd, env }) {
      if (isDone || basename(program) !== "gemini") return;
      const { files } = readSettings(env, cwd);
      // Off is what the user has said.
      if (setting(files, ({ ide }) => ide?.enabled) !== undefined) return;
      isDone = true;
      // One who does not want to be asked again may not want it at all.
      const isAsked = !setting(files, ({ ide }) => ide?.hasSeenNudge)?.value;
      bridge.tell("cli_unconnected", { terminal, types: connect && isAsked, isAsked, hint: HINT });
    },
    editors_asked({ cwd }) {
      report({ editors: editorsFor(cwd, port) });
    },
  };
}

function editorsFor(cwd: string, own: number): Editors | undefined {
  const open = announcedEditors(temporaryDirectory(process.env)).filter(
    ({ isAlive, content }) => isAlive && contains(content?.workspacePath, cwd),
  );
  // No editor is above a CLI in another terminal.
  const taken = chooseEditor(open, { idePid: 0, cwd });
  return taken && { count: open.length, pid: taken.pid, isOwn: taken.port === own };
}
