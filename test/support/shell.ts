import { execFileSync } from "node:child_process";
import type { ChangesHost } from "./changes.ts";

/** Makes a repository of the host's directory. */
export const SETUP = "git init -q -b main; git add -A 2>/dev/null; git commit -qm first";

/** Runs a script of the shell's in the host's directory, as the agent's tool does. */
export async function run(host: ChangesHost, command: string): Promise<void> {
  const tool = { kind: "shell", name: "run_shell_command", command } as const;
  await host.tell({ kind: "tool_starting", tool });
  sh(host, command);
  await host.tell({ kind: "tool_ended", tool, failed: false });
}

/** Runs one that no hook tells of. */
export function sh(host: ChangesHost, command: string): string {
  const author = ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"];
  const env = { ...process.env, HOME: host.directory, GIT_CONFIG_NOSYSTEM: "1" };
  for (const name of author) Object.assign(env, { [name]: "x" });
  return execFileSync("sh", ["-ec", command], { cwd: host.directory, env, encoding: "utf8" });
}
