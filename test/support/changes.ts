/** Runs the host's part for changes on real files, without Neovim. */
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Test } from "tap";
import { createLog } from "../../src/base/log.ts";
import { type Changes, createChanges } from "../../src/changes/changes.ts";
import type { History } from "../../src/changes/history.ts";
import type { Calls, ShownChange } from "../../src/contract/calls.ts";
import type { Agent, AgentEvent } from "../../src/contract/hooks.ts";
import { createBridge } from "../../src/neovim/bridge.ts";
import { createStore, type Store } from "../../src/store/store.ts";
import { readDiskText } from "../../src/system/disk-text.ts";
import { createTemporaryFiles } from "../../src/system/temporary-files.ts";
import { createUserFiles } from "../../src/system/user-files.ts";
import { createTurns, type Turns } from "../../src/turns/turns.ts";
import type { Scope } from "./scope.ts";
import { temporary } from "./temporary.ts";

/** Runs the host's part for changes on real files, without Neovim. Records the calls to Lua. */
export class ChangesHost {
  readonly shown = new Map<string, ShownChange>();
  readonly told: [name: string, params: object][] = [];
  readonly turns: Turns;
  readonly changes: Changes;
  readonly history: History;
  readonly store: Store;
  readonly directory: string;
  /** Paths of the files that are open in Neovim. */
  open: string[] = [];
  /** Directories that are open in Neovim. */
  directories: string[];
  /** Directory of the agent. */
  cwd: string;

  /**
   * @param directory directory of an earlier host, to start with its files
   * @param follows whether this host follows an earlier host of the same Neovim
   * @param instance id of the Neovim process
   * @param directories open directories of Neovim
   * @param notes number of notes that Neovim has loaded
   */
  constructor(
    t: Scope,
    directory = temporary(t),
    exclude: string[] = [],
    follows = false,
    instance = "1",
    directories = [directory],
    notes = 0,
  ) {
    this.directory = directory;
    this.directories = directories;
    this.cwd = this.directory;
    const nobody = () => {
      throw new Error("Neovim was asked");
    };
    const executeLua = async (_: string, [name, params]: unknown[]) => {
      this.#take(name as string, params as never);
      return { result: { paths: this.open, directories: this.directories } };
    };
    const notify = (_: string, [, [name, params]]: [string, unknown[]]) =>
      this.#take(name as string, params as never);
    const log = createLog();
    const editor = { on: nobody, request: nobody, executeLua, notify };
    const bridge = createBridge(editor as never, log);
    const boot = {
      paths: { log: "", state: join(this.directory, "state"), hook: "" },
      sharing: { paused: false, exclude },
      previous: follows ? { port: 1, tokens: {}, endedAt: 1, wasStopped: false } : undefined,
      notes,
      workspace: { directories: this.directories },
    };
    const userFiles = createUserFiles(createTemporaryFiles(join(boot.paths.state, "drafts")));
    this.store = createStore({ directory: boot.paths.state, instance, log });
    this.turns = createTurns({
      heard: [],
      remember: () => {},
      isConnected: () => false,
      search: async () => undefined,
    });
    this.changes = createChanges({
      bridge,
      store: this.store,
      terminalOf: () => "gemini-2",
      agents: this.turns,
      ownFolders: new Map([["gemini", [this.path(".gemini/tmp")]]]),
      userFiles,
      boot,
      log,
      maxWait: 60_000,
    });
    this.turns.on(this.changes.listener);
    this.history = this.changes.history;
    t.teardown(() => this.close());
  }

  get #agent(): Agent {
    return { cli: "gemini", session: "1", cwd: this.cwd };
  }

  #take(name: string, params: Calls["change_show"]): void {
    this.told.push([name, params]);
    if (name !== "change_show") return;
    if (params.change) this.shown.set(params.path, params.change);
    else this.shown.delete(params.path);
  }

  path(name: string): string {
    return join(this.directory, name);
  }

  /**
   * Sends a hook event.
   * @param begun signal that aborts when the agent does not wait for the answer
   */
  async tell(
    event: { kind: AgentEvent["kind"] } & Record<string, unknown>,
    agent = this.#agent,
    begun?: AbortSignal,
  ): Promise<void> {
    await this.turns.handle({ agent, at: Date.now(), ...event } as AgentEvent, begun);
    if (event.kind !== "tool_starting") await this.settle();
  }

  /** Returns the tool with which an agent edits a file. */
  editOf(name: string) {
    return { kind: "edit", name: "write_file", filePath: this.path(name) } as const;
  }

  /** Sends the hook event before an edit. */
  starts(name: string, agent?: Agent, begun?: AbortSignal): Promise<void> {
    return this.tell({ kind: "tool_starting", tool: this.editOf(name) }, agent, begun);
  }

  /** Sends the hook event after an edit. */
  ended(name: string, agent?: Agent): Promise<void> {
    return this.tell({ kind: "tool_ended", tool: this.editOf(name), failed: false }, agent);
  }

  /** Edits a file with a tool of the agent. Without `bytes`, the tool deletes the file. */
  async edit(name: string, bytes: string | Buffer | undefined): Promise<void> {
    await this.starts(name);
    this.write(name, bytes);
    await this.ended(name);
  }

  /** Writes a file without a hook. Without `bytes`, deletes the file. */
  write(name: string, bytes: string | Buffer | undefined, mode?: number): void {
    if (bytes === undefined) rmSync(this.path(name));
    else writeFileSync(this.path(name), bytes);
    if (mode !== undefined) chmodSync(this.path(name), mode);
  }

  /** Returns the permission bits of a file. */
  mode(name: string): number {
    return statSync(this.path(name)).mode & 0o7777;
  }

  /** Reads a file as Neovim does. */
  async reads(name: string): Promise<void> {
    const { ino, size, mtimeNs, ctimeNs } = statSync(this.path(name), { bigint: true });
    const second = 1_000_000_000n;
    const times = [mtimeNs, ctimeNs].flatMap((time) => [time / second, time % second]);
    const version = [ino, size, ...times].join(" ");
    await this.changes.handlers.file_read({ path: this.path(name), version });
  }

  /** Writes a file as the user does in Neovim. */
  async save(name: string, bytes: string | Buffer): Promise<void> {
    this.write(name, bytes);
    await this.changes.handlers.file_written({ path: this.path(name) });
  }

  /** Shows a proposal of the CLI as the review with the given number. */
  propose(review: number, name: string, newContent: string): Promise<void> {
    const path = this.path(name);
    return this.history.proposed(review, "gemini", path, newContent, readDiskText(path));
  }

  read(name: string): Buffer {
    return readFileSync(this.path(name));
  }

  change(name: string): ShownChange | undefined {
    return this.shown.get(this.path(name));
  }

  async undo(name: string, hunks?: number[]): Promise<void> {
    await this.changes.handlers.changes_undo({ files: [{ path: this.path(name), hunks }], unsaved: [] });
    await this.settle();
  }

  /** Undoes all changes of a file. Checks that the file then contains `text`. */
  async undoesTo(t: Test, name: string, text: string, message = name): Promise<void> {
    await this.undo(name);
    t.equal(String(this.read(name)), text, message);
  }

  async keep(name: string, hunks?: number[]): Promise<void> {
    await this.changes.handlers.changes_keep({ files: [{ path: this.path(name), hunks }], unsaved: [] });
    await this.settle();
  }

  /** Keeps or undoes all hunks of a turn. */
  async decideTurn(verb: "keep" | "undo", turn: number): Promise<void> {
    const files = [...this.shown.keys()].map((path) => ({ path }));
    await this.changes.handlers[`changes_${verb}`]({ files, unsaved: [], turn });
    await this.settle();
  }

  /** Keeps or undoes the changes in a range of lines, 1-based and inclusive. */
  async decideLines(verb: "keep" | "undo", name: string, from: number, to: number): Promise<void> {
    const files = [{ path: this.path(name), range: { from, to } }];
    await this.changes.handlers[`changes_${verb}`]({ files, unsaved: [] });
    await this.settle();
  }

  async revert(): Promise<void> {
    await this.changes.handlers.changes_revert({});
    await this.settle();
  }

  /** Waits until all earlier events have been handled. */
  settle(): Promise<void> {
    return this.changes.listener({ kind: "resumed", turn: this.turns.newTurn(this.#agent, "") });
  }

  /** Ends the host, which stores everything. */
  async close(): Promise<void> {
    this.turns.close();
    await this.changes.close();
    await this.store.close();
  }

  /** Returns the content of all files in which the host stores data for a later host of any Neovim. */
  kept(): string[] {
    this.store.storeNow();
    return this.keptFiles().map((path) => readFileSync(path, "latin1"));
  }

  /** Returns the entries of a list that the host has stored. */
  keptIn(list: "changes" | "history"): unknown[] {
    this.kept();
    const files = this.keptFiles().filter((path) => path.endsWith("lists.json"));
    return files.flatMap((path) => JSON.parse(readFileSync(path, "utf8")).lists[list] ?? []);
  }

  /** Returns the paths of the files in which the host stores data for a later host. */
  keptFiles(): string[] {
    const directory = this.path("state/store");
    const names = existsSync(directory) ? readdirSync(directory, { recursive: true, encoding: "utf8" }) : [];
    return names.map((name) => join(directory, name)).filter((path) => statSync(path).isFile());
  }

  /** Returns whether Neovim was asked to report files that the user writes. */
  isFollowing(): unknown {
    const last = this.told.findLast(([name]) => name === "changes_follow");
    return last && "active" in last[1] && last[1].active;
  }

  /** Clears the list of messages to the user. */
  clearMessages(): void {
    this.told.splice(0, this.told.length, ...this.told.filter(([name]) => name !== "message"));
  }

  /** Returns the last message to the user. */
  message(): unknown {
    const last = this.told.findLast(([name]) => name === "message");
    return last && "text" in last[1] && last[1].text;
  }

  /** Returns the texts of all warnings. */
  messages(): string[] {
    return this.told.flatMap(([name, params]) => {
      if (name === "turn_changes" && "incomplete" in params) return params.incomplete ?? [];
      const isWarning = name === "message" && "level" in params && params.level === "warn";
      return isWarning && "text" in params ? String(params.text) : [];
    }) as string[];
  }
}
