/** What is Windows' own: processes are asked of PowerShell, as Gemini CLI does; of another one it tells little. */
import { win32 } from "node:path";
import * as z from "zod";
import { run } from "./run.ts";
import type { Connection, Process, ProcessTable, System } from "./system.ts";

/** PowerShell takes its time (milliseconds). */
const TIMEOUT = 10_000;

/** No further up than this, and so many steps below the topmost process is what a CLI takes for its editor. */
const MAX_DEPTH = 32;
const BELOW_TOP = 2;

const PROCESSES =
  "Get-CimInstance Win32_Process | Select-Object ProcessId,ParentProcessId,CreationDate,CommandLine";
const CONNECTIONS =
  "Get-NetTCPConnection -State Established | Select-Object LocalPort,RemotePort,OwningProcess";

export const windows: System = {
  name: "win32",
  path: win32,
  temporaryDirectory(env) {
    const system = env["SystemRoot"] || env["windir"];
    const path = env["TEMP"] || env["TMP"] || `${system}\\temp`;
    return path.length > 1 && path.endsWith("\\") && !path.endsWith(":\\") ? path.slice(0, -1) : path;
  },
  homeDirectory: (env) => env["USERPROFILE"] || undefined,
  settingsDirectory: (program, env, home) =>
    win32.join(env["APPDATA"] || win32.join(home, "AppData", "Roaming"), program, "Config"),
  fileNames(program, env) {
    const endings = (env["PATHEXT"] || ".COM;.EXE;.BAT;.CMD").split(win32.delimiter);
    return win32.extname(program) === "" ? endings.map((ending) => program + ending) : [program];
  },
  /** Either case, either slash; another drive is elsewhere. */
  isWithin(outer, inner) {
    const way = win32.relative(outer, inner);
    return way !== ".." && !way.startsWith("..\\") && !win32.isAbsolute(way);
  },
  isOwn: () => true,
  isPrivate: () => true,
  isUnknownUser: () => false,
  mounts: () => new Map(),
  processes: async () => parseProcesses(await ask(PROCESSES), Date.now()),
  /** The great-grandchild of nobody: the third from the top. */
  editorProcess(table, cli) {
    const line = ancestry(table, cli);
    return line.at(-1 - BELOW_TOP) ?? line.at(-1) ?? cli;
  },
  editorAboveShell: (table, pid) => ancestry(table, pid).at(-1 - BELOW_TOP) ?? pid,
  asksForLife: false,
  async startOf(pid) {
    const process = parseProcesses(await ask(PROCESSES), Date.now()).get(pid);
    return process && Date.now() - process.seconds * 1000;
  },
  environment: async () => undefined,
  directory: async () => undefined,
  async words(pid) {
    return splitCommand(parseProcesses(await ask(PROCESSES), Date.now()).get(pid)?.command ?? "");
  },
  connections: async (pids, ports) => parseConnections(await ask(CONNECTIONS), pids, ports),
};

/** Its answer as JSON: one object alone where there is but one. */
function ask(query: string): Promise<string> {
  const command = `${query} | ConvertTo-Json -Compress`;
  return run("powershell", ["-NoProfile", "-NonInteractive", "-Command", command], TIMEOUT);
}

/** From a process upwards, as far as the parents are there. */
function ancestry(table: ProcessTable, pid: number): number[] {
  const line: number[] = [];
  for (let next = table.get(pid); next && line.length < MAX_DEPTH; next = table.get(next.parent)) {
    line.push(next.pid);
    if (next.parent === 0) break;
  }
  return line;
}

const Told = z.object({
  ProcessId: z.number(),
  ParentProcessId: z.number().catch(0),
  /** `/Date(1700000000000)/` in Windows PowerShell, in later ones as in ISO 8601; nothing for the system's own. */
  CreationDate: z.string().nullish().catch(null),
  CommandLine: z.string().nullish().catch(null),
});

/**
 * @param json what {@link PROCESSES} answers
 * @param now Unix milliseconds
 */
export function parseProcesses(json: string, now: number): ProcessTable {
  const table = new Map<number, Process>();
  for (const told of listOf(json)) {
    const { success, data } = Told.safeParse(told);
    if (!success) continue;
    const { ProcessId: pid, ParentProcessId: parent, CommandLine: command } = data;
    table.set(pid, {
      pid,
      parent,
      command: command ?? "",
      seconds: (now - dateOf(data.CreationDate)) / 1000,
    });
  }
  return table;
}

/** @returns Unix milliseconds; the beginning of time for what has no date, which is as old as the machine */
function dateOf(date: string | null | undefined): number {
  const milliseconds = /^\/Date\((\d+)/.exec(date ?? "")?.[1];
  return Number(milliseconds ?? (Date.parse(date ?? "") || 0));
}

const Established = z.object({ LocalPort: z.number(), RemotePort: z.number(), OwningProcess: z.number() });

/** @param json what {@link CONNECTIONS} answers */
export function parseConnections(
  json: string,
  pids: readonly number[],
  ports: readonly number[],
): Connection[] {
  return listOf(json).flatMap((told) => {
    const { data } = Established.safeParse(told);
    return data && pids.includes(data.OwningProcess) && ports.includes(data.RemotePort)
      ? [{ own: data.LocalPort, remote: data.RemotePort }]
      : [];
  });
}

function listOf(json: string): unknown[] {
  try {
    const told: unknown = JSON.parse(json);
    return Array.isArray(told) ? told : [told];
  } catch {
    return []; // PowerShell is not there, or was cut short
  }
}

/** A command line's words: what stands in double quotes is not taken apart. */
export function splitCommand(command: string): string[] {
  return [...command.matchAll(/(?:"[^"]*"|\S)+/g)].map(([word]) => word.replaceAll('"', ""));
}
