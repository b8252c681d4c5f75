/** Discovery files of editors that died without a chance to remove them. */
import { lstatSync, readdirSync, readFileSync, unlinkSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import * as z from "zod";
import { discoveryDirectory, draftName } from "./discovery.ts";
import { DISCOVERY_FILE, discoveryFileName, IDE_INFO } from "./wire.ts";

/** More than any file of ours holds (bytes). */
const MAX_SIZE = 1_000_000;

/** A port of this machine answers or refuses at once; one that does neither counts as alive (milliseconds). */
const PATIENCE = 500;

const OfNeovim = z.object({ ideInfo: z.object({ name: z.literal(IDE_INFO.name) }) });

/**
 * Removes the files that name Neovim, belong to this user, and whose process and port are both dead.
 * Whatever else is in that directory stays as it is, and no file that cannot be read or removed is an error.
 */
export async function removeLeftovers(directory = discoveryDirectory()): Promise<void> {
  await Promise.all(list(directory).map((name) => removeIfDead(directory, name).catch(() => {})));
}

function list(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return []; // no such directory, or one that is none of ours
  }
}

async function removeIfDead(directory: string, name: string): Promise<void> {
  const isDraft = name.startsWith(".");
  const [, pid, port] = DISCOVERY_FILE.exec(isDraft ? name.slice(1).replace(/\.tmp$/, "") : name) ?? [];
  if (pid === undefined || port === undefined) return;
  // A draft may be cut short, so that its name, which only this plugin uses, has to do.
  if (isDraft && name !== draftName(discoveryFileName(Number(pid), Number(port)))) return;
  const path = join(directory, name);
  const found = lstatSync(path);
  if (!found.isFile() || found.uid !== process.getuid?.() || found.size > MAX_SIZE) return;
  if (!isDraft && !OfNeovim.safeParse(JSON.parse(readFileSync(path, "utf8"))).success) return;
  if (isRunning(Number(pid)) || (await isListening(Number(port)))) return;
  unlinkSync(path);
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
