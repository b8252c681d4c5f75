/**
 * Tracks the temporary files through which the plugin writes the user's files. For each temporary file, there is a note
 * in another directory. By these notes, a later host can remove the temporary files that a crash has left.
 */
import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { lstat, readdir, readFile, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { platform } from "./platform.ts";
import { isAlive } from "./processes.ts";

const NAME = /^\..*\.[0-9a-f]{12}\.gemini-bridge$/s;

/**
 * Maximum number of UTF-16 units that a temporary file's name takes from the name of the user's file. A file name can
 * have only 255 bytes.
 */
const MAX_NAME_LENGTH = 50;

export interface TemporaryFiles {
  /** Writes the note on a temporary file. Must be called before the file is created. */
  begin(temporary: string): void;
  /** Removes the note on a temporary file. Must be called when the file is gone. */
  end(temporary: string): void;
  /** Removes the temporary files of processes that have ended. */
  removeLeftovers(): Promise<void>;
}

/** Returns a new path for a temporary file in the folder of a user's file. */
export function temporaryPathFor(path: string): string {
  const name = basename(path).slice(0, MAX_NAME_LENGTH);
  return join(dirname(path), `.${name}.${randomBytes(6).toString("hex")}.gemini-bridge`);
}

/**
 * Creates the tracker.
 * @param directory directory for the notes. Only the user may write to it
 */
export function createTemporaryFiles(directory: string): TemporaryFiles {
  const noteOf = (temporary: string) =>
    join(directory, `${process.pid}${/\.[0-9a-f]{12}(?=\.gemini-bridge$)/.exec(temporary)?.[0]}`);

  async function removeNoted(note: string): Promise<void> {
    if (isAlive(Number.parseInt(note, 10))) return;
    const temporary = await readFile(join(directory, note), "utf8");
    const found = await lstat(temporary).catch(() => undefined);
    if (found?.isFile() && platform.isOwn(found.uid) && NAME.test(basename(temporary))) await rm(temporary);
    await rm(join(directory, note));
  }

  return {
    begin(temporary) {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      writeFileSync(noteOf(temporary), temporary, { mode: 0o600 });
    },
    end: (temporary) => void rm(noteOf(temporary), { force: true }).catch(() => {}),
    async removeLeftovers() {
      const notes = await readdir(directory).catch((): string[] => []);
      await Promise.allSettled(notes.map(removeNoted));
    },
  };
}
