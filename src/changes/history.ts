/** What was proposed and written, by turn: for a day, also for the next Neovim, and without files that are not shared. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import * as z from "zod";
import type { Log } from "../base/log.ts";
import { Refusal } from "../base/refusal.ts";
import type { Agent } from "../contract/hooks.ts";
import type { DiskText } from "../system/disk-text.ts";
import { isAbsent, MAX_FILE, realPath } from "../system/sighting.ts";
import type { Author } from "./file-change.ts";
import { createKeptFiles, prune } from "./kept-files.ts";

const MAX_AGE = 24 * 60 * 60 * 1_000; // milliseconds
const MAX_SIZE = 32 * 1024 * 1024; // bytes

/** Characters of entries that may still grow; of more the oldest are as they are. */
const MAX_HELD = 16 * 1024 * 1024;

/** What is too much is removed so long after the last thing came (milliseconds): a turn may bring a lot. */
const PRUNE_AFTER = 5_000;

/** So long after it has come what a review shows is kept, and what became of it: a client waits for either (milliseconds). */
const KEEP_AFTER = 250;

/** A text has a character for each byte of the file (latin1); null is no file. */
const Text = z.string().nullable();

const Entry = z.object({
  id: z.string(),
  /** Unix milliseconds. */
  at: z.number(),
  /** A profile. */
  cli: z.string(),
  /** When its turn began (Unix milliseconds; 0 where no hook has told of it), and with which prompt. */
  turn: z.number(),
  prompt: z.string(),
  /** Absolute, without links. */
  path: z.string(),
  /** `edited`: accepted with edits of the user's. `written`: without a review. */
  kind: z.enum(["proposed", "accepted", "edited", "rejected", "written"]),
  /** Of a file that is shared. */
  texts: z.object({ before: Text, after: Text }).optional(),
});
export type Entry = z.infer<typeof Entry>;
type Texts = NonNullable<Entry["texts"]>;
type Outline = Omit<Entry, "texts">;

/** What was on disk when a review opened. */
type Original = Pick<DiskText, "bytes" | "version">;

/** What a review shows, or what the user has made of that. */
interface Proposal {
  readonly entry: Outline;
  readonly content: string;
  readonly original: Original;
}

export interface History {
  /** An agent has written a file without a review. What one turn makes of a file is one entry. */
  wrote(agent: Agent, author: Author, path: string, texts: Texts): void;
  turnEnded(agent: Agent): void;
  /** What has been written to the file until now is the user's: what comes is another entry. */
  kept(path: string): void;
  /** A review of this number shows a proposal. @param original what was on disk then */
  proposed(
    review: number,
    cli: string,
    filePath: string,
    newContent: string,
    original: Promise<Original>,
  ): Promise<void>;
  /** The user has decided. @param content nothing for a rejection */
  decided(review: number, content: string | undefined): void;
  /** The review has ended without a decision. */
  closed(review: number): void;
  /** What the user agreed to last for this file is on disk now. @param texts as far as both are known */
  agreed(path: string, texts: Texts | undefined): void;
  /** The newest first. */
  list(): Promise<Entry[]>;
  /** @throws {Refusal} when it is not there any more, or has no texts */
  read(id: string): Promise<Entry & { texts: Texts }>;
}

export interface HistoryOptions {
  /** A directory for files that only the user may change. */
  directory: string;
  mayKeep: (path: string) => boolean;
  /** What a CLI works on. */
  authorOf: (cli: string) => Author;
  log: Log;
}

export function createHistory({ directory, mayKeep, authorOf, log }: HistoryOptions): History {
  const all = join(directory, "history");
  const kept = createKeptFiles(all, log);
  /** The entries that may still grow: by session and path, the oldest first. */
  const ofTurns = new Map<string, Entry>();
  const ofReviews = new Map<number, Proposal>();
  /** Without its texts, which may be long: the file's are known when they are wanted. */
  const lastReview = new Map<string, Outline>();
  /** What is still to be kept, by id. */
  const unkept = new Map<string, { keep: () => void; timer: NodeJS.Timeout }>();
  let pruning: NodeJS.Timeout | undefined;

  function save(entry: Entry): Entry {
    const { texts, ...rest } = entry;
    clearTimeout(unkept.get(entry.id)?.timer);
    unkept.delete(entry.id);
    kept.save(entry.id, texts && mayKeep(entry.path) ? entry : rest);
    clearTimeout(pruning);
    pruning = setTimeout(() => void prune(all, MAX_AGE, MAX_SIZE), PRUNE_AFTER).unref();
    return entry;
  }

  function keepLater(proposal: Proposal): void {
    const { entry } = proposal;
    const keep = () => void save({ ...entry, texts: textsOf(proposal) });
    clearTimeout(unkept.get(entry.id)?.timer);
    unkept.set(entry.id, { keep, timer: setTimeout(keep, KEEP_AFTER).unref() });
    lastReview.set(entry.path, entry);
  }

  function begin(kind: Entry["kind"], { cli, turn, prompt }: Author, path: string): Outline {
    return { id: randomUUID(), at: Date.now(), cli, turn, prompt, path, kind };
  }

  async function list(): Promise<Entry[]> {
    for (const { keep } of unkept.values()) keep();
    const found = (await kept.load()).flatMap((value) => Entry.safeParse(value).data ?? []);
    return found.sort((a, b) => b.at - a.at);
  }

  return {
    wrote(agent, author, path, texts) {
      const key = `${agent.session} ${path}`;
      const entry = ofTurns.get(key);
      ofTurns.delete(key);
      const goesOn = entry?.texts && entry.texts.after === texts.before;
      const next = goesOn
        ? { ...entry, at: Date.now(), texts: { before: entry.texts?.before ?? null, after: texts.after } }
        : { ...begin("written", author, path), texts };
      ofTurns.set(key, save(next));
      let held = 0;
      for (const [key, { texts }] of [...ofTurns].reverse()) {
        held += (texts?.before?.length ?? 0) + (texts?.after?.length ?? 0);
        if (held > MAX_HELD) ofTurns.delete(key);
      }
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
      // The CLI's own prompt may have said yes.
      if (entry) save({ ...entry, kind: entry.kind === "edited" ? "edited" : "accepted", texts });
    },
    list,
    async read(id) {
      const entry = (await list()).find((one) => one.id === id);
      if (!entry?.texts)
        throw new Refusal("the history has no text of that: the file is not shared, or it is gone");
      return { ...entry, texts: entry.texts };
    },
  };
}

/** @returns nothing where it is not known what was there: to take that back must not take the file away */
function textsOf({ original: { bytes, version }, content }: Proposal): Texts | undefined {
  if (bytes ? bytes.length > MAX_FILE : !isAbsent(version)) return undefined;
  const before = bytes ? bytes.toString("latin1") : null;
  return { before, after: asOnDisk(content, before) };
}

/** The bytes that a CLI writes for a text: it restores the byte order mark and the line ends of the file. */
function asOnDisk(content: string, before: string | null): string {
  const text = Buffer.from(content).toString("latin1");
  const mark = Buffer.from("\uFEFF").toString("latin1");
  const marked = before?.startsWith(mark) && !text.startsWith(mark) ? mark + text : text;
  return before?.includes("\r\n") && !marked.includes("\r\n") ? marked.replaceAll("\n", "\r\n") : marked;
}
