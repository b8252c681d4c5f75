/** Removes the discovery files of Neovims that have ended. */
import { lstatSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { IDE_NAME } from "../contract/companion.ts";
import { list } from "../profiles/announced-editors.ts";
import { directoryOf, readFileName } from "../profiles/discovery-paths.ts";
import { isLeftover } from "../profiles/leftover-files.ts";
import type { Profile } from "../profiles/profiles.ts";
import { platform } from "../system/platform.ts";
import { readJson } from "../system/small-file.ts";
import { draftName } from "./file.ts";

const OfNeovim = z.object({
  ppid: z.int().positive().optional().catch(undefined),
  ideInfo: z.object({ name: z.literal(IDE_NAME) }),
});

/**
 * Removes the discovery files of this user's Neovims that have ended. A Neovim has ended if its process is gone and
 * nothing listens on its port. Skips files that cannot be read or removed.
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
  // Checks only the name of a draft, because its content may be incomplete. Only this plugin uses such names.
  const content: { ppid?: number | undefined } | undefined = isDraft ? {} : readJson(path, OfNeovim);
  if (!content || !(await isLeftover(named.pid ?? content.ppid, named.port, found.mtimeMs))) return;
  // Keeps the file if a Neovim has updated it during the check.
  if (lstatSync(path).mtimeMs === found.mtimeMs) unlinkSync(path);
}
