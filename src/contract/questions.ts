/**
 * What Neovim is asked for the model: a part of CONTRACT 1. The call `ask` names a question, and the event `answered`
 * brings its answer: in the next moment, or when language servers have answered. The other side is
 * lua/gemini-bridge/model. Paths are absolute; lines and characters are 1-based, characters in UTF-16 units, except
 * where the language server protocol's own shapes travel.
 */
import * as z from "zod";
import { list } from "./list.ts";

/** A listed buffer of a file that is loaded. */
const Buffer = z.object({
  path: z.string(),
  filetype: z.string(),
  lines: z.number().int(),
  modified: z.boolean(),
  /** It is in a window. */
  visible: z.boolean(),
  servers: list(z.string()),
});
export type Buffer = z.infer<typeof Buffer>;

const Diagnostic = z.object({
  path: z.string(),
  line: z.number().int(),
  character: z.number().int(),
  /** As in the language server protocol: 1 is an error, 4 a hint. */
  severity: z.number().int().min(1).max(4),
  message: z.string(),
  code: z.union([z.string(), z.number()]).optional(),
  source: z.string().optional(),
});
export type Diagnostic = z.infer<typeof Diagnostic>;

/** A language server; `encoding` says in what it counts characters. */
const Server = z.object({ id: z.number().int(), name: z.string(), encoding: z.string() });
export type Server = z.infer<typeof Server>;

/** The texts that a language server knew when it was asked for edits; `at` is Unix milliseconds. */
const Moment = z.object({
  at: z.number(),
  ticks: list(z.object({ path: z.string(), tick: z.number().int() })),
});
export type Moment = z.infer<typeof Moment>;

/** Each question's answer, as it arrives. */
export const answers = {
  buffers: z.object({ buffers: list(Buffer) }),
  /** `lines` are whole ones, as many as fit; nothing else is there for a file that is not loaded. */
  read: z.object({
    loaded: z.boolean(),
    lines: list(z.string()),
    total: z.number().int().optional(),
    modified: z.boolean().optional(),
  }),
  /** The beginning of each line. */
  lines: z.object({ loaded: z.boolean(), lines: list(z.string()) }),
  /** Where the user is in the file that they looked at last. */
  selection: z.object({
    path: z.string().optional(),
    line: z.number().int().optional(),
    character: z.number().int().optional(),
    text: z.string().optional(),
  }),
  /**
   * The most severe first, `items` no more than the limit; `counts` of all, by severity from 1 to 4, and of the `files`
   * that they are in.
   */
  diagnostics: z.object({
    items: list(Diagnostic),
    counts: z.array(z.number().int()).length(4),
    files: z.number().int(),
  }),
  /** Those with the gravest diagnostics first; `problems` are sentences. */
  unopened: z.object({ paths: list(z.string()), total: z.number().int(), problems: list(z.string()) }),
  /** `servers` are those that know the method, `attached` counts all. `text` is that of the line. */
  document: z.object({
    servers: list(Server),
    attached: z.number().int(),
    /** It was not open and has been read for this question. */
    isNew: z.boolean(),
    text: z.string().optional(),
  }),
  servers: z.object({ servers: list(Server) }),
  /** What the server has answered, not looked at; `total` counts the items of lists that were cut. */
  request: z.object({
    result: z.unknown().optional(),
    total: z.number().int().optional(),
    moment: Moment.optional(),
  }),
  /** `silent`: some have read the newest text, and have published nothing for a while. */
  settle: z.object({ settled: z.boolean(), silent: z.boolean() }),
  quickfix: z.object({
    title: z.string(),
    total: z.number().int(),
    items: list(z.object({ path: z.string(), line: z.number().int(), text: z.string() })),
  }),
  /** Files that CLIs changed without a review. `added` and `removed` are lines. */
  changes: z.object({
    changes: list(
      z.object({
        path: z.string(),
        status: z.enum(["modified", "added", "deleted"]),
        added: z.number().int(),
        removed: z.number().int(),
      }),
    ),
  }),
  /** `isUsers`: the user is in its window, where the cursor is theirs. */
  open_file: z.object({ lines: z.number().int(), isUsers: z.boolean() }),
  set_quickfix: z.object({ total: z.number().int() }),
  /** `tick` tells this text from a later one; the diagnostics are the language server's own. */
  edit_context: z.object({
    tick: z.number().int(),
    tabSize: z.number().int(),
    insertSpaces: z.boolean(),
    diagnostics: list(z.unknown()),
  }),
  /** What the files would hold, for a review. */
  preview_edits: z.object({ texts: list(z.object({ path: z.string(), content: z.string() })) }),
  /** The bytes that the file holds and is to hold, as base64; `tick` stands for the buffer's new text. */
  apply_edit: z.object({ tick: z.number().int(), before: z.base64(), after: z.base64() }),
  finish_edit: z.unknown(),
  tell_written: z.unknown(),
} as const;

export type QuestionName = keyof typeof answers;
export type AnswerTo<N extends QuestionName> = z.infer<(typeof answers)[N]>;

/** What is to become of a file: text edits of the language server protocol. */
export interface FileEdits {
  path: string;
  /** That of its buffer when the server was asked. */
  tick?: number | undefined;
  /** That of the document which the server names. */
  version?: number | undefined;
  /** When the server was asked (Unix milliseconds), which has read the file itself where it has no buffer. */
  since?: number | undefined;
  edits: { range: { start: Position; end: Position }; newText: string }[];
}

/** As in the language server protocol, in its server's encoding. */
interface Position {
  line: number;
  character: number;
}

/** Each question's parameters. `timeout` is milliseconds. */
export interface Questions {
  buffers: Record<string, never>;
  /** `from` and `to` are lines; `units` bounds the text. Negative `to` counts from the end. */
  read: { path: string; from: number; to: number; units: number };
  lines: { path: string; numbers: readonly number[] };
  selection: { units: number };
  /** Of loaded files, and of those that `unopened` has named. `severity`: this one and graver ones. */
  diagnostics: { paths: readonly string[]; unopened: readonly string[]; severity: number; limit: number };
  /** Asks language servers about the whole workspace: which files that are not open have diagnostics. */
  unopened: { timeout: number };
  /** Reads the file into a hidden buffer where it is not open, and waits for its language servers. */
  document: { path: string; method: string; line?: number | undefined; timeout: number };
  /** Those that know a method that asks about no file. */
  servers: { method: string };
  /**
   * Asks a language server, about a document when there is a path: its URI is filled in where there is a
   * `textDocument`. `limit`: no more items of lists, and of the lists within, as what travels is encoded while the
   * editor waits.
   */
  request: {
    server: number;
    path?: string | undefined;
    method: string;
    params: Record<string, unknown>;
    timeout: number;
    limit: number;
    /** The answer is to say which texts it belongs to. */
    isEdit: boolean;
  };
  /** Waits until the language servers have caught up with what is on disk. */
  settle: { paths: readonly string[]; timeout: number };
  quickfix: { limit: number };
  changes: Record<string, never>;
  /** Shows a file in an ordinary window; the focus stays. */
  open_file: { path: string; line?: number | undefined };
  edit_context: { path: string; line?: number | undefined };
  /**
   * Fails if one of the files has unsaved changes, another text than the edits belong to, or an encoding that does not
   * have all characters; changes nothing.
   */
  preview_edits: { files: readonly FileEdits[]; encoding: string; isReview: boolean };
  /** Edits the file's buffer; the file is to be written next, which `finish_edit` tells. */
  apply_edit: { file: FileEdits; encoding: string };
  /** Not `written`: the edit of the buffer is taken back. */
  finish_edit: { path: string; tick: number; written: boolean };
  /** Nobody has been told yet that these were written. */
  tell_written: { paths: readonly string[] };
  set_quickfix: { title: string; items: { path: string; line: number; text: string }[] };
}
