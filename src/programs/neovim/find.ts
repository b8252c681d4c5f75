/** Finds the Neovim that a CLI in this process tree and directory would choose. */
import "../../interpret-schemas.ts";
import { announcedEditors, chooseEditor, contains, idePidOf } from "../../profiles/announced-editors.ts";
import { type Profile, profilesOf } from "../../profiles/profiles.ts";
import { platform } from "../../system/platform.ts";
import type { ProcessTable } from "../../system/system.ts";
import type { Address } from "./http.ts";

/** @returns undefined if no Neovim is an ancestor of this process or open in this directory */
export async function findNeovim(): Promise<Address | undefined> {
  const profiles = profilesOf();
  let table: Promise<ProcessTable> | undefined;
  // Listing all processes takes a while: do it at most once, and only if there are discovery files.
  const processes = () => (table ??= platform.processes());
  // Tries the discovery files of all CLIs, because the bridge writes no files for CLIs that the user has disabled.
  for (const profile of profiles) {
    const found = await findByFiles(profile, processes);
    if (found) return found;
  }
  return findByEnvironment(profiles, process.env, process.cwd());
}

/**
 * Finds Neovim by the environment variables that it sets in its terminals. Needed for CLIs that the user has defined,
 * because this program does not know their discovery directories.
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
  // The chosen editor may have another project open. A CLI would then show an error. This program returns no editor
  // instead, so that the model does not see that project.
  if (!found || !token || !contains(found.content?.workspacePath, cwd)) return undefined;
  return { port: found.port, token };
}
