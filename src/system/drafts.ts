/**
 * Tracks drafts: files with new content, beside the file that they will replace. A note of each draft lets a later host
 * remove the drafts that a crash has left.
 */
import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { lstat, readdir, readFile, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { here } from "./here.ts";
import { isAlive } from "./processes.ts";

const NAME = /^\..*\.[0-9a-f]{12}\.gemini-bridge$/s;

/** Maximum length of the file's name in the draft's name, which may have 255 bytes (UTF-16 units). */
const MAX_NAME = 50;

export interface Drafts {
  /** Must be called before the draft is created. */
  begin(draft: string): void;
  /** Must be called when the draft is gone. */
  end(draft: string): void;
  /** Removes the drafts of processes that have ended. */
  removeLeft(): Promise<void>;
}

/** Returns a new path for a draft of a file. */
export function draftOf(path: string): string {
  const name = basename(path).slice(0, MAX_NAME);
  return join(dirname(path), `.${name}.${randomBytes(6).toString("hex")}.gemini-bridge`);
}

/** @param directory for the notes; only the user may write to it */
export function createDrafts(directory: string): Drafts {
  const noteOf = (draft: string) =>
    join(directory, `${process.pid}${/\.[0-9a-f]{12}(?=\.gemini-bridge$)/.exec(draft)?.[0]}`);

  async function removeNoted(note: string): Promise<void> {
    if (isAlive(Number.parseInt(note, 10))) return;
    const draft = await readFile(join(directory, note), "utf8");
    const found = await lstat(draft).catch(() => undefined);
    if (found?.isFile() && here.isOwn(found.uid) && NAME.test(basename(draft))) await rm(draft);
    await rm(join(directory, note));
  }

  return {
    begin(draft) {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      writeFileSync(noteOf(draft), draft, { mode: 0o600 });
    },
    end: (draft) => void rm(noteOf(draft), { force: true }).catch(() => {}),
    async removeLeft() {
      const notes = await readdir(directory).catch((): string[] => []);
      await Promise.allSettled(notes.map(removeNoted));
    },
  };
}
