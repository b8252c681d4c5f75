/** Runs the doctor, and the client code of the CLI that the doctor examines. */
import { type ExecFileException, execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { type Nvim, root } from "./nvim.ts";
import { makeEnv, withEnv } from "./sandbox.ts";

export const CLIENT = join(root, "test/outside/fixtures/ide-client.mjs");

/** Result of a client's attempt to connect. */
export const Outcome = z.object({
  pid: z.int(),
  idePid: z.int(),
  status: z.string(),
  details: z.string().optional(),
});

/** Lua that starts a command in a shell of Neovim, as in `:terminal`. */
export const START = `
local command, options = ...
return vim.fn.jobpid(vim.fn.jobstart({ 'sh', '-c', command .. '; true' }, vim.tbl_extend('keep', options, { pty = true })))
`;

let clients = 0;

/**
 * Runs the CLI's own client code in a shell of Neovim.
 * @returns the result of the attempt to connect
 */
export async function startClient(
  nvim: Nvim,
  { cwd = nvim.dirs.workspace, prefix = "" }: { cwd?: string; prefix?: string } = {},
): Promise<z.infer<typeof Outcome>> {
  const result = join(nvim.dirs.home, `client-${++clients}.json`);
  await nvim.lua(START, `${prefix} '${process.execPath}' '${CLIENT}' '${result}'`, { cwd });
  await nvim.waitFor(() => existsSync(result), "the client's outcome");
  return Outcome.parse(JSON.parse(readFileSync(result, "utf8")));
}

const TITLES =
  /^(?=Installation|Bridge|Editors|Running CLIs|A CLI started|Qwen Code started|Gemini CLI, process|Qwen Code, process)/m;

/** Returns the sections of a report by name. Each finding is one line, with the advice after an arrow. */
export function sectionsOf(text: string): Record<string, string> {
  const sections = text.split(TITLES);
  return Object.fromEntries(sections.map((section) => [/^[A-Za-z ]+\w/.exec(section)?.[0], section]));
}

/** Returns the report of `:GeminiDoctor`. */
export async function examine(nvim: Nvim, pid?: number): Promise<Record<string, string>> {
  await nvim.command(`GeminiDoctor ${pid ?? ""}`);
  const lines = z
    .array(z.string())
    .parse(await nvim.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)"));
  await nvim.command("bwipeout!");
  return sectionsOf(lines.join("\n").replace(/\n +- ADVICE:\n +- /g, " -> "));
}

export const isRunning = "require('gemini-bridge').status().state == 'running'";

/** The doctor as a program for a shell. */
export const PROGRAM = join(root, "dist/doctor.cjs");

export interface Answer {
  code: ExecFileException["code"];
  output: string;
  sections: Record<string, string>;
}

/** Runs the doctor in a shell, with Neovim's home and temporary directory. Keeps standard input open. */
export function runDoctor(nvim: Nvim, args: string[], cwd = nvim.dirs.workspace): Promise<Answer> {
  const env = { ...makeEnv(nvim.dirs), REMOTE_CONTAINERS: "true" };
  const [file = "", ...words] = withEnv(env, [process.execPath, PROGRAM, ...args]);
  return new Promise((resolve) => {
    execFile(file, words, { cwd }, (error, stdout, stderr) => {
      const sections = sectionsOf(stdout.replace(/\n +-> /g, " -> "));
      resolve({ code: error?.code ?? 0, output: stdout + stderr, sections });
    });
  });
}
