/** Runs the hook script as a CLI does. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { geminiHooks, quoted, qwenHooks } from "../../src/profiles/hooks.ts";
import { root } from "./nvim.ts";
import type { Scope } from "./scope.ts";

/** The script that CLIs run for their hooks. */
export const SCRIPT = join(root, "extension/hooks/hook.sh");

export interface HookOptions {
  /** Script to run instead of the hook script. */
  script?: string;
  /** Working directory of the CLI. */
  cwd?: string;
  cli?: "gemini" | "qwen";
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
  }).listen(0, "127.0.0.1");
  t.teardown(() => trap.close());
  await once(trap, "listening");
  const address = trap.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return { port: address.port, connections: () => connections };
}
