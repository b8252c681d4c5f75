/** The Neovim that a CLI in this place would take. */
import "../../interpreted.ts";
import { announcedEditors, chooseEditor, contains, idePidOf } from "../../profiles/announced-editors.ts";
import { type Profile, profilesOf } from "../../profiles/profiles.ts";
import { here } from "../../system/here.ts";
import type { ProcessTable } from "../../system/system.ts";
import type { Address } from "./http.ts";

/** @returns nothing when none is above this process, nor open in its directory */
export async function findNeovim(): Promise<Address | undefined> {
  const profiles = profilesOf();
  let table: Promise<ProcessTable> | undefined;
  // To list all processes takes a while: once, and where no editor is announced not at all.
  const processes = () => (table ??= here.processes());
  // Gemini CLI's first; the user may have switched it off.
  for (const profile of profiles) {
    const found = await findBy(profile, processes);
    if (found) return found;
  }
  return handedDown(profiles, process.env, process.cwd());
}

/** What Neovim's terminal says of itself for a CLI that is known to its user alone; the directory of its files is not. */
function handedDown(profiles: readonly Profile[], env: NodeJS.ProcessEnv, cwd: string): Address | undefined {
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

async function findBy(
  profile: Profile,
  processes: () => Promise<ProcessTable>,
): Promise<Address | undefined> {
  const { env, pid } = process;
  const cwd = process.cwd();
  // Another editor's companion has no such server, and must not get in the way.
  const editors = announcedEditors(here.temporaryDirectory(env), profile).filter(
    ({ content, isAlive }) => isAlive && content?.ideInfo?.name === "neovim",
  );
  if (editors.length === 0) return undefined;
  const idePid = idePidOf({ pid, env }, await processes());
  const port = env[`${profile.env}SERVER_PORT`];
  const found = chooseEditor(editors, { idePid, cwd, port });
  const token = found?.content?.authToken;
  // A CLI would take any and complain; files of another project are nobody's business here.
  if (!found || !token || !contains(found.content?.workspacePath, cwd)) return undefined;
  return { port: found.port, token };
}
