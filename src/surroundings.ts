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
}

export function createSurroundings({
  bridge,
  report,
  port,
}: SurroundingsOptions): Pick<EventHandlers, "cli_started" | "editors_asked"> {
  let isReminded = false;
  return {
    cli_started({ program, cwd, env }) {
      if (isReminded || basename(program) !== "gemini") return;
      // Off is what the user has said.
      if (setting(readSettings(env, cwd).files, ({ ide }) => ide?.enabled) !== undefined) return;
      isReminded = true;
      const text =
        "Gemini CLI does not connect yet: answer No if it asks, then type /ide enable in it, once.";
      bridge.tell("message", { level: "info", text });
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
