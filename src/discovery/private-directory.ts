/**
 * Prepares the directory of the discovery files, and checks that other users cannot read or replace a token in this
 * directory.
 */
import { chmodSync, lstatSync, mkdirSync, realpathSync, type Stats, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, isAbsolute, join, relative, sep } from "node:path";
import { Refusal } from "../base/refusal.ts";
import { directoryOf } from "../profiles/discovery-paths.ts";
import type { Profile } from "../profiles/profiles.ts";
import { codeOf } from "../system/error-code.ts";
import { platform } from "../system/platform.ts";

/**
 * The directory of a discovery file is not safe for a token, or not writable. The message tells the user what to do.
 */
export class DiscoveryError extends Refusal {
  override readonly name = "DiscoveryError";
}

const GROUP_MAY_WRITE = 0o020;
const OTHERS_MAY_WRITE = 0o002;
/**
 * Sticky bit in the mode of a directory: only the owner of a file and the owner of the directory may rename or remove
 * the file.
 */
const STICKY = 0o1000;

/**
 * Creates the private directory of a CLI's discovery files. Refuses a directory that others can change.
 * @throws {DiscoveryError}
 */
export function prepareDirectory(profile: Profile): void {
  const wanted = directoryOf(profile);
  const isTemporary = profile.directory.startsWith("{tmp}");
  if (!isTemporary && !isAbsolute(wanted)) {
    const [, variable = "it"] = /^\$\{(\w+):-/.exec(profile.directory) ?? [];
    throw new DiscoveryError(
      `the directory for discovery files is a relative path (${wanted}); set ${variable} to an absolute path`,
    );
  }
  let directory = isTemporary ? tmpdir() : ownDirectory(dirname(wanted));
  const names = isTemporary ? relative(directory, wanted).split(sep) : [basename(wanted)];
  const advice = isTemporary ? "set TMPDIR to a directory of your own" : "make yourself its owner (chown)";
  const alternative = isTemporary ? `, or ${advice}` : "";
  checkParent(directory, !isTemporary, { advice, alternative });
  for (const name of names) {
    directory = join(directory, name);
    try {
      mkdirSync(directory, { mode: 0o700 });
    } catch (error) {
      if (codeOf(error) !== "EEXIST") {
        const remedy = isTemporary
          ? "set TMPDIR to a directory that you can write to"
          : "check the permissions of the folder that contains it";
        throw new DiscoveryError(`cannot create ${directory} (${codeOf(error)}); ${remedy}`, {
          cause: error,
        });
      }
    }
    const found = lstatSync(directory); // does not follow a link that another user may have made
    if (found.isSymbolicLink())
      throw new DiscoveryError(`${directory} is a symbolic link; remove it${alternative}`);
    if (!found.isDirectory())
      throw new DiscoveryError(`${directory} is not a directory; remove it${alternative}`);
    if (!platform.isOwn(found.uid)) throw belongsToAnother(directory, advice);
    if ((found.mode & (GROUP_MAY_WRITE | OTHERS_MAY_WRITE)) !== 0) chmodSync(directory, 0o700);
  }
}

/**
 * Creates a CLI's directory in the user's home if it is missing. Follows symbolic links: links in the home directory
 * are safe, because only the user can create them.
 * @throws {DiscoveryError}
 */
function ownDirectory(path: string): string {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return realpathSync(path);
  } catch (error) {
    const reason = codeOf(error);
    if (["EEXIST", "ENOENT", "ENOTDIR"].includes(reason))
      throw new DiscoveryError(`${path} is neither a directory nor a link to one; remove it`, {
        cause: error,
      });
    throw new DiscoveryError(
      `cannot create ${path} (${reason}); check the permissions of the folder that contains it`,
      { cause: error },
    );
  }
}

/**
 * Refuses a parent directory in which another user could replace the directory of the discovery files.
 * @param isOwn whether the directory is in the user's home. If so, the user's private group may have write permission.
 * Its id is that of the user
 */
function checkParent(
  directory: string,
  isOwn: boolean,
  { advice, alternative }: { advice: string; alternative: string },
): void {
  if (!isAbsolute(directory)) throw new DiscoveryError(`TMPDIR is ${directory}; it must be an absolute path`);
  const found = statSync(directory, { throwIfNoEntry: false });
  if (!found?.isDirectory())
    throw new DiscoveryError(`the temporary directory ${directory} does not exist; create it, or set TMPDIR`);
  if ((found.mode & STICKY) === 0) {
    if ((found.mode & OTHERS_MAY_WRITE) !== 0)
      throw new DiscoveryError(
        `anyone may rename files in ${directory}; set its sticky bit (chmod +t)${alternative}`,
      );
    if ((found.mode & GROUP_MAY_WRITE) !== 0 && !(isOwn && platform.isOwn(found.gid)))
      throw new DiscoveryError(
        `the group of ${directory} may rename files there; remove that permission (chmod g-w)${alternative}`,
      );
  }
  if (!platform.isOwn(found.uid) && found.uid !== 0 && !mayBeRoots(found))
    throw belongsToAnother(directory, advice);
}

/**
 * Whether the directory is sticky and may belong to the machine's root user. In a rootless container, the machine's
 * root is one of the unknown users, and all unknown users appear as the overflow user.
 */
function mayBeRoots({ uid, mode }: Stats): boolean {
  return (mode & STICKY) !== 0 && platform.isUnknownUser(uid);
}

function belongsToAnother(directory: string, advice: string): DiscoveryError {
  return new DiscoveryError(`${directory} belongs to another user; ${advice}`);
}
