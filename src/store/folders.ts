/**
 * Finds the folders of Neovims that have ended. A new Neovim with the same directories takes such a folder over: it
 * renames the folder first, so that no other Neovim takes the same folder.
 */
import { randomUUID } from "node:crypto";
import { lstatSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { attempt } from "../base/attempt.ts";
import { platform } from "../system/platform.ts";
import { isAlive } from "../system/processes.ts";
import { type Lists, lastWrite, readLists, sizeOf } from "./lists-file.ts";

/** Maximum time since the last write to the folder of an ended Neovim. */
const MAX_AGE_MS = 7 * 24 * 60 * 60 * 1_000;

/** Maximum total size of the texts of all ended Neovims (bytes). The folders that were written first are removed first. */
const MAX_SIZE_BYTES = 512 * 1024 * 1024;

/** Maximum difference between the start time in the name of a folder and the start time in the process table. */
const CLOCK_TOLERANCE_MS = 5_000;

/** A folder that was taken over, and its lists. */
export type TakenFolder = Lists & { path: string };

/**
 * Takes over the folders of ended Neovims that had one of these directories open. Also returns the folders that an
 * earlier host of this Neovim has taken over but not removed. Leaves folders that cannot be read.
 * @param machine folder with the folders of all Neovims on this machine
 * @param instance id of this Neovim, which is the name of its folder
 */
export async function takeFolders(
  machine: string,
  instance: string,
  directories: readonly string[],
): Promise<TakenFolder[]> {
  const taken: TakenFolder[] = [];
  for (const path of foldersIn(machine)) {
    const isOwn = instanceOf(path) === instance;
    if (basename(path) === instance || (!isOwn && (await isRunning(path)))) continue;
    const lists = readLists(path);
    if (!lists || !(isOwn || lists.directories.some((one) => directories.includes(one)))) continue;
    const target = isOwn ? path : join(machine, `${instance}+${randomUUID().slice(0, 8)}`);
    if (!isOwn && !attempt(() => renameSync(path, target) ?? true)) continue; // another Neovim was faster
    taken.push({ path: target, ...lists });
  }
  return taken;
}

/**
 * Removes folders of ended Neovims that are too old. Then removes the oldest folders until the rest fits into the size
 * limit. A Neovim on another machine counts as ended if it has written nothing for so long.
 */
export async function pruneFolders(machine: string, instance: string): Promise<void> {
  const found: { path: string; at: number }[] = [];
  for (const other of foldersIn(dirname(machine)))
    for (const path of foldersIn(other))
      if (instanceOf(path) !== instance && (other !== machine || !(await isRunning(path))))
        found.push({ path, at: lastWrite(path) });
  let size = 0;
  for (const { path, at } of found.sort((a, b) => b.at - a.at)) {
    const entries = Object.values(readLists(path)?.lists ?? {}).flat();
    size += entries.reduce((sum, entry) => sum + sizeOf(entry), 0);
    if (Date.now() - at > MAX_AGE_MS || size > MAX_SIZE_BYTES)
      attempt(() => rmSync(path, { recursive: true, force: true }));
  }
}

/** Returns the folders in a folder that belong to the user. */
function foldersIn(path: string): string[] {
  const all = (attempt(() => readdirSync(path)) ?? []).map((name) => join(path, name));
  return all.filter((one) => {
    const found = attempt(() => lstatSync(one));
    return found?.isDirectory() && platform.isOwn(found.uid);
  });
}

function instanceOf(folder: string): string {
  return basename(folder).replace(/\+.*/, "");
}

/**
 * Returns whether the Neovim of a folder still runs. A process with the same id that started later is another process.
 */
async function isRunning(folder: string): Promise<boolean> {
  const [, pid, seconds] = /^(\d+)-(\d+)$/.exec(instanceOf(folder)) ?? [];
  if (!isAlive(Number(pid ?? 0))) return false;
  const start = await platform.startOf(Number(pid));
  return start === undefined || start <= Number(seconds) * 1_000 + CLOCK_TOLERANCE_MS;
}
