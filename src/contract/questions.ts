/**
 * Defines the requests from Node to Lua (part of CONTRACT 1): questions to Neovim for the model. Lua answers perhaps only
 * after language servers have answered. The Lua side is lua/gemini-bridge/model.
 * Paths are absolute. Lines and characters are 1-based, characters in UTF-16 units, except in shapes of the language
 * server protocol.
 */
import * as z from "zod";
import { list } from "./list.ts";
import { Consent } from "./sharing.ts";

export type { FileEdits, Questions } from "./calls.ts";

/** A listed and loaded buffer of a file. */
const Buffer = z.object({
  path: z.string(),
  filetype: z.string(),
  lines: z.number().int(),
  modified: z.boolean(),
  /** Whether a window shows the buffer. */
  visible: z.boolean(),
  servers: list(z.string()),
});

const Diagnostic = z.object({
  path: z.string(),
  line: z.number().int(),
  character: z.number().int(),
  /** Severity as in the language server protocol: 1 is an error, 4 a hint. */
  severity: z.number().int().min(1).max(4),
  message: z.string(),
  code: z.union([z.string(), z.number()]).optional(),
  source: z.string().optional(),
});
export type Diagnostic = z.infer<typeof Diagnostic>;

/** A language server. `encoding` is its unit for counting characters. */
const Server = z.object({ id: z.number().int(), name: z.string(), encoding: z.string() });
export type Server = z.infer<typeof Server>;

/**
 * The moment at which a language server was asked: `at` in Unix milliseconds, and for each file the version of its text
 * (`tick`).
 */
const Moment = z.object({
  at: z.number(),
  ticks: list(z.object({ path: z.string(), tick: z.number().int() })),
});
export type Moment = z.infer<typeof Moment>;

/** The answers to all questions. */
export const answers = {
  consent: Consent,
  buffers: z.object({ buffers: list(Buffer) }),
  /** `lines`: the complete lines that fit into the limit. The other fields are absent if the file is not loaded. */
  read: z.object({
    loaded: z.boolean(),
    lines: list(z.string()),
    /** Whether the end of the only line is missing. */
    isCut: z.boolean().optional(),
    total: z.number().int().optional(),
    modified: z.boolean().optional(),
  }),
  /** `lines`: the beginning of each requested line. */
  lines: z.object({ loaded: z.boolean(), lines: list(z.string()) }),
  /** Cursor and selection in the active file. */
  selection: z.object({
    path: z.string().optional(),
    line: z.number().int().optional(),
    character: z.number().int().optional(),
    text: z.string().optional(),
  }),
  /**
   * The most severe diagnostics, up to the limit. `counts` are the numbers of all diagnostics by severity from 1 to 4,
   * `files` is the number of their files.
   */
  diagnostics: z.object({
    items: list(Diagnostic),
    counts: z.array(z.number().int()).length(4),
    files: z.number().int(),
  }),
  /** Files that are not open. Files with the most severe diagnostics come first. `problems` are sentences. */
  unopened: z.object({ paths: list(z.string()), total: z.number().int(), problems: list(z.string()) }),
  /**
   * `servers`: the servers that support the method. `attached`: number of all servers of the file. `text`: the
   * requested line. `tick` identifies this version of the file's text. `diagnostics`: for
   * code actions, those of the requested line, in the shape of the language server protocol; otherwise empty.
   */
  document: z.object({
    servers: list(Server),
    attached: z.number().int(),
    /** Whether the file was loaded only for this question. */
    isNew: z.boolean(),
    text: z.string().optional(),
    tick: z.number().int(),
    tabSize: z.number().int(),
    insertSpaces: z.boolean(),
    diagnostics: list(z.unknown()),
  }),
  servers: z.object({ servers: list(Server) }),
  /** The unchecked answer of the language server. `total`: number of items of a list before it was cut. */
  request: z.object({
    result: z.unknown().optional(),
    total: z.number().int().optional(),
    moment: Moment.optional(),
  }),
  /**
   * `settled`: whether the language servers have processed the newest texts in time. `silent`: whether some servers
   * have the newest text, but have published no diagnostics for it.
   */
  settle: z.object({ settled: z.boolean(), silent: z.boolean() }),
  quickfix: z.object({
    title: z.string(),
    total: z.number().int(),
    items: list(z.object({ path: z.string(), line: z.number().int(), text: z.string() })),
  }),
  /** Files that CLIs changed without a review. `added` and `removed` are numbers of lines. */
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
  /** `isUsers`: whether the user is in the window of the file. If so, Lua has not moved the cursor. */
  open_file: z.object({ lines: z.number().int(), isUsers: z.boolean() }),
  set_quickfix: z.object({ total: z.number().int() }),
  /** The text of each file after the edits, for showing the edits as reviews. */
  preview_edits: z.object({ texts: list(z.object({ path: z.string(), content: z.string() })) }),
  /** The bytes of the file before and after the edit, as base64. `tick` identifies the buffer's new text. */
  apply_edit: z.object({ tick: z.number().int(), before: z.base64(), after: z.base64() }),
  finish_edit: z.unknown(),
  tell_written: z.unknown(),
} as const;

export type QuestionName = keyof typeof answers;
export type AnswerTo<N extends QuestionName> = z.infer<(typeof answers)[N]>;
