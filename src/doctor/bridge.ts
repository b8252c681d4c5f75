/** Checks the bridge of the Neovim that runs the doctor: process, port, discovery files, clients. */
import { BUILD } from "../base/build.ts";
import { CLI_NAME } from "../contract/companion.ts";
import { type AnnouncedEditor, announcedEditors } from "../profiles/announced-editors.ts";
import type { Profile } from "../profiles/profiles.ts";
import { findIgnoreProblems } from "../sharing/ignore-files.ts";
import { here } from "../system/here.ts";
import { isAlive } from "../system/processes.ts";
import type { ProcessTable } from "../system/system.ts";
import { answerOf, isBridge } from "./answer.ts";
import { directoryOf } from "./connection.ts";
import type { Bridge, Facts, Section } from "./contract.ts";
import { checkOthers } from "./editors.ts";
import { announcedFile, isFile } from "./place.ts";
import { type Findings, section } from "./section.ts";

/** @param profiles of the enabled CLIs */
export async function checkBridge(
  { bridge, pid }: Facts,
  profiles: readonly Profile[],
  table: ProcessTable,
): Promise<Section> {
  const findings = section("Bridge");
  const announced = announcedEditors(here.temporaryDirectory(process.env));
  if (bridge.state !== "running") {
    const reason = bridge.error === undefined ? "" : `: ${bridge.error}`;
    findings.warn(`The bridge is ${bridge.state}${reason}`, ":GeminiStart");
    await checkOthers(findings, announced);
    return findings;
  }
  checkHost(findings, bridge);
  await checkListener(findings, bridge);
  const beside = announcedEditors(directoryOf(bridge));
  for (const profile of profiles) {
    const path = announcedFile(profile, bridge);
    if (path === undefined) continue;
    const own = beside.find((editor) => editor.path === path);
    if (own) checkFile(findings, own, bridge, here.editorAboveShell(table, pid));
    else if (!isFile(path))
      findings.error(`${path} is gone: ${profile.label} does not find this Neovim`, ":GeminiRestart");
    else findings.ok(`${profile.label} finds this Neovim by ${path}`);
    checkEnvironment(findings, profile, bridge);
  }
  findings.info(`Workspace: ${bridge.workspace.join(", ")}`);
  for (const { file, reason } of await findIgnoreProblems(bridge.workspace))
    findings.warn(`${file} ${reason}: nothing below its folder is shared`, "correct or remove that file");
  for (const { name, label, version, interrupted, hooks } of bridge.clients) {
    const client = `${name === CLI_NAME ? label : name} ${version}`;
    if (interrupted)
      findings.warn(`${client} says "Disconnected" since the host is another`, "/ide enable in it");
    else findings.ok(`Connected: ${client}`);
    if (!hooks && !interrupted)
      findings.warn(
        `No hook of ${client} was heard yet: its edits are neither tracked nor gated`,
        ":GeminiExtension install, if it is not linked, then start the CLI again",
      );
  }
  for (const { name, version } of bridge.asking)
    findings.ok(`Its model has Neovim's tools: ${name} ${version}`);
  if (bridge.asking.length === 0)
    findings.info(
      "No client uses Neovim's tools for its model now: type `/mcp` in a CLI to see whether it has them",
    );
  await checkOthers(
    findings,
    announced.filter(({ port }) => port !== bridge.port),
  );
  return findings;
}

function checkHost(findings: Findings, { pid, build }: Bridge): void {
  if (!isAlive(pid)) findings.error(`The host, process ${pid}, is gone`, ":GeminiRestart");
  else if (build === BUILD) findings.ok(`The host is process ${pid}`);
  else findings.warn(`The host, process ${pid}, still runs the code from before an update`, ":GeminiRestart");
}

async function checkListener(findings: Findings, { port }: Bridge): Promise<void> {
  const answer = await answerOf(port);
  if (isBridge(answer)) findings.ok(`It answers on 127.0.0.1:${port}`);
  else
    findings.error(`127.0.0.1:${port} answers ${answer ?? "nothing"}`, ":GeminiRestart, then see :GeminiLog");
}

/** @param wanted the process that a CLI in `:terminal` takes for its editor */
function checkFile(findings: Findings, file: AnnouncedEditor, bridge: Bridge, wanted: number): void {
  const { path, mode, uid, content, pid } = file;
  const isPrivate = here.isPrivate(mode);
  const isOwn = here.isOwn(uid);
  const isIntact = content?.port === bridge.port;
  if (!isPrivate)
    findings.error(`${path} can be read by others (mode ${mode.toString(8)})`, `chmod 600 ${path}`);
  if (!isOwn) findings.error(`${path} belongs to another user: CLIs pass it over`, ":GeminiRestart");
  if (!isIntact) findings.error(`${path} does not hold what the bridge wrote`, ":GeminiRestart");
  if (isPrivate && isOwn && isIntact) findings.ok(`The discovery file is ${path}`);
  if (pid === wanted)
    findings.ok(`It names process ${wanted}, which a CLI in :terminal takes for its editor`);
  else
    findings.warn(
      `It names process ${pid}; a CLI in :terminal takes ${wanted} for its editor`,
      "use a CLI newer than 0.30, which also finds it by its directory",
    );
}

/** Checks the environment of Neovim, which the doctor has inherited. */
function checkEnvironment(findings: Findings, { env }: Profile, { port }: Bridge): void {
  const named = process.env[`${env}SERVER_PORT`];
  if (named === String(port)) findings.ok(`Terminals opened now get ${env}*`);
  else
    findings.error(
      `${env}SERVER_PORT is ${named ?? "not set"}, the bridge's port is ${port}`,
      ":GeminiRestart",
    );
}
