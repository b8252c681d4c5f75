/** Reads and writes the file with all lists of a Neovim. */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { attempt } from "../base/attempt.ts";
import { replaceFile } from "./text-files.ts";

/** Version of the format. Files with another version are not read. */
const VERSION = 1;

const Entry = z.object({
  key: z.string(),
  /** Time at which the value was set (Unix milliseconds). */
  at: z.number(),
  value: z.unknown(),
  /** The texts of the entry, by name: SHA-256 hash, which is the name of the file, and number of bytes. */
  texts: z.record(z.string(), z.object({ hash: z.string().regex(/^[0-9a-f]{64}$/), size: z.number() })),
});
export type WrittenEntry = z.infer<typeof Entry>;

const Content = z.object({
  version: z.literal(VERSION),
  /** Directories that were open in the Neovim. */
  directories: z.array(z.string()),
  lists: z.record(z.string(), z.array(Entry)),
});
export type Lists = Omit<z.infer<typeof Content>, "version">;

/** Reads the lists from the folder of a Neovim. @returns undefined if there are none, or if they are damaged */
export function readLists(folder: string): Lists | undefined {
  return attempt(() => Content.parse(JSON.parse(readFileSync(fileIn(folder), "utf8"))));
}

/**
 * Replaces the lists. Yields after each entry, so that the caller can pause. The entries must not change meanwhile.
 * @throws the errors of node:fs
 */
export function* writeLists(folder: string, { directories, lists }: Lists): Generator<void, void> {
  const written: string[] = [];
  for (const [name, entries] of Object.entries(lists)) {
    const texts: string[] = [];
    for (const entry of entries) {
      texts.push(JSON.stringify(entry));
      yield;
    }
    written.push(`${JSON.stringify(name)}:[${texts.join()}]`);
  }
  const head = `{"version":${VERSION},"directories":${JSON.stringify(directories)}`;
  replaceFile(fileIn(folder), `${head},"lists":{${written.join()}}}`);
}

/** Returns the time of the last write to the folder of a Neovim (Unix milliseconds); 0 if there is no folder. */
export function lastWrite(folder: string): number {
  const found = [fileIn(folder), folder].map((path) => statSync(path, { throwIfNoEntry: false }));
  return found.find((one) => one !== undefined)?.mtimeMs ?? 0;
}

/** Returns the total size of the texts of an entry (bytes). */
export function sizeOf({ texts }: Pick<WrittenEntry, "texts">): number {
  return Object.values(texts).reduce((sum, { size }) => sum + size, 0);
}

function fileIn(folder: string): string {
  return join(folder, "lists.json");
}
