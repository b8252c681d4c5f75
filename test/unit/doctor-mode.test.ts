/** Tests the doctor's report about the approval mode, from settings, command line and screen. */
import { join } from "node:path";
import t from "tap";
import { checkMode, modeOnScreen } from "../../src/doctor/approval-mode.ts";
import type { Gate } from "../../src/doctor/contract.ts";
import { section } from "../../src/doctor/findings.ts";
import { profilesOf } from "../../src/profiles/profiles.ts";
import { readSettings } from "../../src/profiles/settings.ts";
import { makeDirectory, writeFiles } from "../support/sandbox.ts";

const home = makeDirectory(t);
const GEMINI_SETTINGS = join(home, ".gemini/settings.json");
const YOLO = ["--yolo"];
const NODE = ["node", "--max-old-space-size=4096", "/usr/bin/gemini"];
const AUTO_EDIT = { general: { defaultApprovalMode: "auto_edit" } };

interface Case {
  cli?: string;
  words?: string[];
  settings?: object;
  screen?: string[];
  gate?: Partial<Gate>;
}

/** Returns the finding for a CLI with these settings. */
function told({ cli = "gemini", words = [], settings = {}, screen, gate }: Case): string {
  writeFiles(home, { [`.${cli}/settings.json`]: JSON.stringify(settings) });
  const profile = profilesOf().find(({ name }) => name === cli);
  if (!profile) throw new Error(cli);
  const files = readSettings(profile, { HOME: home }, join(home, "project"));
  const findings = section("");
  const gates = gate && [{ cli: "gemini", isOn: false, isObeyed: true, isRefused: false, ...gate }];
  checkMode(findings, { profile, words: [...NODE, ...words], files, screen, gates });
  const [item] = findings.items;
  return `${item?.level}: ${item?.text}${item?.advice ? ` -> ${item.advice}` : ""}`;
}

const ASKS = "ok: asks before it writes, which opens a diff";
const rule = "─".repeat(40);

for (const [name, found, expected] of [
  ["no word about a mode", {}, ASKS],
  [
    "Claude Code by default",
    { cli: "claude" },
    /mode auto, .* \(its default\) -> start it with :Gemini cli=claude, or with --permission-mode default, or :GeminiGate on$/,
  ],
  ["Claude Code, started by :Gemini", { cli: "claude", words: ["--permission-mode", "default"] }, ASKS],
  ["Claude Code, by its later name", { cli: "claude", words: ["--permission-mode=manual"] }, ASKS],
  [
    "Claude Code that asks nobody",
    { cli: "claude", words: ["--dangerously-skip-permissions"] },
    /mode bypassPermissions, .* \(its command line\)/,
  ],
  [
    "Claude Code by its settings",
    { cli: "claude", settings: { permissions: { defaultMode: "acceptEdits" } } },
    /mode acceptEdits, .* \(.*\.claude\/settings\.json\)/,
  ],
  [
    "--yolo",
    { words: ["--yolo"] },
    /^warn: .* mode yolo, .* \(its command line\) -> press Ctrl-Y in it, or :GeminiGate on in Neovim/,
  ],
  ["-y among other letters", { words: ["-dy"] }, /mode yolo/],
  ["--yolo=false", { words: ["--yolo=false"] }, ASKS],
  ["a prompt that looks like a flag", { words: ["-i", "--yolo"] }, ASKS],
  ["a word after --", { words: ["--", "--yolo"] }, ASKS],
  ["--approval-mode", { words: ["--approval-mode", "auto_edit"] }, /mode auto_edit, .* -> .*press Shift-Tab/],
  [
    "a flag over settings",
    { words: ["--approval-mode=plan"], settings: AUTO_EDIT },
    /writes nothing in plan/,
  ],
  ["settings", { settings: AUTO_EDIT }, `mode auto_edit, so that no diff opens (${GEMINI_SETTINGS})`],
  ["YOLO in settings of Gemini CLI", { settings: { general: { defaultApprovalMode: "yolo" } } }, ASKS],
  ["a screen over a flag", { words: ["--yolo"], screen: [rule, " shift+tab to accept edits"] }, ASKS],
  ["a screen", { screen: [rule, " auto-accept edits  shift+tab"] }, /mode auto_edit, .* \(its screen\)/],
  ["Qwen Code without settings", { cli: "qwen" }, /mode auto, .* \(its default\)/],
  ["Qwen Code with a flag", { cli: "qwen", words: ["--approval-mode", "default"] }, ASKS],
  [
    "YOLO in settings of Qwen Code",
    { cli: "qwen", settings: { tools: { approvalMode: "yolo" } } },
    /mode yolo/,
  ],
  ["YOLO, with the gate off", { words: YOLO, gate: {} }, /-> press Ctrl-Y in it, or :GeminiGate on$/],
  [
    "YOLO, with the gate on",
    { words: YOLO, gate: { isOn: true } },
    /^ok: .* because the gate is on; .* yolo/,
  ],
  [
    "YOLO, with a gate that is not obeyed",
    { words: YOLO, gate: { isOn: true, isObeyed: false } },
    /^warn: .* -> the gate is on, but the CLI does not obey it/,
  ],
  [
    "YOLO, where :GeminiGate would refuse",
    { words: YOLO, gate: { isObeyed: false, isRefused: true } },
    /-> press Ctrl-Y in it$/,
  ],
  ["Qwen Code, which cannot be gated", { cli: "qwen", gate: {} }, /--approval-mode default$/],
] satisfies [string, Case, string | RegExp][])
  t.test(name, async (t) => t.match(told(found), expected));

t.test("a screen without the line above the prompt shows no mode", async (t) => {
  t.equal(modeOnScreen(["YOLO", "auto-accept edits"]), undefined);
  t.equal(modeOnScreen([]), undefined);
});
