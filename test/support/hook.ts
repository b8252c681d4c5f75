import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { geminiHooks, quoted, qwenHooks } from "../../src/profiles/hooks.ts";
import { root } from "./nvim.ts";

/** What the CLI runs for its hooks. */
export const SCRIPT = join(root, "extension/hooks/hook.sh");

export interface HookOptions {
  /** Another one in its place. */
  script?: string;
  /** The directory that the CLI is in. */
  cwd?: string;
  cli?: "gemini" | "qwen";
}

export const SILENT = { out: "", err: "", code: 0 };

/**
 * Runs the hook as the CLI does before a tool: its command in bash, its JSON on standard input.
 * @param env beside the variables of this process; undefined takes one away. Without TMPDIR there are no discovery files
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
  hook.stdin.on("error", () => {}); // it may end without having read
  hook.stdin.end(body);
  const ended = new Promise((resolve) => hook.once("close", resolve));
  const [out, err, code] = await Promise.all([text(hook.stdout), text(hook.stderr), ended]);
  return { out, err, code };
}
