/**
 * Checks whether Gemini CLI finds the bridge and can connect. Tests the same conditions as Gemini CLI, in the same
 * order.
 */
import { basename, delimiter, dirname } from "node:path";
import { type AnnouncedEditor, contains, findEditor, realExisting } from "../profiles/announced-editors.ts";
import { readFileName } from "../profiles/discovery-paths.ts";
import { GEMINI } from "../profiles/profiles.ts";
import { containerMark, dialsLoopback } from "../system/container.ts";
import { platform } from "../system/platform.ts";
import type { Variables } from "../system/system.ts";
import type { Bridge } from "./contract.ts";
import { describeEditor } from "./editors.ts";
import type { Findings } from "./findings.ts";

/** A running CLI, or a CLI that the user could start. */
export interface Searcher {
  readonly env: Variables;
  readonly cwd: string;
  /** Id of the process that the CLI considers its editor. */
  readonly idePid: number;
  /** The bridge of this Neovim. Undefined if the doctor runs in a shell: the CLI may then use any editor. */
  readonly bridge: Bridge | undefined;
}

export function checkConnection(findings: Findings, subject: Searcher): void {
  const { bridge } = subject;
  const looks = platform.temporaryDirectory(subject.env);
  const choice = findEditor(subject, subject.idePid);
  if (!bridge) checkAnyChoice(findings, subject, choice);
  else if (bridge.state === "running") {
    if (checkDirectory(findings, looks, directoryOf(bridge))) checkChoice(findings, choice, bridge);
    checkWorkspace(findings, subject.cwd, bridge.workspace.join(delimiter));
  }
  checkNetwork(findings, subject);
}

function checkDirectory(findings: Findings, looks: string, announced: string): boolean {
  const isSame = realExisting(looks) === realExisting(announced);
  if (isSame) findings.ok(`The CLI looks for editors in ${looks}`);
  else
    findings.error(
      `The CLI looks for editors in ${looks}, but the discovery file of this Neovim is in ${announced}`,
      `start the CLI with TMPDIR=${announced}, or start Neovim with TMPDIR=${looks}`,
    );
  return isSame;
}

/** Returns the temporary directory that contains the bridge's discovery file for Gemini CLI. */
export function directoryOf({ discoveryFiles }: Bridge): string {
  const path = discoveryFiles.find((each) => readFileName(GEMINI, basename(each)) !== undefined) ?? "";
  return dirname(dirname(dirname(path)));
}

function checkChoice(findings: Findings, choice: AnnouncedEditor | undefined, { port }: Bridge): void {
  if (choice?.port === port) findings.ok("The CLI chooses this Neovim");
  else if (choice)
    findings.error(
      `The CLI chooses another editor: ${describeEditor(choice)}`,
      "start the CLI with :Gemini, or run the lines of :GeminiEnv in a shell, then start the CLI there",
    );
}

function checkAnyChoice(findings: Findings, subject: Searcher, choice: AnnouncedEditor | undefined): void {
  if (!choice) {
    const looks = platform.temporaryDirectory(subject.env);
    findings.error(`The CLI finds no editor in ${looks}`, "run :GeminiStart in Neovim, then restart the CLI");
    return;
  }
  findings.ok(`The CLI chooses ${describeEditor(choice)}`);
  checkWorkspace(findings, subject.cwd, choice.content?.workspacePath ?? "");
}

/** @param roots directories of the workspace, with the system's delimiter between them */
export function checkWorkspace(findings: Findings, cwd: string, roots: string): void {
  if (contains(roots, cwd)) findings.ok(`The directory of the CLI, ${cwd}, is in the workspace`);
  else
    findings.error(
      `The CLI runs in ${cwd}, which is outside of the workspace ${roots}`,
      `start the CLI in the workspace, or run :cd ${cwd} in Neovim`,
    );
}

function checkNetwork(findings: Findings, { env }: Searcher): void {
  if (containerMark()) {
    const name = dialsLoopback(env);
    if (name) findings.ok(`The CLI runs in a container, and connects to 127.0.0.1, because ${name} is set`);
    else
      findings.error(
        "The CLI runs in a container, and connects to host.docker.internal instead of 127.0.0.1",
        "start the CLI with :Gemini, or set REMOTE_CONTAINERS=true. Update Gemini CLI 0.30 and older first: these releases cannot connect in a container",
      );
  }
}
