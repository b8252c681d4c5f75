/** All rules about whether a CLI asks before it uses a tool (Gemini CLI 0.61.0, `createPolicyEngineConfig`). */

import { type CliSettings, setting } from "../profiles/settings.ts";
import type { Variables } from "../system/system.ts";
import type { Flags } from "./flags.ts";
import { type PolicyFile, readPolicyFiles, type WrittenRule } from "./policy-files.ts";

export interface Rule {
  /** The name of a tool, or `*` for all. */
  readonly tool: string;
  readonly decision: "allow" | "deny" | "ask_user";
  /** The highest wins: a tier, and within it thousandths. */
  readonly priority: number;
  /** The approval modes in which it holds, as the command line names them; all when there are none. */
  readonly modes?: readonly string[] | undefined;
  /** It is about some calls of the tool only. */
  readonly isPartial?: boolean;
  /** The file or flag it comes from; one that is built in comes from nowhere. */
  readonly from?: string;
}

const TIER = { default: 1, user: 4, admin: 5 } as const;

/** The thousandths of what "Allow for all future sessions" writes, which an administrator can forbid. */
const ALWAYS_ALLOW = 950;

/** Of a tool that writes files. */
const BUILT_IN: readonly Rule[] = [
  { tool: "*", decision: "allow", priority: TIER.default + 0.998, modes: ["yolo"] },
  { tool: "*", decision: "deny", priority: TIER.default + 0.065, modes: ["plan"] },
  { tool: "*", decision: "allow", priority: TIER.default + 0.015, modes: ["auto_edit"] },
];

const BUT_PLAN = ["default", "auto_edit", "yolo"];

export interface Rules {
  /** In no order. */
  readonly rules: readonly Rule[];
  /** Policy files that the CLI leaves out. */
  readonly broken: readonly string[];
}

/** Gathers what flags, settings and policy files say. */
export function readRules(env: Variables, flags: Flags, { files }: CliSettings): Rules {
  const paths = (key: "policyPaths" | "adminPolicyPaths") =>
    files.flatMap(({ settings }) => settings[key] ?? []);
  const policies = readPolicyFiles(env, {
    user: flags.policies.length > 0 ? flags.policies : paths("policyPaths"),
    admin: flags.adminPolicies.length > 0 ? flags.adminPolicies : paths("adminPolicyPaths"),
  });
  const forbidden = setting(files, ({ security }) => security?.disableAlwaysAllow)?.value ?? false;
  const written = policies.flatMap((file) =>
    file.rules
      .filter(({ priority }) => !forbidden || priority !== ALWAYS_ALLOW)
      .flatMap((rule) => ofPolicy(file, rule)),
  );
  return {
    rules: [...BUILT_IN, ...ofSettings(flags, files), ...written],
    broken: policies.filter(({ isBroken }) => isBroken).map(({ path }) => path),
  };
}

/** Names of tools, and where they are listed. */
interface Listed {
  readonly value: readonly string[];
  readonly path: string;
}

function ofSettings(flags: Flags, files: CliSettings["files"]): Rule[] {
  const list = (key: "allowed" | "confirmationRequired" | "core") =>
    setting(files, ({ tools }) => tools?.[key]);
  const rules = (
    decision: Rule["decision"],
    priority: number,
    listed: Listed | undefined,
    modes?: string[],
  ) =>
    (listed?.value ?? []).map(
      (tool): Rule => ({ tool, decision, priority: TIER.user + priority, modes, from: listed?.path ?? "" }),
    );
  const isGiven = flags.allowedTools.length > 0;
  const allowed = isGiven ? { value: flags.allowedTools, path: "--allowed-tools" } : list("allowed");
  const core = list("core");
  return [
    ...files.flatMap(({ settings, path }) =>
      rules("deny", 0.4, { value: settings.tools?.exclude ?? [], path }),
    ),
    ...rules("ask_user", 0.35, list("confirmationRequired")),
    ...rules("allow", 0.3, withoutArguments(allowed)),
    ...rules("allow", 0.25, withoutArguments(core), BUT_PLAN),
    ...rules("deny", 0.24, core && { value: ["*"], path: core.path }, BUT_PLAN),
  ];
}

/** Of `tool(arguments)` only the name counts, where it is no shell. */
function withoutArguments(listed: Listed | undefined): Listed | undefined {
  return listed && { ...listed, value: listed.value.map((tool) => tool.replace(/\(.*\)$/, "")) };
}

/** What a rule says of the CLI's own tools, called by the user's own agent in a terminal. */
function ofPolicy({ path, tier }: PolicyFile, rule: WrittenRule): Rule[] {
  const { mcpName, subagent, toolAnnotations, commandPrefix, commandRegex } = rule;
  const isOfOthers = [mcpName, subagent, toolAnnotations, commandPrefix, commandRegex].some(
    (value) => value !== undefined,
  );
  if (isOfOthers || rule.interactive === false) return [];
  return [rule.toolName].flat().map((tool) => ({
    tool,
    decision: rule.decision,
    priority: TIER[tier] + rule.priority / 1000,
    modes: rule.modes?.length
      ? rule.modes.map((mode) => (mode === "autoEdit" ? "auto_edit" : mode))
      : undefined,
    isPartial: rule.argsPattern !== undefined,
    from: path,
  }));
}
