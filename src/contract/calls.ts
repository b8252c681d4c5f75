/**
 * Defines the calls from Node to Lua with their parameters (part of CONTRACT 1). Their results are in neovim.ts. The
 * host imports only types from this file, so that the schemas do not delay its start. Tests check each call against the
 * schemas. scripts/contract.ts generates lua/gemini-bridge/bridge/contract.lua from them.
 */
import * as z from "zod";
import { Memory } from "./memory.ts";
import { Answer, Request } from "./request-messages.ts";
import { Status } from "./status.ts";

/** A hunk of a file that an agent has changed. */
export const ShownHunk = z.object({
  id: z.int().describe("Unique in the file. Stays the same until the hunk is edited."),
  line: z
    .int()
    .describe("First line in the file on disk, 1-based. For a removal: the line above, 0 at the top."),
  count: z.int().describe("Number of current lines; 0 for a removal."),
  old: z
    .int()
    .describe("First line in the earlier text, 1-based. For an insertion: the line above, 0 at the top."),
  removed: z.int().describe("Number of earlier lines."),
  conflict: z.boolean().describe("Whether the user has edited the hunk since, so that it cannot be undone."),
  turn: z.number().describe("Start of the turn that edited the hunk last (Unix milliseconds)."),
});
export type ShownHunk = z.infer<typeof ShownHunk>;

/** A file with changes of agents that the user has neither kept nor undone. */
export const ShownChange = z.object({
  path: z.string().describe("Absolute, without links."),
  status: z.enum(["modified", "added", "deleted"]),
  added: z.int().describe("Number of lines."),
  removed: z.int().describe("Number of lines."),
  hunks: z.array(ShownHunk),
  decided: z.int().describe("Number of hunks in this file that the user has already kept or undone."),
  cli: z.string().describe("Profile of the CLI of the newest turn with undecided hunks in the file."),
  turn: z.number().describe("Start of that turn (Unix milliseconds)."),
  prompt: z.string().describe("Prompt of that turn, if known."),
  together: z
    .string()
    .optional()
    .describe("Reason why the change is undone only as a whole, if any: others have written the file, too."),
  fixed: z.string().optional().describe("Reason why the change cannot be undone, if any."),
});
export type ShownChange = z.infer<typeof ShownChange>;

/** A step in the turn of an agent. A turn begins with the user's prompt and ends with the agent's answer. */
export const Turn = z.object({
  kind: z.enum(["started", "waiting", "resumed", "ended"]),
  cli: z.string().describe("Name of the profile."),
  session: z.string().describe("Session id of the CLI itself."),
  cwd: z.string(),
  id: z.string().optional().describe("Session id of the connected client."),
  terminal: z.string().optional().describe("The terminal of `:Gemini` in which the agent runs, if known."),
  prompt: z.string().optional().describe("Set at the start."),
  tool: z
    .object({
      kind: z.enum(["edit", "shell", "other"]),
      name: z.string(),
      filePath: z.string().optional(),
      command: z.string().optional(),
    })
    .optional()
    .describe("The tool for which the agent waits."),
});

/**
 * A position in a text, as in the language server protocol. `character` counts in the encoding of the language server.
 */
const Position = z.object({ line: z.int(), character: z.int() });

/** Text edits of a file, in the shape of the language server protocol. */
export const FileEdits = z.object({
  path: z.string(),
  tick: z.int().optional().describe("The buffer's tick when the server was asked."),
  version: z.int().optional().describe("The version of the document that the server names."),
  since: z
    .number()
    .optional()
    .describe(
      "When the server was asked (Unix milliseconds). A file without a buffer must not have changed since.",
    ),
  steps: z
    .array(z.array(z.object({ range: z.object({ start: Position, end: Position }), newText: z.string() })))
    .describe(
      "Edits in the order in which they apply. The positions of a step refer to the text after the step before.",
    ),
});
export type FileEdits = z.infer<typeof FileEdits>;

const Nothing = z.object({});
const Paths = z.array(z.string()).readonly();
const Id = z.int().positive();
const Buf = z.int();

/**
 * The calls from Node to Lua. If Lua cannot do what a call asks for, it rejects the call with a message for the user.
 */
export const calls = {
  /** Registers the host with its process id. `channel` is set only by the shared host. */
  attach: z.object({ channel: z.int().optional(), pid: z.int() }),
  status: Status,
  /** A request for information or a change in the editor, see questions.ts. Lua answers with the event `answered`. */
  request: Request,
  /** The answer to the event `request`. */
  answered: Answer,
  /**
   * Sets and unsets environment variables while the bridge runs. Lua restores them when the bridge stops. `clis`:
   * variables only for CLIs in Neovim's terminals. `arguments` and `variables`: only for CLIs that `:Gemini` starts, by
   * profile.
   */
  set_environment: z.object({
    set: z.record(z.string(), z.string()),
    unset: z.array(z.string()).readonly(),
    clis: z.record(z.string(), z.string()),
    arguments: z.record(z.string(), z.array(z.string())),
    variables: z.record(z.string(), z.record(z.string(), z.string())),
  }),
  message: z.object({ level: z.enum(["info", "warn", "error"]), text: z.string() }),
  /** Reports a step in the turn of an agent: started, waiting for the user, resumed or ended. */
  turn: Turn,
  /**
   * Makes Lua send snapshots of the editor. Lua sends a snapshot `debounce` ms after the last event. If events
   * continue, Lua sends the snapshot at the latest `maxWait` ms after the first event since the previous snapshot.
   */
  context_subscribe: z.object({
    events: z.array(z.string()).readonly(),
    debounce: z.number(),
    maxWait: z.number(),
    maxSelection: z.int(),
  }),
  context_unsubscribe: Nothing,
  /** Stores data in Lua for the next host. Replaces earlier data. */
  remember: Memory,
  /**
   * Ends the delivery of the user's decision on a review. If the host is restarted, Lua does not send the decision to
   * the new host again. If the CLI did not get the decision, Lua tells the user and keeps the accepted text. `problem`:
   * why the CLI did not get the decision; absent if the CLI has ended.
   */
  decision_settled: z.object({
    id: Id,
    delivered: z.boolean(),
    filePath: z.string(),
    problem: z.string().optional(),
  }),
  /** Returns the text that the user has accepted. Possible until `decision_settled` for the same review. */
  decision_read: z.object({ id: Id }),
  /**
   * `on`: whether Lua sends the event `model_changed`. `selection`: whether Lua sends this event also when the
   * selection changes, which happens with almost every key.
   */
  model_watch: z.object({ on: z.boolean(), selection: z.boolean() }),
  /** Shows a review, or replaces the proposal of the review with this id. */
  diff_open: z.object({
    id: Id,
    filePath: z.string().describe("As the CLI spells it."),
    newContent: z.string(),
    textId: z
      .string()
      .describe("Identifies the text across hosts, so that an unedited one is accepted by id."),
    client: z.string().describe("Name of the client."),
    label: z.string().describe("Name of the CLI for the user."),
  }),
  /** Returns the current text of the proposal. */
  diff_read: z.object({ id: Id }),
  /**
   * Tells Lua that the file of a review has changed on disk, or that `stale` has a new value. Lua shows the new state
   * and tells the user once. If the left window shows a copy of the file, Lua reads the file again.
   */
  diff_update: z.object({ id: Id, stale: z.boolean() }),
  /**
   * Closes a review without an outcome, and returns the text of the proposal. Reasons: `cli`, the CLI has asked for the
   * text; `answered`, the user has answered in the CLI's terminal; `written`, the file already contains the proposal.
   * If the user has already decided, Lua sends the event with the decision and then refuses the call.
   */
  diff_close: z.object({
    id: Id,
    reason: z.enum(["answered", "cancelled", "cli", "disconnected", "stopped", "written"]),
  }),
  /** Reloads the buffer of a file that an agent has changed on disk. */
  file_changed: z.object({ path: z.string() }),
  /** Sets whether Lua sends the events `file_written` and `file_read`. */
  changes_follow: z.object({ active: z.boolean() }),
  /**
   * Shows a new or updated change of a file, or removes the change. `written`: the file on disk has changed, and Lua
   * must reload its buffer. `edited`: an agent has just changed the file. `decision`: the user has decided on the last
   * hunk.
   */
  change_show: z.object({
    path: z.string(),
    change: ShownChange.optional(),
    written: z.boolean(),
    edited: z.boolean(),
    decision: z.enum(["kept", "undone"]).optional(),
  }),
  /**
   * Reports that a turn with unreviewed changes has ended. `incomplete`: a sentence that says why changes may be
   * missing.
   */
  turn_changes: z.object({
    cli: z.string(),
    terminal: z.string().optional(),
    files: z.int(),
    added: z.int(),
    removed: z.int(),
    incomplete: z.string().optional(),
  }),
  /** Returns the files of loaded buffers and the open directories, as absolute paths. */
  files_open: Nothing,
  /** Returns the terminals and directories in which the user may have started a CLI without `:Gemini`. */
  prompt_places: Nothing,
  /**
   * Tells Lua which CLI will get the prompt. Returns the prompt's text. `quotesPaths`: whether the CLI expects a path
   * with blanks in quotes (`@"a path"`), instead of with backslashes.
   */
  prompt_found: z.object({
    id: Id,
    name: z.string(),
    cwd: z.string(),
    quotesPaths: z.boolean(),
  }),
  /** Reports that no CLI runs. Lua opens a terminal, and sends the prompt again with the terminal's name. */
  prompt_open: z.object({ id: Id }),
  /**
   * Reports that the prompt waits. `reason` completes a sentence that begins with "waits until". `say`: whether to tell
   * the user.
   */
  prompt_waits: z.object({ id: Id, reason: z.string(), say: z.boolean() }),
  /** Reports the end of a prompt. If it was not `typed` into the CLI, Lua keeps its text for the user. */
  prompt_done: z.object({ id: Id, typed: z.boolean(), problem: z.string().optional() }),
  /** Starts or stops the event `screen` for a terminal. */
  screen_watch: z.object({ buf: Buf, on: z.boolean() }),
  /**
   * Pastes a text or types keys. If `tick` does not identify the current screen, Lua types nothing, and sends the event
   * `screen` again.
   */
  screen_type: z.object({
    buf: Buf,
    tick: z.int(),
    paste: z.string().optional(),
    keys: z.string().optional(),
  }),
} as const;

/** The parameters of the questions for the model, see questions.ts. `timeout` is in milliseconds. */
export const questions = {
  consent: Nothing,
  buffers: Nothing,
  /** Reads the lines `from` to `to`, up to `units` UTF-16 units. A negative `to` counts from the end. */
  read: z.object({ path: z.string(), from: z.int(), to: z.int(), units: z.int() }),
  lines: z.object({ path: z.string(), numbers: z.array(z.int()).readonly() }),
  selection: z.object({ units: z.int() }),
  /**
   * Returns diagnostics that are at least as severe as `severity`. `paths` are loaded files, `unopened` are other
   * files.
   */
  diagnostics: z.object({ paths: Paths, unopened: Paths, severity: z.int(), limit: z.int() }),
  /** Asks language servers which of the files that are not open have diagnostics. */
  unopened: z.object({ timeout: z.number() }),
  /** Loads the file into a hidden buffer if it is not open, and waits for its language servers. */
  document: z.object({
    path: z.string(),
    method: z.string(),
    line: z.int().optional(),
    timeout: z.number(),
  }),
  /**
   * Lists the language servers that support the request `method`. Only for requests that are not about a particular
   * file.
   */
  servers: z.object({ method: z.string() }),
  /**
   * Sends a request to a language server. If `path` is given, Lua inserts the file's URI into `textDocument`. `limit`:
   * maximum number of items in all lists of the answer together. Encoding a longer answer would block the editor.
   */
  request: z.object({
    server: z.int(),
    path: z.string().optional(),
    method: z.string(),
    params: z.record(z.string(), z.unknown()),
    timeout: z.number(),
    limit: z.int(),
    isEdit: z.boolean().describe("Whether the answer must include the versions of the texts."),
  }),
  /** Waits until the language servers have processed the files on disk. */
  settle: z.object({ paths: Paths, timeout: z.number() }),
  quickfix: z.object({ limit: z.int() }),
  changes: Nothing,
  /** Shows a file in an ordinary window. Does not move the focus. */
  open_file: z.object({ path: z.string(), line: z.int().optional() }),
  /**
   * Computes the edited texts without changing anything. Fails if a file has unsaved changes, or has changed since the
   * edits were computed. Also fails if the encoding of a file cannot represent a character of the new text.
   */
  preview_edits: z.object({
    files: z.array(FileEdits).readonly(),
    encoding: z.string(),
    isReview: z.boolean(),
  }),
  /** Edits the buffer of a file. Afterwards the host writes the file, and calls `finish_edit`. */
  apply_edit: z.object({ file: FileEdits, encoding: z.string() }),
  /**
   * Completes an edit. If the host could not write the file (`written` is false), Lua undoes the edit of the buffer.
   */
  finish_edit: z.object({ path: z.string(), tick: z.int(), written: z.boolean() }),
  /** Informs language servers and plugins that these files were written. */
  tell_written: z.object({ paths: Paths }),
  set_quickfix: z.object({
    title: z.string(),
    items: z.array(z.object({ path: z.string(), line: z.int(), text: z.string() })),
  }),
} as const;

export type Questions = { [N in keyof typeof questions]: z.infer<(typeof questions)[N]> };

export type Calls = { [N in keyof typeof calls]: z.infer<(typeof calls)[N]> };
