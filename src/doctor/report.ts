/** Runs all checks, and formats the report for a shell. */
import { announcedEditors } from "../profiles/announced-editors.ts";
import { isInstalled, isSetUp } from "../profiles/discovery-paths.ts";
import { profilesOf } from "../profiles/profiles.ts";
import { platform } from "../system/platform.ts";
import type { ProcessTable } from "../system/system.ts";
import { checkBridge } from "./bridge.ts";
import { checkMachine } from "./containers-and-wsl.ts";
import type { Facts, Item, Report } from "./contract.ts";
import { checkEditors } from "./editors.ts";
import { checkInstallation } from "./installation.ts";
import { checkRunning, listRunning } from "./running-clis.ts";
import { checkStartable } from "./startable-clis.ts";

/**
 * Runs the checks.
 * @param facts about the Neovim that runs the doctor; undefined if the doctor runs in a shell
 * @param pid process id of a running CLI that is examined in detail
 */
export async function examine(
  table: ProcessTable,
  facts: Facts | undefined,
  pid: number | undefined,
): Promise<Report> {
  const command = facts ? ":GeminiDoctor" : `node ${process.argv[1]}`;
  const profiles = profilesOf(facts?.clis);
  const gemini = profiles.find(({ name }) => name === "gemini");
  const used = profiles.filter((profile) => isInstalled(profile) || isSetUp(profile));
  // A user without any CLI needs Gemini CLI, or the option for its program.
  const startable = used.length === 0 && gemini ? [gemini] : used;
  const asker = { facts, command, profiles };
  const temporary = platform.temporaryDirectory(process.env);
  const sections = [
    ...(pid === undefined ? [] : [checkRunning(table, pid, asker)]),
    checkMachine(process.env),
    checkInstallation(facts, table, gemini && startable.includes(gemini) ? gemini : undefined),
    facts ? checkBridge(facts, profiles, table) : checkEditors(announcedEditors(temporary), temporary),
    listRunning(table, asker),
    ...startable.map((profile) => checkStartable(profile, facts, table)),
  ];
  return { sections: (await Promise.all(sections)).filter((one) => one !== undefined) };
}

const MARKS: Record<Item["level"], string> = {
  ok: "ok     ",
  info: "       ",
  warn: "WARNING",
  error: "ERROR  ",
};

export function renderText({ sections }: Report): string {
  const line = ({ level, text, advice }: Item) =>
    `  ${MARKS[level]} ${text}${advice === undefined ? "" : `\n          -> ${advice}`}`;
  return sections.map(({ title, items }) => [title, ...items.map(line)].join("\n")).join("\n\n");
}

export function hasErrors({ sections }: Report): boolean {
  return sections.some(({ items }) => items.some(({ level }) => level === "error"));
}
