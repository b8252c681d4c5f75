/** Removes the discovery files of dead editors. */
import { lstatSync, readdirSync, readFileSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { IDE_INFO } from "../contract/companion.ts";
import { directoryOf, readFileName } from "../profiles/discovery-paths.ts";
import { isLeftover } from "../profiles/leftover-files.ts";
import type { Profile } from "../profiles/profiles.ts";
import { platform } from "../system/platform.ts";
import { draftName } from "./file.ts";

/** A larger file is not from this plugin. */
const MAX_SIZE_BYTES = 1_000_000;

const OfNeovim = z.object({
  ppid: z.int().positive().optional().catch(undefined),
  ideInfo: z.object({ name: z.literal(IDE_INFO.name) }),
});

/**
 * Removes files that name Neovim, belong to this user, and whose process and port are both dead. All other files stay.
 * A file that cannot be read or removed is skipped.
 */
export async function cleanUpDiscovery(profile: Profile): Promise<void> {
  const names = list(directoryOf(profile));
  await Promise.all(names.map((name) => removeIfDead(profile, name).catch(() => {})));
}

function list(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return []; // missing or not readable
  }
}

async function removeIfDead(profile: Profile, name: string): Promise<void> {
  const published = name.startsWith(".") ? name.slice(1).replace(/\.tmp$/, "") : name;
  const isDraft = name === draftName(published);
  const said = readFileName(profile, published);
  if (said?.port === undefined || (published !== name && !isDraft)) return;
  const path = join(directoryOf(profile), name);
  const found = lstatSync(path);
  if (!found.isFile() || !platform.isOwn(found.uid) || found.size > MAX_SIZE_BYTES) return;
  // A draft may be incomplete, so only its name is checked. No other program uses such names.
  const content = isDraft ? undefined : OfNeovim.parse(JSON.parse(readFileSync(path, "utf8")));
  if (!(await isLeftover(said.pid ?? content?.ppid, said.port, found.mtimeMs))) return;
  // The editor may have updated the file meanwhile.
  if (lstatSync(path).mtimeMs === found.mtimeMs) unlinkSync(path);
}
