/** Removes the discovery files of editors that died without a chance to do it themselves. */
import { lstatSync, readdirSync, readFileSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { IDE_INFO } from "../contract/companion.ts";
import { isLeftover } from "../profiles/leftover.ts";
import { directoryOf, readFileName } from "../profiles/paths.ts";
import type { Profile } from "../profiles/profiles.ts";
import { here } from "../system/here.ts";
import { draftName } from "./file.ts";

/** More than any file of ours holds (bytes). */
const MAX_SIZE = 1_000_000;

const OfNeovim = z.object({
  ppid: z.int().positive().optional().catch(undefined),
  ideInfo: z.object({ name: z.literal(IDE_INFO.name) }),
});

/**
 * Removes the files that name Neovim, belong to this user, and whose process and port are both dead.
 * Whatever else is in that directory stays as it is, and no file that cannot be read or removed is an error.
 */
export async function cleanUpDiscovery(profile: Profile): Promise<void> {
  const names = list(directoryOf(profile));
  await Promise.all(names.map((name) => removeIfDead(profile, name).catch(() => {})));
}

function list(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return []; // no such directory, or one that is none of ours
  }
}

async function removeIfDead(profile: Profile, name: string): Promise<void> {
  const published = name.startsWith(".") ? name.slice(1).replace(/\.tmp$/, "") : name;
  const isDraft = name === draftName(published);
  const said = readFileName(profile, published);
  if (said?.port === undefined || (published !== name && !isDraft)) return;
  const path = join(directoryOf(profile), name);
  const found = lstatSync(path);
  if (!found.isFile() || !here.isOwn(found.uid) || found.size > MAX_SIZE) return;
  // A draft may be cut short, so that its name, which only this plugin uses, has to do.
  const content = isDraft ? undefined : OfNeovim.parse(JSON.parse(readFileSync(path, "utf8")));
  if (!(await isLeftover(said.pid ?? content?.ppid, said.port, found.mtimeMs))) return;
  // Meanwhile the editor may have come back to it.
  if (lstatSync(path).mtimeMs === found.mtimeMs) unlinkSync(path);
}
