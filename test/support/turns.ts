import assert from "node:assert/strict";
import { chmodSync, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import type { Agent } from "../../src/contract/hooks.ts";
import { hashOfPlain } from "../../src/system/disk-text.ts";
import { ChangesHost } from "./changes.ts";
import type { Scope } from "./scope.ts";
import { sh } from "./shell.ts";

/** Slots between lines that nobody edits: two hunks side by side would be one. */
const SLOTS = 3;
/** The last two do not exist at first. */
const NAMES = ["clean.txt", "dirty.txt", "untracked.txt", "new.txt", "other.txt"];
const MODES = [0o644, 0o600, 0o755, 0o644, 0o644];

const which = fc.nat(NAMES.length - 1);
const agent = fc.nat(1);
const slots = fc.array(fc.option(fc.nat(2), { nil: undefined }), { minLength: SLOTS, maxLength: SLOTS });
const operation = fc.record({
  kind: fc.constantFrom("write", "write", "delete", "move", "checkout"),
  file: which,
  to: which,
  slots,
});
const oneFile = <K extends string>(...kinds: K[]) =>
  fc.record({ kind: fc.constantFrom(...kinds), file: which, slots });

/** A step of a history. Steps that are impossible at their time are skipped. */
export const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant("edit"), agent, file: which, slots, deletes: fc.nat(4) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("command"),
      agent,
      operations: fc.array(operation, { minLength: 1, maxLength: 3 }),
      isEarly: fc.boolean(),
    }),
  },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("finish"), agent }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom("cancel", "end turn"), agent }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("accept"), agent, file: which, slots }) },
  { weight: 8, arbitrary: oneFile("save", "save", "write", "delete", "undo", "undo", "keep") },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("undo all", "keep all", "commit") }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("restart"), file: which, slots }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

/** Of each slot: undefined stays, else so many new lines. */
type Edits = readonly (number | undefined)[];

/** A file; null is none. */
interface Content {
  readonly slots: readonly string[];
  readonly mode: number;
}
type State = Content | null;

interface File {
  readonly name: string;
  /** What undo restores: the user's text, with what the user has kept or accepted. */
  base: State;
  now: State;
  /** What `git checkout` restores. */
  head: State;
  /** The bridge may not have noticed the user's last write yet. */
  isUnnoticed: boolean;
}

/** What an agent has begun. */
type Work =
  | { kind: "edit"; file: File; tool: object; next: () => State }
  | { kind: "command"; tool: object; late: readonly Operation[]; touched: Set<File> };

function bytesOf({ slots }: Content): Buffer {
  return Buffer.from(slots.map((slot, i) => `${slot}separator ${i}\n`).join(""), "latin1");
}

function isSame(a: State, b: State): boolean {
  return a && b ? a.slots.join("|") === b.slots.join("|") : a === b;
}

/** Two agents and the user in one directory: does each step on the disk, and knows what must come of it. */
export class Turns {
  host: ChangesHost;
  readonly #files: File[];
  readonly #agents: Agent[];
  readonly #works = new Map<Agent, Work>();
  #lines = 0;
  /** Since a command began. */
  #isIndexChanged = false;

  private constructor(
    readonly scope: Scope,
    readonly isGit: boolean,
    directory: string | undefined,
  ) {
    this.host = new ChangesHost(scope, directory);
    const cwd = this.host.directory;
    this.#agents = ["gemini", "qwen"].map((cli) => ({ cli, session: cli, cwd }));
    this.#files = NAMES.map((name) => ({ name, base: null, now: null, head: null, isUnnoticed: false }));
  }

  static async start(scope: Scope, isGit: boolean): Promise<Turns> {
    const turns = new Turns(scope, isGit, undefined);
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

  /** @returns other text in these slots; of a file that is missing, a new one */
  #edited(state: State, slots: Edits, author: "a" | "u"): Content {
    const old = state ?? { slots: Array<string>(SLOTS).fill(""), mode: 0o644 };
    const lines = (count: number) => Array.from({ length: count }, () => this.#line(author)).join("");
    return {
      ...old,
      slots: old.slots.map((slot, i) => {
        const count = slots[i];
        return count === undefined ? slot : lines(count);
      }),
    };
  }

  #put(file: File, next: State): void {
    const path = this.host.path(file.name);
    const isNew = !existsSync(path);
    if (!next) rmSync(path, { force: true });
    else {
      writeFileSync(path, bytesOf(next));
      if (isNew) chmodSync(path, next.mode);
    }
    file.now = next;
  }

  #userWrites(file: File, next: State): void {
    const before = file.now;
    this.#put(file, next);
    // A file that the user creates or deletes has nothing of an agent's any more.
    if (!before || !next || !file.base) file.base = !before || !next ? next : file.base;
    else
      file.base = {
        mode: file.base.mode,
        slots: file.base.slots.map((slot, i) =>
          next.slots[i] === before.slots[i] ? slot : (next.slots[i] ?? ""),
        ),
      };
  }

  #isAwaited(file: File): boolean {
    return [...this.#works.values()].some((work) => work.kind === "edit" && work.file === file);
  }

  /** A running command has changed the file already: whatever the user does there now belongs to both. */
  #isTouched(file: File): boolean {
    return [...this.#works.values()].some((work) => work.kind === "command" && work.touched.has(file));
  }

  get #areCommandsRunning(): boolean {
    return [...this.#works.values()].some(({ kind }) => kind === "command");
  }

  /** Slots in which an agent's change is not kept stay as they are: the user's edit there would be a conflict. */
  #clean(file: File, slots: Edits): Edits {
    return slots.map((count, i) => (file.base?.slots[i] === file.now?.slots[i] ? count : undefined));
  }

  async take(step: Step): Promise<void> {
    const file = "file" in step ? this.#files[step.file] : undefined;
    const agent = "agent" in step ? this.#agents[step.agent] : undefined;
    if (file && this.#isTouched(file) && step.kind !== "undo") return;
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
        if (agent && work?.kind === "edit") await this.#endTurn(agent);
        break;
      case "end turn":
        if (agent && !work) await this.#endTurn(agent);
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
        if (file) await this.#undo([file]);
        break;
      case "keep":
        if (file) await this.#keep([file]);
        break;
      case "undo all":
        await this.#undo(this.#files);
        break;
      case "keep all":
        await this.#keep(this.#files.filter((one) => !this.#isTouched(one)));
        break;
      case "commit":
        if (this.isGit && !this.#areCommandsRunning) {
          sh(this.host, "git add -A .; git commit -qm more --allow-empty");
          for (const one of this.#files) one.head = one.now;
        }
        break;
      case "restart":
        if (file && "slots" in step) await this.#restart(file, step.slots);
    }
    await this.#check(step.kind);
  }

  /** Finishes everything and undoes it. */
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
    this.#isIndexChanged &&= this.#areCommandsRunning;
    this.#works.set(agent, { kind: "command", tool, late: isEarly ? [] : operations, touched });
    await this.host.tell({ kind: "tool_starting", tool }, agent);
    for (const file of this.#files) file.isUnnoticed = false;
    if (isEarly) for (const operation of operations) this.#operate(operation, touched);
  }

  #operate({ kind, file: number, to, slots }: Operation, touched: Set<File>): void {
    const [file, target] = [this.#files[number], this.#files[to]];
    if (!file || !target || [file, target].some((one) => this.#isAwaited(one) || this.#isTouched(one)))
      return;
    if (kind === "move" && file.now && file !== target) {
      renameSync(this.host.path(file.name), this.host.path(target.name));
      [target.now, file.now] = [file.now, null];
      touched.add(target);
    } else if (kind === "checkout" && this.isGit && file.head) {
      this.#isIndexChanged = true;
      sh(this.host, `git checkout -q HEAD -- ${file.name}`);
      file.now = { ...file.head, mode: statSync(this.host.path(file.name)).mode & 0o777 };
    } else if (kind === "delete" || kind === "write")
      this.#put(file, kind === "delete" ? null : this.#edited(file.now, slots, "a"));
    touched.add(file);
  }

  async #finish(agent: Agent, work: Work): Promise<void> {
    if (work.kind === "edit") this.#put(work.file, work.next());
    else for (const operation of work.late) this.#operate(operation, new Set());
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

  /** A file that the user deletes and creates again at once looks like one that the user has saved. */
  #isJustDeleted(file: File): boolean {
    return file.isUnnoticed && !file.now;
  }

  async #save(file: File, slots: Edits): Promise<void> {
    if (this.#isJustDeleted(file)) return;
    this.#userWrites(file, this.#edited(file.now, file.now ? this.#clean(file, slots) : slots, "u"));
    await this.host.changes.handlers.file_written({ path: this.host.path(file.name) });
    file.isUnnoticed = false;
  }

  async #undo(files: readonly File[]): Promise<void> {
    const before = this.host.messages().length;
    const isFree = (file: File) => !this.#isAwaited(file);
    const paths = files.map(({ name }) => ({ path: this.host.path(name) }));
    const listed = new Set(this.host.shown.keys());
    await this.host.changes.handlers.changes_undo({ files: paths, unsaved: [] });
    // What a running command has done is listed only if the file was listed before.
    for (const file of files.filter(isFree)) {
      if (this.#isTouched(file) && !listed.has(this.host.path(file.name))) continue;
      if (!isSame(file.base, file.now)) file.now = file.base; // changes of the mode alone are not listed
      for (const work of this.#works.values()) if (work.kind === "command") work.touched.delete(file);
    }
    const refused = files.filter((file) => !isFree(file) && listed.has(this.host.path(file.name)));
    const messages = this.host.messages().splice(before);
    this.host.told.splice(0, this.host.told.length, ...this.host.told.filter(([name]) => name !== "message"));
    for (const { name } of refused)
      assert.match(messages.join(), new RegExp(`${name} is being changed by`), "a refusal has a reason");
    if (refused.length === 0 && files.every(isFree)) assert.deepEqual(messages, []);
  }

  async #keep(files: readonly File[]): Promise<void> {
    const paths = files.map(({ name }) => ({ path: this.host.path(name) }));
    await this.host.changes.handlers.changes_keep({ files: paths, unsaved: [] });
    for (const file of files) file.base = file.now;
  }

  async #restart(file: File, slots: Edits): Promise<void> {
    // The comparison of a command that changed the index would be incomplete, and reported as such.
    if (this.#isIndexChanged && this.#areCommandsRunning) return;
    await this.#settle(); // the process of a host ends, and with it what it was doing
    await this.host.changes.close();
    const written: string[] = [];
    if (!this.#isAwaited(file) && !this.#isJustDeleted(file)) {
      this.#userWrites(file, this.#edited(file.now, file.now ? this.#clean(file, slots) : slots, "u"));
      written.push(this.host.path(file.name));
    }
    this.host = new ChangesHost(this.scope, this.host.directory, [], { duration: 100, written });
  }

  /** Waits until everything before is done, as it is done in turn. */
  #settle(): Promise<void> {
    return this.host.tell({ kind: "permission_asked", tool: { kind: "other", name: "none" } });
  }

  async #check(what: string): Promise<void> {
    await this.#settle();
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
