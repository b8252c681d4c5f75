/** Carries out random steps of two agents and a user, and predicts the results. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, renameSync, statSync } from "node:fs";
import type { Agent } from "../../src/contract/hooks.ts";
import { hashOfPlain } from "../../src/system/disk-text.ts";
import { ChangesHost } from "./changes.ts";
import type { Scope } from "./scope.ts";
import { sh } from "./shell.ts";
import { Decisions } from "./turn-decisions.ts";
import {
  bytesOf,
  type Content,
  type Edits,
  edited,
  type File,
  fileNamed,
  isSame,
  MODES,
  NAMES,
  type Operation,
  type State,
  type Step,
  write,
} from "./turn-steps.ts";

/** An operation that an agent has started but not finished. */
type Work =
  | { kind: "edit"; file: File; tool: object; next: () => State }
  | { kind: "command"; tool: object; late: readonly Operation[]; touched: Set<File> };

/** Two agents and a user in one directory. Carries out each step on the disk, and predicts the result. */
export class Turns {
  host: ChangesHost;
  readonly #files: File[];
  readonly #agents: Agent[];
  readonly #works = new Map<Agent, Work>();
  readonly #decisions = new Decisions(() => this.host);
  #lines = 0;
  #instances = 1;
  #prompts = 0;

  private constructor(
    readonly scope: Scope,
    readonly isGit: boolean,
  ) {
    this.host = new ChangesHost(scope);
    const cwd = this.host.directory;
    this.#agents = ["gemini", "qwen"].map((cli) => ({ cli, session: cli, cwd }));
    this.#files = NAMES.map(fileNamed);
  }

  static async start(scope: Scope, isGit: boolean): Promise<Turns> {
    const turns = new Turns(scope, isGit);
    for (const [i, file] of turns.#files.slice(0, 3).entries()) {
      turns.#userWrites(file, { slots: ["", "", ""].map(() => turns.#line("u")), mode: MODES[i] ?? 0 });
      if (isGit && i < 2) file.head = file.now;
    }
    if (isGit) {
      sh(turns.host, "git init -q -b main; git add clean.txt dirty.txt; git commit -qm first");
      const [, dirty] = turns.#files;
      if (dirty) turns.#userWrites(dirty, turns.#edited(dirty.now, [1, undefined, 0], "u"));
    }
    return turns;
  }

  #line(author: "a" | "u"): string {
    return `${author}${++this.#lines} \xc3\xa9\n`;
  }

  #edited(state: State, slots: Edits, author: "a" | "u"): Content {
    return edited(state, slots, () => this.#line(author));
  }

  #put(file: File, next: State): void {
    write(this.host.path(file.name), next);
    Object.assign(file, { now: next, isCommitted: false });
  }

  #userWrites(file: File, next: State): void {
    const before = file.now;
    this.#put(file, next);
    // If the user creates or deletes a file, the file contains no changes of an agent.
    if (!before || !next || !file.base) file.base = !before || !next ? next : file.base;
    else
      file.base = {
        ...file.base,
        slots: file.base.slots.map((slot, i) =>
          next.slots[i] === before.slots[i] ? slot : (next.slots[i] ?? ""),
        ),
      };
  }

  #isAwaited(file: File): boolean {
    return [...this.#works.values()].some((work) => work.kind === "edit" && work.file === file);
  }

  /** Returns whether a running command has changed the file. Later edits of the user also count for the command. */
  #isTouched(file: File): boolean {
    return [...this.#works.values()].some((work) => work.kind === "command" && work.touched.has(file));
  }

  get #areCommandsRunning(): boolean {
    return [...this.#works.values()].some(({ kind }) => kind === "command");
  }

  /** Leaves out slots with undecided changes of an agent, because an edit of the user there would be a conflict. */
  #clean(file: File, slots: Edits): Edits {
    return slots.map((count, i) => (file.base?.slots[i] === file.now?.slots[i] ? count : undefined));
  }

  async take(step: Step): Promise<void> {
    const file = "file" in step ? this.#files[step.file] : undefined;
    const agent = "agent" in step ? this.#agents[step.agent] : undefined;
    if (file && this.#isTouched(file) && !["undo", "edit", "save"].includes(step.kind)) return;
    const work = agent && this.#works.get(agent);
    switch (step.kind) {
      case "edit":
        if (agent && file && !work && "deletes" in step)
          await this.#startEdit(agent, file, step.deletes === 0 && file.now ? undefined : step.slots);
        break;
      case "command":
        if (agent && !work && "operations" in step)
          await this.#startCommand(agent, step.operations, step.isEarly);
        break;
      case "finish":
        if (agent && work) await this.#finish(agent, work);
        break;
      case "cancel":
      case "end turn":
        if (agent && work?.kind === (step.kind === "cancel" ? "edit" : undefined)) await this.#endTurn(agent);
        break;
      case "accept":
        if (agent && file && !work && "slots" in step) await this.#accept(agent, file, step.slots);
        break;
      case "save":
        if (file && "slots" in step) await this.#save(file, step.slots);
        break;
      case "write":
      case "delete":
        if (file && "slots" in step && file.now && !this.#isAwaited(file) && !this.#areCommandsRunning) {
          const next = this.#edited(file.now, this.#clean(file, step.slots), "u");
          this.#userWrites(file, step.kind === "delete" ? null : next);
          file.isUnnoticed = true;
        }
        break;
      case "undo":
      case "undo all":
        await this.#undo(file ? [file] : this.#files);
        break;
      case "keep":
      case "keep all":
        await this.#keep(file ? [file] : this.#files.filter((one) => !this.#isTouched(one)));
        break;
      case "commit":
        if (this.isGit && !this.#areCommandsRunning) {
          sh(this.host, "git add -A .; git commit -qm more --allow-empty");
          for (const one of this.#files) Object.assign(one, { head: one.now, isCommitted: true });
          await this.#refresh();
        }
        break;
      case "refresh":
        await this.#refresh();
        break;
      case "restart":
        if (file && "slots" in step) await this.#restart(file, step.slots);
        break;
      case "quit":
        if (file && "slots" in step) await this.#quit(file, step.slots);
        break;
      case "prompt":
        if (agent && !work)
          await this.host.tell({ kind: "turn_started", prompt: `${++this.#prompts}` }, agent);
        break;
      case "undo lines":
      case "keep lines":
      case "undo turn":
      case "keep turn":
        if (file && "hunk" in step && this.#isFree(file))
          await this.#decisions.decidePart(
            file,
            this.#files.filter((one) => this.#isFree(one)),
            step,
          );
        break;
      case "revert":
        if (!this.#areCommandsRunning) await this.#decisions.revert((one) => this.#isAwaited(one));
    }
    await this.#check(step.kind);
  }

  /** Finishes all operations, and undoes all changes. */
  async end(): Promise<void> {
    for (const [agent, work] of [...this.#works]) await this.#finish(agent, work);
    for (const agent of this.#agents) await this.#endTurn(agent);
    await this.#undo(this.#files);
    await this.#check("the end");
    assert.deepEqual([...this.host.shown.keys()], [], "no change is left");
    assert.deepEqual(this.host.messages(), []);
  }

  async #startEdit(agent: Agent, file: File, slots: Edits | undefined): Promise<void> {
    const tool = { kind: "edit", name: "write_file", filePath: this.host.path(file.name) };
    const next = () => (slots ? this.#edited(file.now, slots, "a") : null);
    this.#works.set(agent, { kind: "edit", file, tool, next });
    await this.host.tell({ kind: "tool_starting", tool }, agent);
    file.isUnnoticed = false;
  }

  async #startCommand(agent: Agent, operations: readonly Operation[], isEarly: boolean): Promise<void> {
    const tool = { kind: "shell", name: "run_shell_command", command: `command of ${agent.cli}` };
    const touched = new Set<File>();
    this.#works.set(agent, { kind: "command", tool, late: isEarly ? [] : operations, touched });
    await this.host.tell({ kind: "tool_starting", tool }, agent);
    for (const file of this.#files) file.isUnnoticed = false;
    if (isEarly) for (const operation of operations) this.#operate(operation, touched);
  }

  /** Counts a write of an agent. `before` is the earlier text, or undefined if the text has certainly changed. */
  #agentWrites(file: File, before: State | undefined): void {
    file.isCommitted = false;
    // If the text is the same, the host may or may not have noticed the write.
    file.agentWrites = before !== undefined && isSame(before, file.now) ? Number.NaN : file.agentWrites + 1;
  }

  #operate({ kind, file: number, to, slots }: Operation, touched: Set<File>): void {
    const [file, target] = [this.#files[number], this.#files[to]];
    if (!file || !target || [file, target].some((one) => this.#isAwaited(one) || this.#isTouched(one)))
      return;
    const before = file.now;
    if (kind === "move" && file.now && file !== target) {
      renameSync(this.host.path(file.name), this.host.path(target.name));
      [target.now, file.now] = [file.now, null];
      touched.add(target);
      this.#agentWrites(target, undefined);
    } else if (kind === "checkout" && this.isGit && file.head) {
      sh(this.host, `git checkout -q HEAD -- ${file.name}`);
      file.now = { ...file.head, mode: statSync(this.host.path(file.name)).mode & 0o777 };
    } else if (kind === "delete" || kind === "write")
      this.#put(file, kind === "delete" ? null : this.#edited(file.now, slots, "a"));
    touched.add(file);
    this.#agentWrites(file, before);
  }

  async #finish(agent: Agent, work: Work): Promise<void> {
    if (work.kind === "edit") {
      this.#put(work.file, work.next());
      this.#agentWrites(work.file, undefined);
    } else for (const operation of work.late) this.#operate(operation, new Set());
    await this.host.tell({ kind: "tool_ended", tool: work.tool, failed: false }, agent);
    this.#works.delete(agent);
  }

  async #endTurn(agent: Agent): Promise<void> {
    await this.host.tell({ kind: "turn_ended" }, agent);
    this.#works.delete(agent);
  }

  async #accept(agent: Agent, file: File, slots: Edits): Promise<void> {
    if (this.#isAwaited(file)) return;
    const tool = { kind: "edit", name: "write_file", filePath: this.host.path(file.name) };
    await this.host.tell({ kind: "tool_starting", tool }, agent);
    const next = this.#edited(file.now, file.now ? this.#clean(file, slots) : slots, "a");
    this.host.changes.agreed(this.host.path(file.name), [hashOfPlain(bytesOf(next))]);
    this.#userWrites(file, next);
    await this.host.tell({ kind: "tool_ended", tool, failed: false }, agent);
  }

  /** Returns whether the user may have just deleted the file. Creating it again would look like a save. */
  #isJustDeleted(file: File): boolean {
    return file.isUnnoticed && !file.now;
  }

  async #save(file: File, slots: Edits): Promise<void> {
    if (this.#isJustDeleted(file)) return;
    if (this.#isTouched(file)) return; // nobody would know which text is whose
    this.#userWrites(file, this.#edited(file.now, file.now ? this.#clean(file, slots) : slots, "u"));
    await this.host.changes.handlers.file_written({ path: this.host.path(file.name) });
    file.isUnnoticed = false;
  }

  /** Undoes files. A file that several agents have written at once is undone alone, as the host demands. */
  async #undo(files: readonly File[]): Promise<void> {
    const isTogether = ({ name }: File) => this.host.change(name)?.together !== undefined;
    for (const file of files.filter(isTogether)) await this.#undoAtOnce([file]);
    const others = files.filter((file) => !isTogether(file));
    if (others.length > 0) await this.#undoAtOnce(others);
  }

  async #undoAtOnce(files: readonly File[]): Promise<void> {
    const before = this.host.messages().length;
    const isFree = (file: File) => !this.#isAwaited(file);
    const paths = files.map(({ name }) => ({ path: this.host.path(name) }));
    const listed = new Set(this.host.shown.keys());
    const remember = this.#decisions.begin("undo", files, this.#areKnown(files));
    await this.host.changes.handlers.changes_undo({ files: paths, unsaved: [] });
    // Changes of a running command can be undone only if the file was listed before.
    for (const file of files.filter(isFree)) {
      if (this.#isTouched(file) && !listed.has(this.host.path(file.name))) continue;
      if (!isSame(file.base, file.now)) file.now = file.base; // a change of only the mode is not listed
      for (const work of this.#works.values()) if (work.kind === "command") work.touched.delete(file);
    }
    remember();
    const refused = files.filter((file) => !isFree(file) && listed.has(this.host.path(file.name)));
    const messages = this.host.messages().splice(before);
    this.host.clearMessages();
    for (const { name } of refused)
      assert.match(messages.join(), new RegExp(`is changing \\S*${name}:`), "a refusal has a reason");
    if (refused.length === 0 && files.every(isFree)) assert.deepEqual(messages, []);
  }

  async #keep(files: readonly File[]): Promise<void> {
    const paths = files.map(({ name }) => ({ path: this.host.path(name) }));
    const remember = this.#decisions.begin("keep", files, this.#areKnown(files));
    await this.host.changes.handlers.changes_keep({ files: paths, unsaved: [] });
    for (const file of files) file.base = file.now;
    remember();
  }

  /** Returns whether the host knows the content of all these files. Then the result of a decision is predictable. */
  #areKnown(files: readonly File[]): boolean {
    return !files.some((file) => file.isUnnoticed || this.#isTouched(file));
  }

  #isFree(file: File): boolean {
    const isTogether = this.host.change(file.name)?.together !== undefined;
    return !file.isUnnoticed && !isTogether && !this.#isAwaited(file) && !this.#isTouched(file);
  }

  /** Simulates the return to Neovim. The host may then count changes that the user has committed as kept. */
  async #refresh(): Promise<void> {
    const listed = new Set(this.host.shown.keys());
    await this.host.changes.handlers.changes_refresh({});
    await this.host.settle();
    for (const file of this.#files) {
      const path = this.host.path(file.name);
      if (file.isCommitted && listed.has(path) && !this.host.shown.has(path)) file.base = file.now;
    }
  }

  /** Ends Neovim together with the agents' tools. The user writes a file before starting Neovim again. */
  async #quit(file: File, slots: Edits): Promise<void> {
    if (this.#areCommandsRunning) return;
    this.#works.clear();
    this.#instances += 1;
    await this.#restart(file, slots);
  }

  /** Restarts the host while no tool is running. The user writes a file meanwhile. */
  async #restart(file: File, slots: Edits): Promise<void> {
    if (this.#works.size > 0) return;
    await this.host.settle();
    await this.host.close();
    this.#decisions.clear();
    if (file.now && !this.#isJustDeleted(file))
      this.#userWrites(file, this.#edited(file.now, this.#clean(file, slots), "u"));
    this.host = new ChangesHost(this.scope, this.host.directory, [], false, String(this.#instances));
    await this.host.settle();
    for (const one of this.#files) one.isUnnoticed = false;
  }

  async #check(what: string): Promise<void> {
    await this.host.settle();
    for (const file of this.#files) {
      const { name, base, now, isUnnoticed } = file;
      const path = this.host.path(name);
      const found = existsSync(path) ? readFileSync(path, "latin1") : null;
      assert.equal(found, now && bytesOf(now).toString("latin1"), `${name} after ${what}`);
      if (now) assert.equal(statSync(path).mode & 0o777, now.mode, `mode of ${name}`);
      if (isUnnoticed || this.#isAwaited(file) || this.#isTouched(file)) continue;
      const status = isSame(base, now) ? undefined : !now ? "deleted" : !base ? "added" : "modified";
      assert.equal(this.host.change(name)?.status, status, `${name} in the list after ${what}`);
      assert.equal(this.host.change(name)?.fixed, undefined, `${name} can be undone after ${what}`);
    }
  }
}
