/** Lists all running CLIs, or examines one CLI in detail. */
import { announcedEditors, idePidOf } from "../profiles/announced-editors.ts";
import { GEMINI, type Profile } from "../profiles/profiles.ts";
import { platform } from "../system/platform.ts";
import { familyOf, isOwnAndAlive, processesOf } from "../system/processes.ts";
import type { Process, ProcessTable, Variables } from "../system/system.ts";
import { checkCli } from "./cli.ts";
import type { Facts, Section } from "./contract.ts";
import { describeEditor } from "./editors.ts";
import { type Findings, section } from "./findings.ts";

/** Maximum length of a command line in the report. The command line of Claude Code contains its hooks. */
const MAX_COMMAND_LENGTH = 160;

/** The Neovim or shell that runs the doctor. */
interface Asker {
  /** Facts about the Neovim; undefined for a shell. */
  readonly facts: Facts | undefined;
  /** Beginning of the command that examines a CLI in detail. The CLI's process id follows. */
  readonly command: string;
  readonly profiles: readonly Profile[];
}

/**
 * Returns the processes of this user that run CLIs of these profiles. CLIs of other users cannot connect, and the doctor
 * cannot examine them.
 */
export function runningClis(table: ProcessTable, profiles: readonly Profile[]): Process[] {
  const found = new Set(profiles.flatMap((profile) => processesOf(table, profile)));
  return [...found].filter(({ pid }) => isOwnAndAlive(pid));
}

export async function listRunning(table: ProcessTable, asker: Asker): Promise<Section> {
  const findings = section("Running CLIs");
  const running = runningClis(table, asker.profiles);
  if (running.length === 0) findings.info("No CLI is running");
  for (const { pid, command } of running) {
    const editor = await connectedTo(table, pid, (await platform.environment(pid)) ?? process.env, asker);
    const who = `process ${pid}: ${shortened(command)}`;
    if (editor) findings.ok(`${who}, connected to ${editor}`);
    else
      findings.info(
        `${who}, not connected to ${asker.facts ? "this Neovim" : "any editor"}; for the reason, run ${asker.command} ${pid}`,
      );
  }
  return findings;
}

function shortened(command: string): string {
  return command.length > MAX_COMMAND_LENGTH ? `${command.slice(0, MAX_COMMAND_LENGTH)}…` : command;
}

export async function checkRunning(table: ProcessTable, pid: number, asker: Asker): Promise<Section> {
  const found = table.get(pid);
  const runs = (each: Profile) => processesOf(table, each).some((process) => process.pid === pid);
  const profile = asker.profiles.find(runs) ?? GEMINI;
  const findings = section(`${profile.label}, process ${pid}`);
  if (!found) {
    findings.error(`There is no process ${pid}`, "run `pgrep -fl gemini` to find the process id of the CLI");
    return findings;
  }
  findings.info(shortened(found.command));
  const [env, cwd, words] = await Promise.all([
    platform.environment(pid),
    platform.directory(pid),
    platform.words(pid),
  ]);
  if (!env || cwd === undefined) {
    findings.error(
      "The environment of the process cannot be read",
      "run the doctor as the user of that process",
    );
    return findings;
  }
  const editor = await connectedTo(table, pid, env, asker);
  if (editor) findings.ok(`The CLI is connected to ${editor}`);
  else adviseToConnect(findings, table, found.seconds, asker, profile);
  const idePid =
    profile.name === "gemini" ? idePidOf({ pid, env }, table) : platform.editorProcess(table, pid);
  const { terminals = [], bridge } = asker.facts ?? {};
  const screen = terminals.find((each) => familyOf(table, each.pid).includes(pid))?.lines;
  checkCli(findings, { profile, env, cwd, words, idePid, screen, bridge });
  return findings;
}

/** Describes the editor to which a CLI is connected, directly or through a child process of the CLI. */
async function connectedTo(
  table: ProcessTable,
  pid: number,
  env: Variables,
  { facts }: Asker,
): Promise<string | undefined> {
  const family = familyOf(table, pid);
  if (facts) {
    const { bridge } = facts;
    const ports = bridge.state === "running" ? [bridge.port] : [];
    const connections = await platform.connections(family, ports);
    const isClient = connections.some(({ own }) => bridge.clients.some(({ port }) => port === own));
    return isClient ? "this Neovim" : undefined;
  }
  const editors = announcedEditors(platform.temporaryDirectory(env));
  const [connection] = await platform.connections(
    family,
    editors.map((editor) => editor.port),
  );
  const editor = editors.find((each) => each.port === connection?.remote);
  return editor && describeEditor(editor);
}

/**
 * Advice for a CLI that connects by WebSocket. Such a CLI never uses its token again after the bridge was down for too
 * long.
 */
const SOCKET_ADVICE =
  "type `/ide` in the CLI; if it still cannot connect, run :GeminiStop, wait 20 seconds, run :GeminiStart, and type " +
  "`/ide` again: the CLI then gets a new token";

/**
 * Advises how to connect a running CLI.
 * @param seconds how long the CLI has been running
 */
function adviseToConnect(
  findings: Findings,
  table: ProcessTable,
  seconds: number,
  { facts }: Asker,
  { socket, name }: Profile,
): void {
  const bridge = facts?.bridge;
  if (bridge && bridge.state !== "running") return;
  const host = bridge && table.get(bridge.pid);
  const isTooLate = host !== undefined && seconds > host.seconds;
  findings.warn(
    `The CLI is not connected to ${bridge ? "this Neovim" : "any editor"}`,
    // A CLI looks for its editor only at its start. Therefore, the advice depends on whether the CLI or the bridge
    // started first.
    socket?.variable !== undefined
      ? SOCKET_ADVICE
      : socket
        ? `start the CLI with :Gemini cli=${name}`
        : isTooLate
          ? "restart the CLI, because it was started before the bridge; if it was connected to an earlier bridge, type `/ide enable` in the CLI instead"
          : "if all checks below pass, type `/ide enable` in the CLI",
  );
}
