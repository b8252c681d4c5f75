/** Checks the installed CLIs that the user could start. */
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { expand } from "../profiles/discovery-paths.ts";
import type { Profile } from "../profiles/profiles.ts";
import { platform } from "../system/platform.ts";
import { findProgram, run } from "../system/program.ts";
import type { ProcessTable } from "../system/system.ts";
import { checkCli } from "./cli.ts";
import type { Facts, Section } from "./contract.ts";
import { checkExtension } from "./extension.ts";
import { type Findings, section } from "./findings.ts";
import { checkRelease, releaseOfProgram } from "./release.ts";
import { checkToken } from "./socket-connection.ts";

/**
 * Checks Gemini CLI as it would start in a `:terminal` of Neovim. Without `facts`, checks it as it would start in this
 * shell.
 */
export async function checkStartable(
  profile: Profile,
  facts: Facts | undefined,
  table: ProcessTable,
): Promise<Section> {
  const findings = section(facts ? "A CLI started in :terminal" : "A CLI started here");
  const [name = ""] = profile.cmd;
  const path = findProgram(name, process.env);
  if (path === undefined) findings.warn(`${name} is not on PATH`, "npm install -g @google/gemini-cli");
  else checkRelease(findings, await releaseOfProgram(path));
  const idePid = facts
    ? platform.editorAboveShell(table, facts.pid)
    : platform.editorProcess(table, process.pid);
  checkCli(findings, { ...startedNow(profile, facts), idePid }, facts?.bridge);
  return findings;
}

/**
 * Checks another CLI as `:Gemini cli=…` would start it. Without `facts`, checks it as this shell would start it.
 * @returns undefined if the CLI is not installed
 */
export async function checkOtherStartable(
  profile: Profile,
  facts: Facts | undefined,
): Promise<Section | undefined> {
  const { name, label, cmd } = profile;
  const [program = ""] = cmd;
  const path = findProgram(program, process.env);
  const isThere = profile.settings.files.some((file) => existsSync(dirname(expand(file))));
  if (path === undefined && !isThere) return undefined;
  const findings = section(facts ? `${label} started by :Gemini cli=${name}` : `${label} started here`);
  if (path !== undefined) findings.ok(path);
  else
    findings.warn(
      `${program} is not on PATH`,
      profile.package === undefined
        ? `install it, or set the option clis.${name}.cmd`
        : `npm install -g ${profile.package}`,
    );
  await checkNode(findings, profile);
  checkCli(findings, startedNow(profile, facts), facts?.bridge);
  if (profile.socket && facts) await checkToken(findings, profile, facts.bridge);
  if (profile.defaults) checkExtension(findings, profile);
  return findings;
}

function startedNow(profile: Profile, facts: Facts | undefined) {
  return {
    profile,
    env: process.env,
    cwd: facts?.cwd ?? process.cwd(),
    words: profile.cmd,
    gates: facts?.gates,
  };
}

async function checkNode(findings: Findings, { node }: Profile): Promise<void> {
  if (node === undefined) return;
  const program = findProgram("node", process.env);
  const version = program && (await run(program, ["--version"])).trim();
  if (Number.parseInt(version?.slice(1) ?? "", 10) >= node) findings.ok(`Node ${version}`);
  else
    findings.error(
      `The CLI needs Node ${node} or later, but Node on PATH is ${version || "missing"}`,
      `put Node ${node} on PATH`,
    );
}
