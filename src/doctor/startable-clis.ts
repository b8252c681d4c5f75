/** Checks the installed CLIs that the user could start. */
import { attempt } from "../base/attempt.ts";
import type { Profile } from "../profiles/profiles.ts";
import { platform } from "../system/platform.ts";
import { findProgram } from "../system/program.ts";
import type { ProcessTable } from "../system/system.ts";
import { checkCli } from "./cli.ts";
import type { Facts, Section } from "./contract.ts";
import { checkExtension } from "./extension.ts";
import { section } from "./findings.ts";

/**
 * Checks a CLI as it would start in Neovim: Gemini CLI in a `:terminal`, another CLI by `:Gemini cli=…`. Without
 * `facts`, checks it as this shell would start it.
 */
export function checkStartable(profile: Profile, facts: Facts | undefined, table: ProcessTable): Section {
  const { name, label, cmd } = profile;
  const isGemini = name === "gemini";
  const [program = ""] = cmd;
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
  else findings.ok(path);
  // Without a current directory, which may have been deleted, uses the path by which the shell knows it.
  const cwd = facts?.cwd ?? attempt(() => process.cwd()) ?? process.env["PWD"] ?? "/";
  const idePid = facts
    ? platform.editorAboveShell(table, facts.pid)
    : platform.editorProcess(table, process.pid);
  checkCli(findings, { profile, env: process.env, cwd, words: cmd, idePid, bridge: facts?.bridge });
  if (profile.defaults && !isGemini) checkExtension(findings, profile); // Gemini CLI's: see installation.ts
  return findings;
}
