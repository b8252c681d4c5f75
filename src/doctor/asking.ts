/** Whether a CLI asks before it writes: only then a diff opens. */

import type { CliSettings } from "../profiles/settings.ts";
import { EDIT_TOOLS, startMode, verdictOn } from "./approval.ts";
import type { Subject } from "./connection.ts";
import { readFlags } from "./flags.ts";
import { readRules } from "./rules.ts";
import type { Findings } from "./section.ts";

/** What a CLI does in a mode in which it never asks, and the key that leaves that mode. */
const MODES: Record<string, { does: string; key: string }> = {
  yolo: { does: "writes without asking in YOLO mode", key: "Ctrl-Y" },
  auto_edit: { does: "writes without asking in auto-edit mode", key: "Shift-Tab" },
  plan: { does: "writes nothing in plan mode", key: "Shift-Tab" },
};

const DOES = { allow: "runs without asking", deny: "is forbidden" } as const;

/** @param shown the mode that is to be seen on its screen, where it may have been changed since the start */
export function checkAsking(
  findings: Findings,
  { words, env }: Subject,
  settings: CliSettings,
  shown?: string,
): void {
  const flags = readFlags(words);
  const mode = shown === undefined ? startMode(flags, settings) : { name: shown, from: "as its screen says" };
  const { rules, broken } = readRules(env, flags, settings);
  for (const path of broken)
    findings.warn(`${path} is no policy file: the CLI leaves it out`, "correct that file");
  const verdicts = EDIT_TOOLS.map((tool) => ({ tool, ...verdictOn(tool, mode.name, rules) }));
  const told = MODES[mode.name];
  if (told && verdicts.some(({ rule }) => rule !== undefined && rule.from === undefined))
    findings.warn(
      `${told.does}, so that no diff opens (${mode.from})`,
      `press ${told.key} in it, or start it without that`,
    );
  for (const { tool, decision, rule } of verdicts) {
    if (decision !== "ask_user" && rule?.from !== undefined)
      findings.warn(
        `${tool} ${DOES[decision]}, so that no diff opens (${rule.from})`,
        "take that rule out, and start the CLI again",
      );
  }
  for (const from of new Set(verdicts.flatMap(({ exceptions }) => exceptions.map((rule) => rule.from))))
    findings.info(`writes some files without asking, so that no diff opens for these (${from})`);
  if (verdicts.some(({ decision }) => decision === "ask_user"))
    findings.ok("asks before it writes, which opens a diff");
}
