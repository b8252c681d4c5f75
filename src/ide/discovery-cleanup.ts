/** Removes the discovery files of editors that died without a chance to do it themselves. */
import { lstatSync, readdirSync, readFileSync, unlinkSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import * as z from "zod";
import { here } from "../platform/here.ts";
import { draftName } from "./discovery-file.ts";
import { directoryOf, readFileName } from "./profile-paths.ts";
import type { Profile } from "./profiles.ts";
import { IDE_INFO } from "./wire.ts";

/** More than any file of ours holds (bytes). */
const MAX_SIZE = 1_000_000;

/** A port of this machine answers or refuses at once; one that does neither counts as alive (milliseconds). */
const PATIENCE = 500;

/** An editor that lives makes its file's date new more often than this, src/ide/discovery.ts (milliseconds). */
const FRESH = 180_000;

/** The start of a process is known to the second, and clocks are set (milliseconds). */
const TOLERANCE = 5_000;

/** No process of Linux or macOS, in whatever namespace, has a higher number. */
const MAX_PID = 2 ** 22;

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

/**
 * Whether the editor that wrote a discovery file has died.
 * @param pid none where the file does not say
 * @param date of the file, Unix milliseconds
 */
export async function isLeftover(pid: number | undefined, port: number, date: number): Promise<boolean> {
  return !(await mayLive(pid, date)) && !(await isListening(port));
}

async function mayLive(pid: number | undefined, date: number): Promise<boolean> {
  // In another PID namespace, as a container has it, the number tells nothing: the date has to do.
  if ((pid ?? 0) <= MAX_PID && Math.abs(Date.now() - date) < FRESH) return true;
  if (pid === undefined || !isRunning(pid)) return false;
  // A process that began after the file's date has only inherited the number of the one that wrote it.
  const start = await here.startOf(pid);
  return start === undefined || start <= date + TOLERANCE;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Any other error (EPERM) tells of a process that exists.
    return !(error instanceof Error && "code" in error && error.code === "ESRCH");
  }
}

function isListening(port: number): Promise<boolean> {
  if (port < 1 || port > 65_535) return Promise.resolve(false);
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    const answer = (alive: boolean) => {
      socket.destroy();
      resolve(alive);
    };
    socket.setTimeout(PATIENCE, () => answer(true));
    socket.once("connect", () => answer(true));
    socket.once("error", () => answer(false));
  });
}
