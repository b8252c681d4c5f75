/** What Qwen Code, or a descendant of it, meets: its own settings, and why no diff opens (0.24.4). */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import stripJsonComments from "strip-json-comments";
import * as z from "zod";
import type { Variables } from "../../cli/cli.ts";
import { contains } from "../../cli/find-editor.ts";
import { findProgram } from "../../cli/release.ts";
import { readSmallFile } from "../../cli/small-file.ts";
import { Refusal } from "../../refusal.ts";
import type { Bridge, Cli, Facts, Section } from "./contract.ts";
import { type Findings, section } from "./section.ts";

const Settings = z.object({
  ide: z.object({ enabled: z.boolean().optional() }).optional().catch(undefined),
  tools: z.object({ approvalMode: z.string().optional() }).optional().catch(undefined),
});

interface SettingsFile {
  path: string;
  settings: z.infer<typeof Settings>;
}

/** A CLI, or one that could be started. */
export interface QwenSubject {
  readonly cli: Cli;
  readonly env: Variables;
  readonly cwd: string;
  /** Its command line. */
  readonly words: readonly string[];
}

/** One that would be started by `:Gemini cli=…`. @returns nothing where it is not installed */
export function checkStartableQwen(cli: Cli, facts: Facts): Section | undefined {
  const { name, cmd } = cli;
  const [program = ""] = cmd;
  const isThere = existsSync(directoryOf(cli, process.env));
  const path = findProgram(program, process.env);
  if (path === undefined && !isThere) return undefined;
  const findings = section(`${nameOf(cli)} started by :Gemini cli=${name}`);
  if (path === undefined) findings.warn(`${program} is not on PATH`, "npm install -g @qwen-code/qwen-code");
  else findings.ok(path);
  checkQwen(findings, { cli, env: process.env, cwd: facts.cwd, words: cmd }, facts.bridge);
  return findings;
}

export function checkQwen(findings: Findings, subject: QwenSubject, bridge: Bridge | undefined): void {
  const { cli, env, cwd, words } = subject;
  const defaults = env["QWEN_CODE_SYSTEM_DEFAULTS_PATH"];
  const paths = [join(cwd, ".qwen/settings.json"), join(directoryOf(cli, env), "settings.json")];
  const files = [...paths, ...(defaults ? [defaults] : [])].flatMap((path) => read(findings, path));
  if (bridge?.state === "running") {
    checkFile(findings, join(directoryOf(cli, env), "ide", `${bridge.port}.lock`), bridge);
    if (contains(bridge.workspace.join(":"), cwd)) findings.ok(`${cwd} is in the workspace`);
    else findings.error(`runs in ${cwd}, which is outside the workspace`, `start it in there, or :cd ${cwd}`);
  }
  checkIdeMode(findings, files);
  checkAsking(findings, words, files);
}

/** What the user knows it as. */
export function nameOf({ name, label }: Cli): string {
  return label ?? (name === "qwen" ? "Qwen Code" : name);
}

/** Of its settings. */
function directoryOf({ directory }: Cli, env: Variables): string {
  const home = env["HOME"] || homedir();
  if (directory !== undefined) return dirname(directory.replace(/^~(?=\/)/, home));
  return env["QWEN_HOME"] || join(home, ".qwen");
}

function read(findings: Findings, path: string): SettingsFile[] {
  try {
    const file = readSmallFile(path);
    return file ? [{ path, settings: Settings.parse(JSON.parse(stripJsonComments(file.text))) }] : [];
  } catch (error) {
    const problem = error instanceof Refusal ? error.message : "is no JSON object";
    findings.error(`${path} ${problem}`, "correct that file");
    return [];
  }
}

function checkFile(findings: Findings, path: string, { discoveryFiles }: Bridge): void {
  if (existsSync(path)) findings.ok(`finds this Neovim by ${path}`);
  else if (discoveryFiles.includes(path)) findings.error(`${path} is gone`, ":GeminiStart");
  else
    findings.error(
      `${path} is not there: this bridge began before it was installed, or QWEN_HOME is another`,
      ":GeminiRestart",
    );
}

function checkIdeMode(findings: Findings, files: SettingsFile[]): void {
  const found = files.find(({ settings }) => settings.ide?.enabled !== undefined);
  if (found?.settings.ide?.enabled) findings.ok(`IDE mode is on in ${found.path}`);
  else if (found) findings.error(`IDE mode is off in ${found.path}`, "type `/ide enable` in it");
  else findings.error("IDE mode is off, as by default", "type `/ide enable` in it, once");
}

function checkAsking(findings: Findings, words: readonly string[], files: SettingsFile[]): void {
  const isYolo = words.some((word) => word === "--yolo" || word === "-y");
  const at = words.findIndex((word) => word.startsWith("--approval-mode"));
  const said = at < 0 ? undefined : (words[at]?.split("=")[1] ?? words[at + 1]);
  const file = files.find(({ settings }) => settings.tools?.approvalMode !== undefined);
  const mode = isYolo ? "yolo" : (said ?? file?.settings.tools?.approvalMode ?? "auto");
  const from = isYolo || said ? "its command line" : (file?.path ?? "its default");
  if (mode === "default") findings.ok("asks before it writes, which opens a diff");
  else if (mode === "plan")
    findings.warn(`writes nothing in plan mode (${from})`, "press Shift-Tab in it, or start it without that");
  else
    findings.warn(
      `asks nobody in mode ${mode}, so that no diff opens (${from})`,
      "start it by :Gemini cli=qwen, or with --approval-mode default; or :GeminiGate on",
    );
  findings.info("after Yes in its own terminal it drops what was edited here, which comes back as a review");
}
