/**
 * Tracks the temporary files through which the plugin writes the user's files. For each temporary file, there is a note
 * in another directory. By these notes, a later host can remove the temporary files that a crash has left.
 */
import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { lstat, readdir, readFile, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { attempt } from "../base/attempt.ts";
import { platform } from "./platform.ts";
import { isAlive } from "./processes.ts";

const NAME = /^\..*\.[0-9a-f]{12}\.gemini-bridge$/s;

/**
 * Maximum number of UTF-16 units that a temporary file's name takes from the name of the user's file. A file name can
 * have only 255 bytes.
 */
const MAX_NAME_LENGTH = 50;

export interface TemporaryFiles {
  /**
   * Runs `act` with a new path for a temporary file. Afterwards, removes the temporary file if it still exists.
   * @param path path of the user's file. The temporary file is in the same folder
   */
  use<T>(path: string, act: (temporary: string) => Promise<T>): Promise<T>;
  /** Removes the temporary files of processes that have ended. */
  removeLeftovers(): Promise<void>;
}

/**
 * Creates the tracker.
 * @param directory directory for the notes. Only the user may write to it
 */
export function createTemporaryFiles(directory: string): TemporaryFiles {
  async function removeNoted(note: string): Promise<void> {
    if (isAlive(Number.parseInt(note, 10))) return;
    const temporary = await readFile(join(directory, note), "utf8");
    const found = await lstat(temporary).catch(() => undefined);
    if (found?.isFile() && platform.isOwn(found.uid) && NAME.test(basename(temporary))) await rm(temporary);
    await rm(join(directory, note));
  }

  return {
    async use(path, act) {
      const id = randomBytes(6).toString("hex");
      const name = basename(path).slice(0, MAX_NAME_LENGTH);
      const temporary = join(dirname(path), `.${name}.${id}.gemini-bridge`);
      const note = join(directory, `${process.pid}.${id}`);
      // If the state directory cannot be written, only a crash would leave the temporary file.
      attempt(() => {
        mkdirSync(directory, { recursive: true, mode: 0o700 });
        writeFileSync(note, temporary, { mode: 0o600 });
      });
      try {
        return await act(temporary);
      } finally {
        await rm(temporary, { force: true }).catch(() => {});
        void rm(note, { force: true }).catch(() => {});
      }
    },
    async removeLeftovers() {
      const notes = await readdir(directory).catch((): string[] => []);
      await Promise.allSettled(notes.map(removeNoted));
    },
  };
}
