/** Removes the discovery files of dead editors. */
import { lstatSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { IDE_INFO } from "../contract/companion.ts";
import { list } from "../profiles/announced-editors.ts";
import { directoryOf, readFileName } from "../profiles/discovery-paths.ts";
import { isLeftover } from "../profiles/leftover-files.ts";
import type { Profile } from "../profiles/profiles.ts";
import { platform } from "../system/platform.ts";
import { readJson } from "../system/small-file.ts";
import { draftName } from "./file.ts";

const OfNeovim = z.object({
  ppid: z.int().positive().optional().catch(undefined),
  ideInfo: z.object({ name: z.literal(IDE_INFO.name) }),
});

/**
 * Removes the files of this user that name Neovim, if their process and port are both dead. All other files stay. A
 * file that cannot be read or removed is skipped.
 */
export async function cleanUpDiscovery(profile: Profile): Promise<void> {
  const names = list(directoryOf(profile));
  await Promise.all(names.map((name) => removeIfDead(profile, name).catch(() => {})));
}

async function removeIfDead(profile: Profile, name: string): Promise<void> {
  const published = name.startsWith(".") ? name.slice(1).replace(/\.tmp$/, "") : name;
  const isDraft = name === draftName(published);
  const named = readFileName(profile, published);
  if (named?.port === undefined || (published !== name && !isDraft)) return;
  const path = join(directoryOf(profile), name);
  const found = lstatSync(path);
  if (!found.isFile() || !platform.isOwn(found.uid)) return;
  // A draft may be incomplete, so only the name is checked. No other program uses such names.
  const content: { ppid?: number | undefined } | undefined = isDraft ? {} : readJson(path, OfNeovim);
  if (!content || !(await isLeftover(named.pid ?? content.ppid, named.port, found.mtimeMs))) return;
  // The editor may have updated the file meanwhile.
  if (lstatSync(path).mtimeMs === found.mtimeMs) unlinkSync(path);
}
