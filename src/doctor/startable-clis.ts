/** Checks the installed CLIs that the user could start. */
import { attempt } from "../base/attempt.ts";
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
 * Checks a CLI as it would start in Neovim: Gemini CLI in a `:terminal`, another CLI by `:Gemini cli=…`. Without
 * `facts`, checks it as this shell would start it.
 */
export async function checkStartable(
  profile: Profile,
  facts: Facts | undefined,
  table: ProcessTable,
): Promise<Section> {
  const { name, label, cmd } = profile;
  const isGemini = name === "gemini";
  const [program = "", ...args] = cmd;
  const path = findProgram(program, process.env);
  const findings = isGemini
    ? section(facts ? "A CLI started in :terminal" : "A CLI started here")
    : section(facts ? `${label} started by :Gemini cli=${name}` : `${label} started here`);
  if (path === undefined)
    findings.warn(
      `${program} is not on PATH`,
      profile.package === undefined
        ? `install it, or set the option clis.${name}.cmd`
        : `npm install -g ${profile.package}`,
    );
  else if (isGemini) checkRelease(findings, await releaseOfProgram(path, args));
  else findings.ok(path);
  await checkNode(findings, profile);
  const { cwd, gates, bridge } = facts ?? { cwd: currentDirectory() };
  const subject = { profile, env: process.env, cwd, words: cmd, gates, bridge };
  const editor = () =>
    facts ? platform.editorAboveShell(table, facts.pid) : platform.editorProcess(table, process.pid);
  checkCli(findings, isGemini ? { ...subject, idePid: editor() } : subject);
  if (profile.socket && bridge) await checkToken(findings, profile, bridge);
  if (profile.defaults && !isGemini) checkExtension(findings, profile); // Gemini CLI's: see installation.ts
  return findings;
}

/** Returns the current directory. If this directory was deleted, returns the path by which the shell knows it. */
function currentDirectory(): string {
  return attempt(() => process.cwd()) ?? process.env["PWD"] ?? "/";
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
