/** Runs the hook script as a CLI does. */
import { execFileSync, spawn } from "node:child_process";
import { symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { geminiHooks, quoted, qwenHooks } from "../../src/profiles/hooks.ts";
import { listenOn } from "./listen.ts";
import { root } from "./nvim.ts";
import { makeDirectory } from "./sandbox.ts";
import type { Scope } from "./scope.ts";
import { TOKEN } from "./server.ts";

/** The script that CLIs run for their hooks. */
export const SCRIPT = join(root, "extension/hooks/hook.sh");

export interface HookOptions {
  /** Script to run instead of the hook script. */
  script?: string;
  /** Working directory of the CLI. */
  cwd?: string;
  cli?: "gemini" | "qwen";
}

let moment = 0;

/** Returns the input of a hook. Each input has a different time. */
export const input = (hook_event_name: string, fields: object = {}) =>
  JSON.stringify({
    session_id: "s",
    cwd: "/w",
    hook_event_name,
    timestamp: new Date(++moment).toISOString(),
    ...fields,
  });

/** Returns the variables with which a hook finds the host. */
export const variables = (port: number, token = TOKEN) => ({
  GEMINI_CLI_IDE_SERVER_PORT: String(port),
  GEMINI_CLI_IDE_AUTH_TOKEN: token,
});

/** Creates a directory for PATH that contains only the given commands. */
export function commandsOnPath(t: Scope, ...names: string[]): string {
  const directory = makeDirectory(t);
  for (const name of names)
    symlinkSync(
      execFileSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim(),
      join(directory, name),
    );
  return directory;
}

export const SILENT = { out: "", err: "", code: 0 };

/**
 * Runs the hook as the CLI does before a tool: runs the command in bash, with JSON on standard input.
 * @param env additional variables; undefined removes a variable. Without TMPDIR, the script finds no discovery files
 */
export async function runHook(
  env: Readonly<Record<string, string | undefined>>,
  body: string,
  { script = SCRIPT, cwd, cli = "gemini" }: HookOptions = {},
): Promise<{ out: string; err: string; code: unknown }> {
  const settings = cli === "gemini" ? geminiHooks(quoted(script)) : qwenHooks(quoted(script));
  const { BeforeTool, PreToolUse } = JSON.parse(JSON.stringify(settings)).hooks;
  const hook = spawn("bash", ["-c", (BeforeTool ?? PreToolUse)[0].hooks[0].command], {
    env: { ...process.env, TMPDIR: "/nowhere", ...env },
    cwd,
  });
  hook.stdin.on("error", () => {}); // the hook may end without reading its input
  hook.stdin.end(body);
  const ended = new Promise((resolve) => hook.once("close", resolve));
  const [out, err, code] = await Promise.all([text(hook.stdout), text(hook.stderr), ended]);
  return { out, err, code };
}

/** Starts a server that counts connections and never answers. Tests put its port into forged discovery files. */
export async function startTrap(t: Scope): Promise<{ port: number; connections: () => number }> {
  let connections = 0;
  const trap = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  return { port: await listenOn(t, trap), connections: () => connections };
}
