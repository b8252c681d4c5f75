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
   * Open entries: later edits of the same turn can extend them. The key contains the session and the path. Leaves out
   * the texts, because they may be long.
   */
  const ofTurns = new Map<string, Outline>();
  const ofReviews = new Map<number, Proposal>();
  /** Entry of each file's last review, by path. Leaves out the texts, because they may be long. */
  const lastReview = new Map<string, Entry>();

  function save({ texts, ...rest }: Entry): Outline {
    if (!texts || !mayStore(rest.path)) {
      list.set(rest.id, rest);
      return rest;
    }
    const { before, after } = texts;
    const outline = { ...rest, exists: { before: before !== null, after: after !== null } };
    list.set(rest.id, outline, { before: before ?? "", after: after ?? "" });
    return outline;
  }

  function saveProposal(proposal: Proposal): void {
    save({ ...proposal.entry, texts: proposedTexts(proposal) });
    lastReview.set(proposal.entry.path, proposal.entry);
  }

  function begin(kind: Entry["kind"], { cli, turn, prompt }: Author, path: string): Entry {
    return { id: randomUUID(), at: Date.now(), cli, turn, prompt, path, kind };
  }

  /** Returns the stored texts of an entry; undefined if they are unknown, or if the file is not shared. */
  function textsOf({ id, exists }: Outline): Texts | undefined {
    const texts = exists && list.texts(id);
    if (!texts) return undefined;
    const textOf = (name: "before" | "after") => (exists[name] ? (texts[name] ?? null) : null);
    return { before: textOf("before"), after: textOf("after") };
  }

  return {
    wrote(turn, { path, lastMetadata: metadata }, texts) {
      const key = `${turn.session} ${path}`;
      const open = ofTurns.get(key);
      const known = open && textsOf(open);
      const goesOn = open && (known ? known.after === texts.before : !mayStore(path));
      const entry = goesOn ? { ...open, at: Date.now() } : { ...begin("written", turn, path), metadata };
      const before = goesOn && known ? known.before : texts.before;
      ofTurns.set(key, save({ ...entry, texts: { before, after: texts.after } }));
    },
    turnEnded({ session }) {
      for (const key of ofTurns.keys()) if (key.startsWith(`${session} `)) ofTurns.delete(key);
    },
    kept(path) {
      for (const key of ofTurns.keys()) if (key.endsWith(` ${path}`)) ofTurns.delete(key);
    },
    async proposed(review, cli, filePath, newContent, original) {
      const [path, found] = await Promise.all([realPath(filePath), original]);
      const entry = begin("proposed", authorOf(cli), path);
      const proposal = { entry, content: newContent, original: found };
      ofReviews.set(review, proposal);
      saveProposal(proposal);
    },
    decided(review, content) {
      const proposal = ofReviews.get(review);
      ofReviews.delete(review);
      if (!proposal) return;
      const after = content ?? proposal.content;
      const kind = content === undefined ? "rejected" : after === proposal.content ? "accepted" : "edited";
      saveProposal({ ...proposal, entry: { ...proposal.entry, kind }, content: after });
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
      const entries = list.entries().map(({ value: { exists: _, ...entry } }) => entry);
      return entries.sort((a, b) => b.at - a.at);
    },
    read(ids) {
      const known = new Map<string, KnownEntry>();
      const wanted = new Set(ids);
      for (const { key, value } of list.entries()) {
        const texts = wanted.has(key) ? textsOf(value) : undefined;
        if (texts) known.set(key, { ...value, texts });
      }
      return known;
    },
  };
}

/**
 * Returns the texts before and after a proposed change.
 * @returns undefined if the earlier text is unknown. If the earlier text were null instead, undo would delete the file
 */
function proposedTexts({ original: { bytes, version }, content }: Proposal): Texts | undefined {
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
