/** Drafts of files: they lie beside a file until they take its place, and a later host removes those of a crash. */
import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { lstat, readdir, readFile, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { here } from "./here.ts";
import { isAlive } from "./processes.ts";

const NAME = /^\..*\.[0-9a-f]{12}\.gemini-bridge$/s;

/** So much of a file's name is in its draft's: a name has 255 bytes at most (UTF-16 units). */
const MAX_NAME = 50;

export interface Drafts {
  /** To be called before a draft is made. */
  begin(draft: string): void;
  /** The draft is not there any more. */
  end(draft: string): void;
  /** Removes the drafts of processes that are gone. */
  removeLeft(): Promise<void>;
}

/** A new name beside a file. */
export function draftOf(path: string): string {
  const name = basename(path).slice(0, MAX_NAME);
  return join(dirname(path), `.${name}.${randomBytes(6).toString("hex")}.gemini-bridge`);
}

/** @param directory where the drafts are noted: one that only the user may change */
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
