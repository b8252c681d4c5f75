import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { geminiHooks, quoted } from "../../src/profiles/hooks.ts";
import { root } from "./nvim.ts";

/** What the CLI runs for its hooks. */
export const SCRIPT = join(root, "extension/hooks/hook.sh");

export interface HookOptions {
  /** Another one in its place. */
  script?: string;
  /** The directory that the CLI is in. */
  cwd?: string;
}

/**
 * Runs the hook as Gemini CLI does before a tool: its command in bash, its JSON on standard input.
 * @param env beside the variables of this process; undefined takes one away
 */
export async function runHook(
  env: Readonly<Record<string, string | undefined>>,
  body: string,
  { script = SCRIPT, cwd }: HookOptions = {},
): Promise<{ out: string; err: string; code: unknown }> {
  const { BeforeTool } = JSON.parse(JSON.stringify(geminiHooks(quoted(script)))).hooks;
  const hook = spawn("bash", ["-c", BeforeTool[0].hooks[0].command], {
    env: { ...process.env, ...env },
    cwd,
  });
  hook.stdin.on("error", () => {}); // it may end without having read
  hook.stdin.end(body);
  const ended = new Promise((resolve) => hook.once("close", resolve));
  const [out, err, code] = await Promise.all([text(hook.stdout), text(hook.stderr), ended]);
  return { out, err, code };
}
