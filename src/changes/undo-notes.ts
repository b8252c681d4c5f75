/** Collects notes about changes that the user has undone. An agent gets these notes with its next prompt. */
import { relative } from "node:path";
import type { Agent } from "../contract/hooks.ts";
import type { Hunk } from "./difference/edits-to-hunks.ts";
import { type FileChange, newestAuthor } from "./file-change.ts";

/**
 * Limits: number of agents (the oldest are dropped), and number of files for each agent (further files are ignored).
 */
const MAX_AGENTS = 16;
const MAX_FILES = 1_000;

/** Limits for a note: number of file names, and length of each name (UTF-16 units). */
const MAX_NAMES = 10;
const MAX_NAME_LENGTH = 200;

export interface UndoNotes {
  /** Records that the user has undone these hunks. An empty list stands for the whole file. */
  undid(change: FileChange, hunks: readonly Hunk[]): void;
  /** Removes the notes about a file after the user has reverted a decision on the file. */
  reverted(path: string): void;
  /** Returns the notes for an agent's next prompt, and removes them. Undefined if there are none. */
  take(agent: Agent): string | undefined;
}

/** @param isShared returns whether agents may know the name of a file */
export function createUndoNotes(isShared: (path: string) => boolean): UndoNotes {
  /** Number of undone hunks, by agent and path. */
  const notes = new Map<string, Map<string, number>>();

  function add(key: string, path: string, hunks: number): void {
    const files = notes.get(key) ?? new Map<string, number>();
    if (files.size < MAX_FILES) files.set(path, (files.get(path) ?? 0) + hunks);
    notes.delete(key);
    notes.set(key, files);
    const [oldest] = notes.keys();
    if (oldest !== undefined && notes.size > MAX_AGENTS) notes.delete(oldest);
  }

  return {
    undid(change, hunks) {
      const newest = newestAuthor(change);
      const turns = hunks.length > 0 ? hunks.map(({ turn }) => turn) : [newest.turn];
      for (const turn of new Set(turns)) {
        const { cli, session } = [...change.earlier, change].find((author) => author.turn === turn) ?? newest;
        // Without a session, the next agent of the same CLI gets the note.
        const key = session === undefined ? keyOfCli(cli) : keyOfSession(session);
        add(key, change.path, hunks.filter((hunk) => hunk.turn === turn).length);
      }
    },
    reverted(path) {
      for (const files of notes.values()) files.delete(path);
    },
    take({ session, cli, cwd }) {
      const files = new Map<string, number>();
      for (const key of [keyOfSession(session), keyOfCli(cli)]) {
        for (const [path, hunks] of notes.get(key) ?? []) files.set(path, (files.get(path) ?? 0) + hunks);
        notes.delete(key);
      }
      const names = [...files]
        .filter(([path]) => isShared(path))
        .map(
          ([path, hunks]) =>
            `${nameOf(path, cwd)}${hunks > 0 ? ` (${hunks === 1 ? "1 hunk" : `${hunks} hunks`})` : ""}`,
        );
      if (names.length === 0) return undefined;
      const rest = names.length - MAX_NAMES;
      const more = rest > 0 ? ` and ${rest} more ${rest === 1 ? "file" : "files"}` : "";
      const paths = `${names.slice(0, MAX_NAMES).join(", ")}${more}`;
      return `The user undid your changes in ${paths}; do not redo them unless asked.`;
    },
  };
}

const keyOfSession = (session: string) => `session ${session}`;
const keyOfCli = (cli: string) => `cli ${cli}`;

/**
 * Quotes the name of a file. An agent may have chosen the name, so characters that could end the quotation or start a
 * new line are replaced.
 */
function nameOf(path: string, cwd: string): string {
  const below = relative(cwd, path);
  const name = below.startsWith("..") ? path : below;
  const plain = name.replace(/[\p{C}\p{Zl}\p{Zp}"\\`]/gu, "?");
  return `"${plain.length > MAX_NAME_LENGTH ? `${plain.slice(0, MAX_NAME_LENGTH - 1)}…` : plain}"`;
}
