/** Finds the Neovim that a CLI in this process tree and directory would choose. */
import "../../base/interpret-schemas.ts";
import { announcedEditors, chooseEditor, contains, idePidOf } from "../../profiles/announced-editors.ts";
import { type Profile, profilesOf } from "../../profiles/profiles.ts";
import { platform } from "../../system/platform.ts";
import type { ProcessTable } from "../../system/system.ts";
import type { Address } from "./http.ts";

/** Finds the Neovim. @returns undefined if no Neovim is an ancestor of this process or has this directory open */
export async function findNeovim(): Promise<Address | undefined> {
  const profiles = profilesOf();
  let table: Promise<ProcessTable> | undefined;
  // Lists the processes at most once, and only if there are discovery files, because listing takes a while.
  const processes = () => (table ??= platform.processes());
  // Tries the discovery files of all CLIs: the user may have disabled some CLIs, and the bridge then writes no files
  // for them.
  for (const profile of profiles) {
    const found = await findByFiles(profile, processes);
    if (found) return found;
  }
  return findByEnvironment(profiles, process.env, process.cwd());
}

/**
 * Finds Neovim by the environment variables that Neovim sets in its terminals. Needed for CLIs that the user has
 * defined: this program does not know their discovery directories.
 */
function findByEnvironment(
  profiles: readonly Profile[],
  env: NodeJS.ProcessEnv,
  cwd: string,
): Address | undefined {
  const known = profiles.map((profile) => profile.env);
  for (const name of Object.keys(env)) {
    const [, prefix = ""] = /^(.+)SERVER_PORT$/.exec(name) ?? [];
    const port = Number(env[name]);
    const token = env[`${prefix}AUTH_TOKEN`];
    const isOwn = prefix !== "" && !known.includes(prefix) && port > 0 && port < 65_536;
    if (isOwn && token && contains(env[`${prefix}WORKSPACE_PATH`], cwd)) return { port, token };
  }
  return undefined;
}

async function findByFiles(
  profile: Profile,
  processes: () => Promise<ProcessTable>,
): Promise<Address | undefined> {
  const { env, pid } = process;
  const cwd = process.cwd();
  // Skips other editors, because only Neovim has this MCP server.
  const editors = announcedEditors(platform.temporaryDirectory(env), profile).filter(
    ({ content, isAlive }) => isAlive && content?.ideInfo?.name === "neovim",
  );
  if (editors.length === 0) return undefined;
  const idePid = idePidOf({ pid, env }, await processes());
  const port = env[`${profile.env}SERVER_PORT`];
  const found = chooseEditor(editors, { idePid, cwd, port });
  const token = found?.content?.authToken;
  // Returns no editor if the chosen editor has another project open, so that the model does not see that project. A CLI
  // would show an error in this case.
  if (!found || !token || !contains(found.content?.workspacePath, cwd)) return undefined;
  return { port: found.port, token };
}
