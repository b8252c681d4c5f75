/** Checks the bridge of the Neovim that runs the doctor: process, port, discovery files, connected CLIs. */
import { BUILD } from "../base/build.ts";
import { CLI_NAME } from "../contract/companion.ts";
import { type AnnouncedEditor, announcedEditors } from "../profiles/announced-editors.ts";
import { isActive } from "../profiles/discovery-paths.ts";
import type { Profile } from "../profiles/profiles.ts";
import { findIgnoreProblems } from "../sharing/ignore-files.ts";
import { platform } from "../system/platform.ts";
import { isAlive } from "../system/processes.ts";
import type { ProcessTable } from "../system/system.ts";
import type { Bridge, Facts, Section } from "./contract.ts";
import { type Findings, section } from "./findings.ts";
import { directoryOf } from "./gemini-connection.ts";
import { announcedFile, isFile } from "./other-cli-connection.ts";
import { answerOf, BRIDGE_STATUS } from "./port-check.ts";

/**
 * Checks the bridge of this Neovim.
 * @param profiles the profiles of the enabled CLIs
 */
export async function checkBridge(
  { bridge, pid }: Facts,
  profiles: readonly Profile[],
  table: ProcessTable,
): Promise<Section> {
  const findings = section("Bridge");
  if (bridge.state !== "running") {
    const reason = bridge.error === undefined ? "" : `: ${bridge.error}`;
    findings.warn(`The bridge is ${bridge.state}${reason}`, ":GeminiStart");
    return findings;
  }
  checkHost(findings, bridge);
  await checkListener(findings, bridge);
  const announcedWithBridge = announcedEditors(directoryOf(bridge));
  for (const profile of profiles.filter(isActive)) {
    const path = announcedFile(profile, bridge);
    if (path === undefined) continue;
    const own = announcedWithBridge.find((editor) => editor.path === path);
    if (own) checkFile(findings, own, bridge, platform.editorAboveShell(table, pid));
    else if (!isFile(path))
      findings.error(
        `${path} is missing, so that ${profile.label} cannot find this Neovim`,
        ":GeminiRestart",
      );
    else findings.ok(`${profile.label} finds this Neovim by ${path}`);
    checkEnvironment(findings, profile, bridge);
  }
  findings.info(`Workspace: ${bridge.workspace.join(", ")}`);
  for (const { file, reason } of await findIgnoreProblems(bridge.workspace))
    findings.warn(
      `${file} ${reason}: nothing below its folder is shared with CLIs`,
      "correct or remove that file",
    );
  for (const { name, label, version, interrupted, hooks, hooksOff } of bridge.clients) {
    const client = `${name === CLI_NAME ? label : name} ${version}`;
    if (interrupted)
      findings.warn(
        `${client} shows "Disconnected", because the bridge was restarted`,
        "type `/ide enable` in the CLI",
      );
    else findings.ok(`Connected: ${client}`);
    if (hooksOff !== undefined)
      findings.warn(
        `The hooks of ${client} are off: ${hooksOff}. :GeminiChanges and :GeminiGate do not work with it`,
        "turn the hooks on, then restart the CLI",
      );
    else if (!hooks && !interrupted)
      findings.warn(
        `${client} has not reported its edits yet: :GeminiChanges and :GeminiGate do not work with it`,
        name === CLI_NAME
          ? "run :GeminiExtension install if the extension is missing, then restart the CLI"
          : "start the CLI with :Gemini",
      );
  }
  for (const { name, version } of bridge.toolClients)
    findings.ok(`The model of ${name} ${version} can use the tools of Neovim`);
  if (bridge.toolClients.length === 0)
    findings.info(
      "No model uses the tools of Neovim now. In a running CLI, type `/mcp` to see whether the server neovim is connected",
    );
  return findings;
}

function checkHost(findings: Findings, { pid, build }: Bridge): void {
  if (!isAlive(pid)) findings.error(`The process of the bridge, ${pid}, has ended`, ":GeminiRestart");
  else if (build === BUILD) findings.ok(`The bridge runs in process ${pid}`);
  else findings.warn(`The bridge, process ${pid}, is older than the last update`, ":GeminiRestart");
}

async function checkListener(findings: Findings, { port }: Bridge): Promise<void> {
  const answer = await answerOf(port);
  if (answer === BRIDGE_STATUS) findings.ok(`The bridge answers on 127.0.0.1:${port}`);
  else
    findings.error(
      `The answer on 127.0.0.1:${port} is not from the bridge: ${answer === undefined ? "there is none" : `status ${answer}`}`,
      ":GeminiRestart; if that does not help, see :GeminiLog",
    );
}

/**
 * Checks a discovery file of this Neovim.
 * @param wanted id of the process that a CLI in `:terminal` considers its editor
 */
function checkFile(findings: Findings, file: AnnouncedEditor, bridge: Bridge, wanted: number): void {
  const { path, mode, uid, content, pid } = file;
  const isPrivate = platform.isPrivate(mode);
  const isOwn = platform.isOwn(uid);
  const isIntact = content?.port === bridge.port;
  if (!isPrivate)
    findings.error(
      `${path} contains a token, but can be read by others (mode ${mode.toString(8)})`,
      `chmod 600 ${path}`,
    );
  if (!isOwn)
    findings.error(`CLIs ignore ${path}, because this file belongs to another user`, ":GeminiRestart");
  if (!isIntact) findings.error(`${path} was changed by another program`, ":GeminiRestart");
  if (isPrivate && isOwn && isIntact) findings.ok(`The discovery file is ${path}`);
  if (pid === wanted)
    findings.ok(`The discovery file names process ${wanted}, as a CLI in :terminal expects`);
  else
    findings.warn(
      `The discovery file names process ${pid}, but a CLI in :terminal expects process ${wanted}`,
      "use a Gemini CLI newer than 0.30, and start it in the workspace. Then the process number does not matter",
    );
}

/** Checks the environment variables of Neovim. The doctor has inherited them. */
function checkEnvironment(findings: Findings, { env }: Profile, { port }: Bridge): void {
  const named = process.env[`${env}SERVER_PORT`];
  if (named === String(port)) findings.ok(`New terminals get the variables ${env}*`);
  else
    findings.error(
      `${env}SERVER_PORT is ${named ?? "not set"} in the environment of Neovim, but the port of the bridge is ${port}`,
      ":GeminiRestart",
    );
}
