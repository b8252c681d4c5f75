/**
 * Checks the approval mode of a CLI: whether the CLI asks before it edits. Finds the mode on the CLI's screen, on its
 * command line or in its settings. Does not read policy files and lists of allowed tools. Diffs open only in the mode
 * "default", except for files of the build.
 */
import { parseArgs } from "node:util";
import * as z from "zod";
import type { Profile } from "../profiles/profiles.ts";
import { type SettingsFile, setting } from "../profiles/settings.ts";
import type { Gate } from "./contract.ts";
import type { Findings } from "./findings.ts";

/** The horizontal line above the prompt of Gemini CLI 0.61.0 (`ApprovalModeIndicator`). */
const RULE = /^─{20,}$/;

/**
 * Patterns for the row in which Gemini CLI shows its approval mode, below the horizontal line. Each pattern is listed
 * with its mode.
 */
const INDICATORS: [RegExp, string][] = [
  [/^auto-accept edits\b/, "auto_edit"],
  [/^YOLO\b/, "yolo"],
  [/^plan\b/, "plan"],
  [/^\S+ to accept edits\b/, "default"],
];

/** Key with which the user leaves an approval mode of Gemini CLI. */
const KEYS: Record<string, string> = { yolo: "Ctrl-Y", auto_edit: "Shift-Tab" };

const text = { type: "string" } as const;

/**
 * Options that set the approval mode, and options with a prompt as their value. The parser must know the options with a
 * prompt, because a prompt may look like an option.
 */
const OPTIONS = {
  "approval-mode": text,
  "permission-mode": text,
  "dangerously-skip-permissions": { type: "boolean" },
  yolo: { type: "boolean", short: "y" },
  prompt: { ...text, short: "p" },
  "prompt-interactive": { ...text, short: "i" },
} as const;

/** Sources for the approval mode of a CLI. */
export interface ModeSources {
  readonly profile: Profile;
  /** Words of the CLI's command line. */
  readonly words: readonly string[];
  /** The CLI's settings files, those with higher priority first. */
  readonly files: readonly SettingsFile[];
  /** Last lines of the CLI's terminal, if the CLI runs in Neovim. */
  readonly screen?: readonly string[] | undefined;
  /**
   * For each CLI in Neovim, whether it must ask before every edit (the gate). Undefined if the doctor runs in a shell.
   */
  readonly gates?: readonly Gate[] | undefined;
}

interface Mode {
  /** Name of the approval mode, as on the command line. */
  readonly name: string;
  /** Place where the approval mode was found. */
  readonly from: string;
}

export function checkMode(findings: Findings, sources: ModeSources): void {
  const { name, from } = findMode(sources);
  const gate = sources.gates?.find(({ cli }) => cli === sources.profile.name);
  if (name === "default" || name === "manual")
    findings.ok("The CLI asks before it writes a file, and the question opens a diff");
  else if (name === "plan")
    findings.warn(
      `No diff opens, because the CLI writes nothing in plan mode (${from})`,
      "press Shift-Tab in the CLI, or start it in another mode",
    );
  else if (gate?.isOn && gate.isObeyed)
    findings.ok(
      `The CLI asks before it writes a file, because :GeminiGate is on; its own mode is ${name} (${from})`,
    );
  else
    findings.warn(
      `No diff opens${exceptBuildFiles(sources.profile)}, because the CLI writes without asking in mode ${name} (${from})`,
      gate?.isOn
        ? ":GeminiGate is on, but does not make this CLI ask; :GeminiStatus shows the reason"
        : adviceFor(name, sources, gate),
    );
}

/** Returns the exception for files of the build, as a part of a sentence. Empty if there is no exception. */
function exceptBuildFiles({ label, asksForBuildFiles: release }: Profile): string {
  if (release === undefined) return "";
  return `, except (in ${label} ${release} and later) for files of the build such as package.json`;
}

/**
 * Returns advice for leaving an approval mode.
 * @param gate undefined if the CLI cannot be forced to ask before edits, or if the doctor runs in a shell
 */
function adviceFor(mode: string, { profile, gates }: ModeSources, gate: Gate | undefined): string {
  const { name, like, args } = profile;
  if (like !== "gemini") {
    const start = args.length > 0 ? `start the CLI with :Gemini cli=${name}, or` : "start the CLI";
    const open = profile.gate && !gate?.isRefused ? ", or run :GeminiGate on" : "";
    return `${start} with ${args[0] ?? "--approval-mode"} default${open}`;
  }
  const key = KEYS[mode];
  const leave = key === undefined ? "start the CLI with --approval-mode default" : `press ${key} in the CLI`;
  if (gate?.isRefused) return leave;
  return `${leave}, or run :GeminiGate on${gates ? "" : " in Neovim"}`;
}

function findMode({ profile, words, files, screen = [] }: ModeSources): Mode {
  const shown = modeOnScreen(screen);
  if (shown !== undefined) return { name: shown, from: "its screen" };
  const flag = modeInWords(words);
  if (flag !== undefined) return { name: flag, from: "its command line" };
  const key = profile.settings.approval;
  const said = key === undefined ? undefined : setting(files, key, z.string());
  // Gemini CLI ignores "yolo" in its settings: it accepts this mode only on the command line.
  const isTaken = said !== undefined && !(profile.like === "gemini" && said.value === "yolo");
  return isTaken ? { name: said.value, from: said.path } : { name: profile.approval, from: "its default" };
}

/** Reads the approval mode from a screen of Gemini CLI. @returns the mode's name, as on the command line */
export function modeOnScreen(lines: readonly string[]): string | undefined {
  const rule = lines.findLastIndex((line) => RULE.test(line.trim()));
  const indicator = (rule < 0 ? "" : (lines[rule + 1] ?? "")).trim();
  return INDICATORS.find(([pattern]) => pattern.test(indicator))?.[1];
}

/**
 * Finds the approval mode on a command line.
 * @param words the words of the command line, with or without the interpreter
 */
function modeInWords(words: readonly string[]): string | undefined {
  const parsed = parseArgs({ args: [...words], options: OPTIONS, strict: false, allowPositionals: true });
  const { "approval-mode": mode, "permission-mode": permission, yolo } = parsed.values;
  const named = [permission, mode].find((each) => typeof each === "string");
  if (named !== undefined) return named;
  if (parsed.values["dangerously-skip-permissions"]) return "bypassPermissions";
  // `--yolo=false` gives the string "false", although the option is a boolean.
  return yolo !== undefined && yolo !== "false" ? "yolo" : undefined;
}
