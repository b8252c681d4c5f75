/** What Gemini CLI would meet that is started now. */

import type { Profile } from "../profiles/profiles.ts";
import { releaseOfProgram } from "../profiles/release.ts";
import { readSettings } from "../profiles/settings.ts";
import { here } from "../system/here.ts";
import { findProgram } from "../system/program.ts";
import type { ProcessTable } from "../system/system.ts";
import { checkAsking } from "./asking.ts";
import { checkConnection } from "./connection.ts";
import type { Facts, Section } from "./contract.ts";
import { checkRelease } from "./release.ts";
import { section } from "./section.ts";

/** Without facts of a Neovim, in the shell in which the doctor runs; with them, in a `:terminal` of that Neovim. */
export async function checkStartable(
  { cmd: words }: Profile,
  facts: Facts | undefined,
  table: ProcessTable,
): Promise<Section> {
  const findings = section(facts ? "A CLI started in :terminal" : "A CLI started here");
  const [name = ""] = words;
  const path = findProgram(name, process.env);
  if (path === undefined) findings.warn(`${name} is not on PATH`, "npm install -g @google/gemini-cli");
  else checkRelease(findings, await releaseOfProgram(path));
  const cwd = facts?.cwd ?? process.cwd();
  const settings = readSettings(process.env, cwd);
  const idePid = facts ? here.editorAboveShell(table, facts.pid) : here.editorProcess(table, process.pid);
  const subject = { env: process.env, cwd, words, idePid };
  checkConnection(findings, subject, settings, facts?.bridge);
  checkAsking(findings, subject, settings);
  return findings;
}
