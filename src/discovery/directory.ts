/** The directory of the discovery files, which a token may be put into. */
import { chmodSync, lstatSync, mkdirSync, realpathSync, type Stats, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, isAbsolute, join, relative, sep } from "node:path";
import { Refusal } from "../base/refusal.ts";
import { directoryOf } from "../profiles/paths.ts";
import type { Profile } from "../profiles/profiles.ts";
import { codeOf } from "../system/error-code.ts";
import { here } from "../system/here.ts";

/** A place that cannot be trusted with a token, or not be written; the message tells the user what to do. */
export class DiscoveryError extends Refusal {
  override readonly name = "DiscoveryError";
}

const GROUP_MAY_WRITE = 0o020;
const OTHERS_MAY_WRITE = 0o002;
/** In such a directory only their owner, and that of the directory, may rename or remove files. */
const STICKY = 0o1000;

/**
 * Makes the directory of a profile's discovery files, private to the user, and refuses one in which others could act.
 * @throws {DiscoveryError}
 */
export function prepareDirectory(profile: Profile): void {
  const wanted = directoryOf(profile);
  const isTemporary = profile.directory.startsWith("{tmp}");
  if (!isTemporary && !isAbsolute(wanted))
    throw new DiscoveryError(
      `it looks in ${wanted}, which is another place in each directory; make that path absolute`,
    );
  let directory = isTemporary ? tmpdir() : ownDirectory(dirname(wanted));
  const names = isTemporary ? relative(directory, wanted).split(sep) : [basename(wanted)];
  const uid = process.getuid?.();
  const elsewhere = isTemporary ? "set TMPDIR to a directory of your own" : "make it yours alone";
  checkParent(directory, uid, elsewhere, !isTemporary);
  for (const name of names) {
    directory = join(directory, name);
    try {
      mkdirSync(directory, { mode: 0o700 });
    } catch (error) {
      if (codeOf(error) !== "EEXIST") {
        const advice = isTemporary ? "set TMPDIR to a directory that you can write to" : elsewhere;
        throw new DiscoveryError(`cannot make ${directory} (${codeOf(error)}); ${advice}`, { cause: error });
      }
    }
    const found = lstatSync(directory); // of a symbolic link itself: where it leads is somebody else's choice
    if (found.isSymbolicLink())
      throw new DiscoveryError(`${directory} is a symbolic link; remove it, or ${elsewhere}`);
    if (!found.isDirectory())
      throw new DiscoveryError(`${directory} is no directory; remove it, or ${elsewhere}`);
    if (uid !== undefined && found.uid !== uid) throw belongsToAnother(directory, elsewhere);
    if (uid !== undefined && (found.mode & (GROUP_MAY_WRITE | OTHERS_MAY_WRITE)) !== 0)
      chmodSync(directory, 0o700);
  }
}

/**
 * A CLI's directory in the user's home, made where it is missing. It may be a link: who could lay it there is the user.
 * @throws {DiscoveryError}
 */
function ownDirectory(path: string): string {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return realpathSync(path);
  } catch (error) {
    const reason = codeOf(error);
    if (["EEXIST", "ENOENT", "ENOTDIR"].includes(reason))
      throw new DiscoveryError(`${path} is no directory, nor a link to one`, { cause: error });
    throw new DiscoveryError(`cannot make ${path} (${reason})`, { cause: error });
  }
}

/**
 * Refuses a directory in which another user could put a directory of theirs in the place of ours.
 * @param isOwn it is in the user's home, where the group that may write is often the user's own, of nobody else
 */
function checkParent(directory: string, uid: number | undefined, advice: string, isOwn: boolean): void {
  if (!isAbsolute(directory)) throw new DiscoveryError(`TMPDIR is ${directory}; it must be an absolute path`);
  const found = statSync(directory, { throwIfNoEntry: false });
  if (!found?.isDirectory())
    throw new DiscoveryError(`the temporary directory ${directory} does not exist; make it, or set TMPDIR`);
  if (uid === undefined) return;
  const elsewhere = `or ${advice}`;
  if ((found.mode & STICKY) === 0) {
    if ((found.mode & OTHERS_MAY_WRITE) !== 0)
      throw new DiscoveryError(
        `anyone may rename what is in ${directory}; set its sticky bit (chmod +t), ${elsewhere}`,
      );
    if ((found.mode & GROUP_MAY_WRITE) !== 0 && !(isOwn && found.gid === uid))
      throw new DiscoveryError(
        `its group may rename what is in ${directory}; keep it from that (chmod g-w), ${elsewhere}`,
      );
  }
  if (found.uid !== uid && found.uid !== 0 && !mayBeRoots(found)) throw belongsToAnother(directory, advice);
}

/**
 * In a rootless container all users that it does not know look like one, the overflow user. The machine's temporary
 * directory is root's, and so looks like that when root is not known.
 */
function mayBeRoots({ uid, mode }: Stats): boolean {
  return (mode & STICKY) !== 0 && here.isUnknownUser(uid);
}

function belongsToAnother(directory: string, advice: string): DiscoveryError {
  return new DiscoveryError(`${directory} belongs to another user; ${advice}`);
}
