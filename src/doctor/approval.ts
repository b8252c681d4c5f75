/** Whether a CLI asks before it writes a file, which is what opens a diff (Gemini CLI 0.61.0, `PolicyEngine`). */

import { type CliSettings, setting } from "../profiles/settings.ts";
import type { Flags } from "./flags.ts";
import type { Rule } from "./rules.ts";

/** The tools that open a diff when the CLI asks about them. */
export const EDIT_TOOLS = ["write_file", "replace"] as const;
export type EditTool = (typeof EDIT_TOOLS)[number];

export interface Mode {
  /** As the command line names it. */
  readonly name: string;
  /** The flag or file that says it. */
  readonly from: string | undefined;
}

/** What happens to a change that the model makes with a tool. */
export interface Verdict {
  readonly decision: Rule["decision"];
  /** The rule that decides; without one the CLI asks. */
  readonly rule: Rule | undefined;
  /** Rules that let some changes through before that. */
  readonly exceptions: readonly Rule[];
}

/** The mode in which a CLI starts; what is chosen in it later cannot be seen from outside. */
export function startMode(flags: Flags, { files, isDistrusted }: CliSettings): Mode {
  const asking = { name: "default", from: undefined };
  // Where it does not trust the directory it asks, whatever else is said.
  if (isDistrusted) return asking;
  if (flags.mode) return { name: flags.mode.name, from: flags.mode.flag };
  const said = setting(files, ({ general, tools }) => general?.defaultApprovalMode ?? tools?.approvalMode);
  // YOLO is for the command line alone.
  return said && said.value !== "yolo" ? { name: said.value, from: said.path } : asking;
}

export function verdictOn(tool: EditTool, mode: string, rules: readonly Rule[]): Verdict {
  const applying = rules
    .filter((rule) => (rule.tool === "*" || rule.tool === tool) && (rule.modes?.includes(mode) ?? true))
    .sort((a, b) => b.priority - a.priority);
  const index = applying.findIndex(({ isPartial }) => !isPartial);
  const before = index < 0 ? applying : applying.slice(0, index);
  const rule = applying[index];
  return {
    decision: rule?.decision ?? "ask_user",
    rule,
    exceptions: before.filter(({ decision }) => decision === "allow"),
  };
}
