/** Runs shell commands in the directory of a {@link ChangesHost}. */
import { execFileSync } from "node:child_process";
import type { ChangesHost } from "./changes.ts";

/** Script that creates a git repository in the host's directory. */
export const SETUP = "git init -q -b main; git add -A 2>/dev/null; git commit -qm first";

/**
 * Returns a script that creates a git repository in which an object is missing. To fetch the object, git would run
 * `program` as the remote repository.
 */
export function fetching(program: string, object: "file" | "folder"): string {
  const sparse =
    "git config index.sparse true; git sparse-checkout init --cone --sparse-index; git sparse-checkout set open";
  return `
    mkdir -p lacking open; echo x > lacking/a.txt; echo y > open/b.txt
    git init -q -b main; git add lacking open; git -c user.name=x -c user.email=x commit -qm first
    ${object === "folder" ? sparse : ""}
    name=$(git rev-parse HEAD:${object === "folder" ? "lacking" : "open/b.txt"})
    rm -f ".git/objects/$(echo $name | sed 's,^..,&/,')"
    git config remote.origin.url ext::${program}; git config remote.origin.promisor true
    git config extensions.partialClone origin; git config core.repositoryFormatVersion 1
    git config protocol.ext.allow always`;
}

/** Runs a shell script in the host's directory as a tool of the agent, with hooks. */
export async function run(host: ChangesHost, command: string): Promise<void> {
  const tool = { kind: "shell", name: "run_shell_command", command } as const;
  await host.tell({ kind: "tool_starting", tool });
  sh(host, command);
  await host.tell({ kind: "tool_ended", tool, failed: false });
}

/** Runs a shell script in the host's directory without hooks. */
export function sh(host: ChangesHost, command: string): string {
  const author = ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"];
  const env = { ...process.env, HOME: host.directory, GIT_CONFIG_NOSYSTEM: "1" };
  for (const name of author) Object.assign(env, { [name]: "x" });
  return execFileSync("sh", ["-ec", command], { cwd: host.directory, env, encoding: "utf8" });
}
