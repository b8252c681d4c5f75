/** All that the doctor finds, and how a shell shows it. */
import { basename } from "node:path";
import { temporaryDirectory } from "../../cli/cli.ts";
import { announcedEditors } from "../../cli/find-editor.ts";
import type { ProcessTable } from "../../cli/processes/table.ts";
import { checkBridge } from "./bridge.ts";
import type { Facts, Item, Report } from "./contract.ts";
import { checkEditors } from "./editors.ts";
import { checkInstallation } from "./installation.ts";
import { checkStartableQwen } from "./qwen.ts";
import { checkRunning, listRunning } from "./running.ts";
import { checkStartable } from "./startable.ts";

/** The names under which CLIs run. */
export function programsOf(facts: Facts | undefined): string[] {
  if (!facts) return ["gemini", "qwen", "llxprt"];
  const commands = [facts.cmd, ...facts.clis.map(({ cmd }) => cmd)];
  return [...new Set(commands.map(([program = ""]) => basename(program)))];
}

/**
 * @param facts of the Neovim that asks
 * @param pid of the running CLI that is asked about
 */
export async function examine(
  table: ProcessTable,
  facts: Facts | undefined,
  pid: number | undefined,
): Promise<Report> {
  const command = facts ? ":GeminiDoctor" : `node ${process.argv[1]}`;
  const clis = facts?.clis ?? [];
  const asker = { bridge: facts?.bridge, command, clis, terminals: facts?.terminals ?? [] };
  const temporary = temporaryDirectory(process.env);
  const sections = [
    ...(pid === undefined ? [] : [checkRunning(table, pid, asker)]),
    checkInstallation(facts, table),
    facts ? checkBridge(facts, table) : checkEditors(announcedEditors(temporary), temporary),
    listRunning(table, programsOf(facts), asker),
    checkStartable(facts, table),
  ];
  const others = clis.filter(({ like }) => like === "qwen");
  const startable = others
    .map((cli) => facts && checkStartableQwen(cli, facts))
    .filter((one) => one !== undefined);
  return { sections: [...(await Promise.all(sections)), ...startable] };
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
