/** What a CLI other than Gemini CLI meets, by its profile: its own settings, and what is particular about it. */
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import * as z from "zod";
import { expand } from "../profiles/paths.ts";
import { type ProfileSettings, profileSetting, readProfileSettings } from "../profiles/profile-settings.ts";
import type { Profile } from "../profiles/profiles.ts";
import { findProgram } from "../system/program.ts";
import { run } from "../system/run.ts";
import type { Bridge, Facts, Section } from "./contract.ts";
import { checkExtension } from "./extension.ts";
import { readFlags } from "./flags.ts";
import { checkPlace, type Descendant } from "./place.ts";
import { type Findings, section } from "./section.ts";

/** One that would be started by `:Gemini cli=…`, or in a shell. @returns nothing where it is not installed */
export async function checkStartableDescendant(
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
  const subject = { profile, env: process.env, cwd: facts?.cwd ?? process.cwd(), words: cmd };
  checkDescendant(findings, subject, facts?.bridge);
  if (profile.defaults) checkExtension(findings, profile);
  return findings;
}

export function checkDescendant(findings: Findings, subject: Descendant, bridge: Bridge | undefined): void {
  const settings = readProfileSettings(subject.profile, subject.env, subject.cwd);
  for (const { path, problem } of settings.broken) findings.error(`${path} ${problem}`, "correct that file");
  checkPlace(findings, subject, bridge);
  checkIdeMode(findings, subject.profile, settings, bridge);
  checkAsking(findings, subject, settings);
}

async function checkNode(findings: Findings, { node }: Profile): Promise<void> {
  if (node === undefined) return;
  const program = findProgram("node", process.env);
  const version = program && (await run(program, ["--version"])).trim();
  if (Number.parseInt(version?.slice(1) ?? "", 10) >= node) findings.ok(`Node ${version}`);
  else findings.error(`needs Node ${node}, and finds ${version || "none"}`, `have Node ${node} on PATH`);
}

function checkIdeMode(
  findings: Findings,
  { settings, answer, defaults }: Profile,
  found: ProfileSettings,
  bridge: Bridge | undefined,
): void {
  const said = profileSetting(found, settings.ide, z.boolean());
  if (said?.value) findings.ok(`IDE mode is on in ${said.path}`);
  else if (said)
    findings.error(
      `IDE mode is off in ${said.path}`,
      `type \`/ide enable\` in it, or set ${settings.ide} there`,
    );
  else if (defaults && bridge && bridge.state !== "running")
    findings.info("IDE mode is off, as by default; a bridge that runs may turn it on in its terminals");
  else
    findings.error(
      "IDE mode is off, as by default",
      `answer ${answer} when it asks whether to connect, then type \`/ide enable\` in it, once`,
    );
}

function checkAsking(findings: Findings, { profile, words }: Descendant, found: ProfileSettings): void {
  const { name, settings, approval, args, defaults, dropsEdits } = profile;
  const flag = readFlags(words).mode;
  const said =
    settings.approval === undefined ? undefined : profileSetting(found, settings.approval, z.string());
  const mode = flag?.name ?? said?.value ?? approval;
  const from = flag ? "its command line" : (said?.path ?? "its default");
  if (mode === "default") findings.ok("asks before it writes, which opens a diff");
  else if (mode === "plan")
    findings.warn(`writes nothing in plan mode (${from})`, "press Shift-Tab in it, or start it without that");
  else {
    const start = args.length > 0 ? `start it by :Gemini cli=${name}, or` : "start it";
    findings.warn(
      `asks nobody in mode ${mode}, so that no diff opens (${from})`,
      `${start} with --approval-mode default${defaults ? "; or :GeminiGate on" : ""}`,
    );
  }
  if (dropsEdits)
    findings.info(
      "after Yes in its own terminal it drops what was edited here, which comes back as a review",
    );
}
