/** Checks whether one CLI finds the editor, and connects to it. The CLI need not be running. */
import * as z from "zod";
import type { Profile } from "../profiles/profiles.ts";
import { findHooksOff, readSettings, type SettingsFile, setting } from "../profiles/settings.ts";
import { checkAccount } from "./account.ts";
import { checkSandbox } from "./containers-and-wsl.ts";
import type { Bridge } from "./contract.ts";
import type { Findings } from "./findings.ts";
import { checkConnection, type Searcher } from "./gemini-connection.ts";
import { checkOtherConnection } from "./other-cli-connection.ts";

interface Subject extends Searcher {
  readonly profile: Profile;
  /** Words of the CLI's command line. */
  readonly words: readonly string[];
  /** Last lines of the CLI's terminal, if the CLI runs in Neovim. */
  readonly screen?: readonly string[] | undefined;
}

export function checkCli(findings: Findings, subject: Subject): void {
  const { profile, env, cwd, words, screen = [], bridge } = subject;
  const files = readSettings(profile, env, cwd);
  if (profile.name === "gemini") checkConnection(findings, subject);
  else checkOtherConnection(findings, subject);
  checkFiles(findings, files);
  if (profile.name === "gemini") {
    checkSandbox(findings, env, words, files);
    checkAccount(findings, screen);
  }
  if (profile.socket) checkVariable(findings, subject, profile.socket.variable);
  else checkIdeMode(findings, profile, files, bridge);
  const hooksOff = findHooksOff(profile, files);
  if (hooksOff !== undefined)
    findings.warn(
      `The hooks of the CLI are off: ${hooksOff}. :GeminiChanges and :GeminiGate do not work with it`,
      "change that setting, then restart the CLI",
    );
  findings.info(
    profile.reviews
      ? `A proposal opens only if the CLI asks before it edits: not in modes such as auto-edit, YOLO and plan${profile.gate ? ", unless :GeminiGate is on" : ""}`
      : "This CLI opens no reviews. It gets only the active file, the selection and the tools of Neovim",
  );
}

function checkFiles(findings: Findings, files: readonly SettingsFile[]): void {
  for (const { path, problem, isIgnored } of files) {
    if (problem === undefined) continue;
    if (isIgnored)
      findings.warn(
        `${path} ${problem}`,
        "move the file to a place that only root can write to, or remove it",
      );
    else
      findings.error(
        `${path} ${problem}`,
        "correct that file: the CLI does not start while the file has this error",
      );
  }
}

/** Checks whether a CLI with WebSockets connects by itself. Without `variable`, it finds the port in the lock file. */
function checkVariable(findings: Findings, { env, bridge }: Subject, variable: string | undefined): void {
  if (variable === undefined) return;
  const port = env[variable];
  if (port !== undefined && (!bridge || port === String(bridge.port)))
    findings.ok(`The CLI connects by itself, because ${variable} names the port`);
  else
    findings.info(
      `The CLI connects only after you type \`/ide\` in it, because ${variable} does not name the port`,
    );
}

function checkIdeMode(
  findings: Findings,
  { name, settings, answer, defaults }: Profile,
  files: readonly SettingsFile[],
  bridge: Bridge | undefined,
): void {
  const said = setting(files, settings.ide, z.boolean());
  if (said?.value) findings.ok(`IDE mode is on in ${said.path}`);
  else if (said)
    findings.error(
      `IDE mode is off in ${said.path}`,
      `type \`/ide enable\` in the CLI, or set ${settings.ide} in that file`,
    );
  else if (defaults && bridge && bridge.state !== "running")
    findings.info(
      "IDE mode is off (default). The bridge is not running: run :GeminiStart, then run the doctor again",
    );
  else {
    const obstacle = bridge?.obstacles[name];
    if (obstacle !== undefined)
      findings.info(`The plugin cannot turn on IDE mode before the CLI starts, because ${obstacle}`);
    // Names the answer to choose: in some CLIs, "Yes" runs `/ide install`, which does not support Neovim.
    const advice = `answer ${answer} if the CLI asks whether to connect; in any case, type \`/ide enable\` in the CLI`;
    findings.error(
      "IDE mode is off (default)",
      // See cli_started in clis-and-editors.ts.
      bridge && name === "gemini"
        ? `${advice}. :Gemini does both, unless the option terminal.connect is off`
        : advice,
    );
  }
}
