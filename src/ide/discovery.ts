/** The discovery file: how a CLI finds this bridge. */
import { randomBytes } from "node:crypto";
import { chmodSync, lstatSync, mkdirSync, renameSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { DISCOVERY_DIRECTORY, type Discovery, discoveryFileName, IDE_INFO } from "./wire.ts";

export interface DiscoveryFile {
  readonly path: string;
  /** Replaces the file with one that lists these roots, atomically. */
  write(workspace: readonly string[]): void;
  /** Deletes the file, synchronously, so that it also works in a signal handler. May run twice. */
  remove(): void;
}

/** A directory that cannot be trusted with a token; the message tells the user what to do. */
export class DiscoveryError extends Error {
  override readonly name = "DiscoveryError";
}

/** @param pid the editor's process as the CLI finds it. */
export function createDiscoveryFile(pid: number, port: number, authToken: string): DiscoveryFile {
  const directory = join(tmpdir(), ...DISCOVERY_DIRECTORY);
  const path = join(directory, discoveryFileName(pid, port));
  return {
    path,
    write(workspace) {
      prepareDirectory();
      const content: Discovery = {
        port,
        workspacePath: workspace.join(delimiter),
        authToken,
        ideInfo: IDE_INFO,
      };
      // Written beside and renamed: a CLI that reads at any moment sees the old file or the new
      // one, and nobody else can read either. The flag refuses whatever was planted at that name.
      const draft = join(directory, `.${randomBytes(8).toString("hex")}.tmp`);
      try {
        writeFileSync(draft, JSON.stringify(content), { mode: 0o600, flag: "wx" });
        renameSync(draft, path);
      } catch (error) {
        rmSync(draft, { force: true });
        throw new DiscoveryError(`cannot write the discovery file ${path} (${reason(error)})`, {
          cause: error,
        });
      }
    },
    remove() {
      try {
        unlinkSync(path);
      } catch {
        // Gone already.
      }
    },
  };
}

/** Makes `<tmpdir>/gemini/ide`, private to the user, and refuses one in which others could act. */
function prepareDirectory(): void {
  let directory = tmpdir();
  for (const name of DISCOVERY_DIRECTORY) {
    directory = join(directory, name);
    try {
      mkdirSync(directory, { mode: 0o700 });
    } catch (error) {
      if (reason(error) !== "EEXIST") {
        throw new DiscoveryError(`cannot make ${directory} (${reason(error)}); check TMPDIR`, {
          cause: error,
        });
      }
    }
    const stat = lstatSync(directory);
    if (!stat.isDirectory())
      throw new DiscoveryError(`${directory} is no directory; remove it or change TMPDIR`);
    const uid = process.getuid?.();
    if (uid !== undefined && stat.uid !== uid) {
      throw new DiscoveryError(`${directory} belongs to another user; set TMPDIR to a directory of your own`);
    }
    if (process.platform !== "win32" && (stat.mode & 0o022) !== 0) chmodSync(directory, 0o700);
  }
}

function reason(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}
