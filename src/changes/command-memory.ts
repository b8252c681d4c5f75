/**
 * Stores the running shell commands of agents, and the snapshots taken before these commands. If the host process
 * restarts during a command, the files can still be compared at the end of the command.
 */
import * as z from "zod";
import { createYielder } from "../base/work-slices.ts";
import type { Agent } from "../contract/hooks.ts";
import { type FileState, unknown } from "../system/file-state.ts";
import type { Snapshot, StoredSnapshot } from "./command-snapshot.ts";
import type { Journal } from "./journal.ts";
import { storedTree } from "./tree-snapshot.ts";

/** Maximum total length of the texts that are stored for a command (characters). */
const MAX_TEXT_LENGTH = 4 * 1024 * 1024;
const NOT_STORED = "the bridge was restarted during the command, and the earlier bytes were not stored";

/** Limits for one part of a stored snapshot: length of the texts (characters), and number of files. */
const MAX_PART_LENGTH = 512 * 1024;
const MAX_PART_FILES = 2_000;

export const SavedAgent = z.object({
  cli: z.string(),
  session: z.string(),
  cwd: z.string(),
  pid: z.number().optional(),
});

export const SavedMetadata = z.object({ mode: z.number(), uid: z.number(), gid: z.number() });

const SavedFileState = z.object({
  path: z.string(),
  kind: z.enum(["absent", "known", "unknown"]),
  text: z.string().optional(),
  reason: z.string().optional(),
  metadata: SavedMetadata.optional(),
  version: z.string(),
  since: z.number().optional(),
});
type SavedFileState = z.infer<typeof SavedFileState>;

const SavedStart = z.object({
  agent: SavedAgent,
  command: z.string(),
  /** Directories that were open in Neovim when the command started. */
  directories: z.array(z.string()),
});

/** A snapshot without its files. The files are stored separately, in parts. */
const SavedSnapshot = z.object({
  since: z.number(),
  gaps: z.array(z.string()),
  outside: z.object({ directories: z.array(z.string()), except: z.array(z.string()) }),
  trees: z.array(
    z.object({
      top: z.string(),
      indexFile: z.string(),
      idLength: z.number(),
      indexVersion: z.string(),
      looked: z.number(),
      /** Permission bits of the files, as base64. */
      modes: z.string(),
      repositories: z.array(z.string()),
    }),
  ),
  parts: z.number(),
});

const SavedCommand = z.object({
  commandId: z.string(),
  start: SavedStart,
  snapshot: SavedSnapshot.optional(),
});
const SavedPart = z.object({
  commandId: z.string(),
  /**
   * Number of the part. Undefined if the value is not a part of the snapshot, but the state of one file that the user
   * or another agent has written during the command.
   */
  part: z.number().optional(),
  files: z.array(SavedFileState),
});

interface StartedCommand {
  readonly agent: Agent;
  readonly command: string;
  readonly directories: readonly string[];
}

export interface RestoredCommand extends StartedCommand {
  readonly id: string;
  /** Undefined if the host process ended before the whole snapshot was stored. */
  readonly snapshot?: StoredSnapshot | undefined;
  readonly files: Map<string, FileState>;
}

export interface CommandMemory {
  begin(id: string, start: StartedCommand): void;
  /** Stores the snapshot of a command in the background. Stops if `forget` is called for the command. */
  save(id: string, start: StartedCommand, snapshot: Snapshot): Promise<void>;
  /** Stores the state of a file that the user or another agent has written during the command. */
  settled(id: string, path: string, now: FileState): void;
  forget(id: string): void;
}

/** Creates the store of running commands. @param mayKeep returns whether the text of a file may be stored */
export function createCommandMemory(
  journal: Pick<Journal, "save" | "remove">,
  mayKeep: (path: string) => boolean,
): CommandMemory & { restore(values: readonly unknown[]): RestoredCommand[] } {
  /** For each command: keys of the stored values, and the number of characters of text that may still be stored. */
  const stored = new Map<string, { keys: Set<string>; room: number }>();

  function put(id: string, key: string, value: object): void {
    const command = stored.get(id);
    if (!command) return;
    command.keys.add(key);
    journal.save(key, { commandId: id, ...value });
  }

  function convert(id: string, path: string, seen: FileState): SavedFileState {
    const command = stored.get(id);
    if (seen.kind !== "known") return { path, ...seen };
    if (!command || seen.text.length > command.room || !mayKeep(path))
      return { path, ...seen, ...unknown(NOT_STORED, seen.version), text: undefined };
    command.room -= seen.text.length;
    return { path, ...seen };
  }

  return {
    begin(id, start) {
      stored.set(id, { keys: new Set(), room: MAX_TEXT_LENGTH });
      put(id, headKey(id), { start });
    },
    async save(id, start, { files, trees, ...rest }) {
      const yieldIfDue = createYielder();
      let parts = 0;
      let part: SavedFileState[] = [];
      let size = 0;
      const flush = () => {
        put(id, partKey(id, parts), { part: parts, files: part });
        parts += 1;
        [part, size] = [[], 0];
      };
      for (const [path, seen] of files) {
        await yieldIfDue();
        if (!stored.has(id)) return;
        const saved = convert(id, path, seen);
        part.push(saved);
        size += saved.text?.length ?? 0;
        if (size >= MAX_PART_LENGTH || part.length === MAX_PART_FILES) flush();
      }
      if (part.length > 0) flush();
      put(id, headKey(id), { start, snapshot: { ...rest, trees: trees.map(storedTree), parts } });
    },
    settled: (id, path, now) => put(id, `${headKey(id)} ${path}`, { files: [convert(id, path, now)] }),
    forget(id) {
      for (const key of stored.get(id)?.keys ?? []) journal.remove(key);
      stored.delete(id);
    },
    restore(values) {
      const saved = values.flatMap((value) => SavedPart.safeParse(value).data ?? []);
      return values
        .flatMap((value) => SavedCommand.safeParse(value).data ?? [])
        .map(({ commandId: id, start, snapshot }) => {
          const own = saved.filter(({ commandId }) => commandId === id);
          const parts = own.filter(({ part }) => part !== undefined);
          const settled = own.filter(({ part }) => part === undefined);
          const keys = [
            headKey(id),
            ...parts.map(({ part = 0 }) => partKey(id, part)),
            ...settled.flatMap(({ files }) => files.map(({ path }) => `${headKey(id)} ${path}`)),
          ];
          stored.set(id, { keys: new Set(keys), room: MAX_TEXT_LENGTH });
          const files = [...parts, ...settled].flatMap((part) => part.files);
          return {
            id,
            ...start,
            snapshot: snapshot?.parts === parts.length ? snapshot : undefined,
            files: new Map(files.map((file) => [file.path, fileStateOf(file)])),
          };
        });
    },
  };
}

const headKey = (id: string) => `command ${id}`;
const partKey = (id: string, part: number) => `${headKey(id)} ${part}`;

function fileStateOf({ path: _, kind, text, reason = NOT_STORED, ...facts }: SavedFileState): FileState {
  if (kind === "absent") return { kind, ...facts };
  return kind === "known" && text !== undefined
    ? { kind, text, ...facts }
    : { kind: "unknown", reason, ...facts };
}
