/**
 * Stores the history of changes by agents, both reviewed and unreviewed. Entries are kept for a day, even if Neovim
 * restarts. Texts of files that are not shared with agents are not stored.
 */
import { randomUUID } from "node:crypto";
import * as z from "zod";
import type { Original, ReviewHistory } from "../base/reviews.ts";
import type { Author, Turn } from "../contract/turns.ts";
import type { Store } from "../store/store.ts";
import { isAbsent, MAX_FILE_BYTES, realPath } from "../system/file-state.ts";
import type { FileChange } from "./file-change.ts";
import { StoredMetadata } from "./stored-changes.ts";

const MAX_AGE_MS = 24 * 60 * 60 * 1_000;
const MAX_SIZE_BYTES = 32 * 1024 * 1024;

/**
 * Maximum total length of all open entries (characters). An entry is open if later edits of the same turn can extend
 * the entry. Beyond this limit, the oldest entries become final.
 */
const MAX_OPEN_LENGTH = 16 * 1024 * 1024;

/** Delay before the text of a review is stored, so that the CLI gets its answer first. */
const SAVE_DELAY_MS = 250;

const Outline = z.object({
  id: z.string(),
  /** Time of the entry (Unix milliseconds). */
  at: z.number(),
  /** Name of the CLI's profile. */
  cli: z.string(),
  /** Start of the agent's turn (Unix milliseconds); 0 if no hook reported the turn. */
  turn: z.number(),
  prompt: z.string(),
  /** Absolute path with all symbolic links resolved. */
  path: z.string(),
  /**
   * `edited`: the user has edited the proposed text before accepting it. `written`: an agent has written the file
   * without a review.
   */
  kind: z.enum(["proposed", "accepted", "edited", "rejected", "written"]),
  /** Mode and owner of the file before the change, if it existed. */
  metadata: StoredMetadata.optional(),
  /**
   * Whether the file existed before and after the change. Absent if the texts are unknown, or if the file is not shared
   * with agents.
   */
  exists: z.object({ before: z.boolean(), after: z.boolean() }).optional(),
});
type Outline = z.infer<typeof Outline>;

/** Texts of a file, with one character for each byte (latin1); null for a missing file. */
interface Texts {
  readonly before: string | null;
  readonly after: string | null;
}

/** An entry. `texts`: texts before and after the change. Absent if unknown, or if the file is not shared with agents. */
export type Entry = Omit<Outline, "exists"> & { readonly texts?: Texts | undefined };
export type KnownEntry = Entry & { readonly texts: Texts };

/** A text that an agent proposes in a review. After an acceptance, `content` includes the user's edits. */
interface Proposal {
  readonly entry: Entry;
  readonly content: string;
  readonly original: Original;
}

export interface History extends ReviewHistory {
  /** Records that an agent has written a file without a review. All edits of a file in one turn form one entry. */
  wrote(turn: Turn, before: Pick<FileChange, "path" | "lastMetadata">, texts: Texts): void;
  turnEnded(turn: Turn): void;
  /** Records that the user has kept the changes of a file. Later changes of the file start a new entry. */
  kept(path: string): void;
  /**
   * Records that a CLI has written the text that the user last accepted for this file.
   * @param texts texts before and after the write; undefined if one of these is unknown
   */
  agreed(path: string, texts: Texts | undefined): void;
  /** Returns all entries without their texts, newest first. */
  list(): Entry[];
  /** Returns entries by id. Leaves out missing entries, and entries without texts. */
  read(ids: readonly string[]): Map<string, KnownEntry>;
  /** Gives all entries to the store, which writes them. Idempotent. */
  storeNow(): void;
}

interface HistoryOptions {
  store: Store;
  /** Returns whether the text of a file may be stored. */
  mayStore: (path: string) => boolean;
  /** Returns the current turn of a CLI. */
  authorOf: (cli: string) => Author;
}

export function createHistory({ store, mayStore, authorOf }: HistoryOptions): History {
  const list = store.list({ name: "history", schema: Outline, maxAge: MAX_AGE_MS, maxSize: MAX_SIZE_BYTES });
  /**
   * Open entries, oldest first: later edits of the same turn can extend them. The key contains the session and the
   * path.
   */
  const ofTurns = new Map<string, Entry>();
  /** Total length of the texts of all open entries (characters). */
  let openLength = 0;
  const ofReviews = new Map<number, Proposal>();
  /** Entry of each file's last review, by path. Leaves out the texts, because they may be long. */
  const lastReview = new Map<string, Entry>();
  /** Entries that are not stored yet, by id. */
  const unsaved = new Map<string, { keep: () => void; timer: NodeJS.Timeout }>();

  function save(entry: Entry): Entry {
    const { texts, ...rest } = entry;
    clearTimeout(unsaved.get(entry.id)?.timer);
    unsaved.delete(entry.id);
    if (!texts || !mayStore(entry.path)) list.set(entry.id, rest);
    else {
      const { before, after } = texts;
      const exists = { before: before !== null, after: after !== null };
      list.set(entry.id, { ...rest, exists }, { before: before ?? "", after: after ?? "" });
    }
    return entry;
  }

  function release(key: string): void {
    const entry = ofTurns.get(key);
    if (!entry) return;
    openLength -= lengthOf(entry);
    ofTurns.delete(key);
  }

  /** Lets later edits of the same turn extend an entry. */
  function allowExtension(key: string, entry: Entry): void {
    release(key);
    ofTurns.set(key, entry);
    openLength += lengthOf(entry);
    for (const oldest of ofTurns.keys()) {
      if (openLength <= MAX_OPEN_LENGTH) break;
      release(oldest);
    }
  }

  function keepLater(proposal: Proposal): void {
    const { entry } = proposal;
    const keep = () => void save({ ...entry, texts: textsOf(proposal) });
    clearTimeout(unsaved.get(entry.id)?.timer);
    unsaved.set(entry.id, { keep, timer: setTimeout(keep, SAVE_DELAY_MS).unref() });
    lastReview.set(entry.path, entry);
  }

  function begin(kind: Entry["kind"], { cli, turn, prompt }: Author, path: string): Entry {
    return { id: randomUUID(), at: Date.now(), cli, turn, prompt, path, kind };
  }

  function keepAll(): void {
    for (const { keep } of unsaved.values()) keep();
  }

  return {
    wrote(turn, { path, lastMetadata: metadata }, texts) {
      const key = `${turn.session} ${path}`;
      const entry = ofTurns.get(key);
      const goesOn = entry?.texts && entry.texts.after === texts.before;
      const next = goesOn
        ? { ...entry, at: Date.now(), texts: { before: entry.texts?.before ?? null, after: texts.after } }
        : { ...begin("written", turn, path), metadata, texts };
      allowExtension(key, save(next));
    },
    turnEnded({ session }) {
      for (const key of ofTurns.keys()) if (key.startsWith(`${session} `)) release(key);
    },
    kept(path) {
      for (const key of ofTurns.keys()) if (key.endsWith(` ${path}`)) release(key);
    },
    async proposed(review, cli, filePath, newContent, original) {
      const [path, found] = await Promise.all([realPath(filePath), original]);
      const entry = begin("proposed", authorOf(cli), path);
      const proposal = { entry, content: newContent, original: found };
      ofReviews.set(review, proposal);
      keepLater(proposal);
    },
    decided(review, content) {
      const proposal = ofReviews.get(review);
      ofReviews.delete(review);
      if (!proposal) return;
      const after = content ?? proposal.content;
      const kind = content === undefined ? "rejected" : after === proposal.content ? "accepted" : "edited";
      keepLater({ ...proposal, entry: { ...proposal.entry, kind }, content: after });
    },
    closed(review) {
      ofReviews.delete(review);
    },
    agreed(path, texts) {
      const entry = lastReview.get(path);
      lastReview.delete(path);
      // The entry may still say "proposed", because the user can also accept a proposal in the CLI's terminal.
      if (entry) save({ ...entry, kind: entry.kind === "edited" ? "edited" : "accepted", texts });
    },
    list() {
      keepAll();
      const entries = list.entries().map(({ value: { exists: _, ...entry } }) => entry);
      return entries.sort((a, b) => b.at - a.at);
    },
    read(ids) {
      keepAll();
      const wanted = new Set(ids);
      const known = new Map<string, KnownEntry>();
      for (const { key, value } of list.entries()) {
        const { exists, ...entry } = value;
        const texts = wanted.has(key) && exists ? list.texts(key) : undefined;
        if (!texts) continue;
        const textOf = (name: "before" | "after") => (exists?.[name] ? (texts[name] ?? null) : null);
        known.set(key, { ...entry, texts: { before: textOf("before"), after: textOf("after") } });
      }
      return known;
    },
    storeNow: keepAll,
  };
}

/**
 * Returns the texts before and after a proposed change.
 * @returns undefined if the earlier text is unknown. If the earlier text were null instead, undo would delete the file
 */
function textsOf({ original: { bytes, version }, content }: Proposal): Texts | undefined {
  if (bytes ? bytes.length > MAX_FILE_BYTES : !isAbsent(version)) return undefined;
  const before = bytes ? bytes.toString("latin1") : null;
  return { before, after: asOnDisk(content, before) };
}

/**
 * Returns the bytes that a CLI writes for a text. The CLI keeps the byte order mark and the line endings of the file.
 */
function asOnDisk(content: string, before: string | null): string {
  const text = Buffer.from(content).toString("latin1");
  const mark = Buffer.from("\uFEFF").toString("latin1");
  const marked = before?.startsWith(mark) && !text.startsWith(mark) ? mark + text : text;
  return before?.includes("\r\n") && !marked.includes("\r\n") ? marked.replaceAll("\n", "\r\n") : marked;
}

function lengthOf({ texts }: Entry): number {
  return (texts?.before?.length ?? 0) + (texts?.after?.length ?? 0);
}
