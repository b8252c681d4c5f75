import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createLog } from "../../src/base/log.ts";
import type { Changes } from "../../src/changes/changes.ts";
import type { History } from "../../src/changes/history.ts";
import { createTracking } from "../../src/changes/tracking.ts";
import type { Calls, ShownChange } from "../../src/contract/calls.ts";
import type { Agent, AgentEvent } from "../../src/contract/hooks.ts";
import type { Boot } from "../../src/contract/neovim.ts";
import { createBridge } from "../../src/neovim/bridge.ts";
import { readDiskText } from "../../src/system/disk-text.ts";
import { createDrafts } from "../../src/system/drafts.ts";
import { createUserFiles } from "../../src/system/user-files.ts";
import type { Scope } from "./scope.ts";
import { temporary } from "./temporary.ts";

/** What tools do to files, and what Neovim is told of it, on a real disk and without Neovim. */
export class ChangesHost {
  readonly shown = new Map<string, ShownChange>();
  readonly told: [name: string, params: object][] = [];
  readonly changes: Changes;
  readonly history: History;
  readonly directory: string;
  /** The files of loaded buffers. */
  open: string[] = [];
  /** Those that are open in Neovim. */
  directories: string[];
  #agent: Agent;

  /**
   * @param directory that of a host before this one
   * @param absence since the end of that host
   */
  constructor(t: Scope, directory = temporary(t), exclude: string[] = [], absence?: Boot["absence"]) {
    this.directory = directory;
    this.directories = [directory];
    this.#agent = { cli: "gemini", session: "1", cwd: this.directory };
    const nobody = () => {
      throw new Error("Neovim was asked");
    };
    const executeLua = async (_: string, [name, params]: unknown[]) => {
      this.#take(name as string, params as never);
      return { result: { paths: this.open, directories: this.directories } };
    };
    const log = createLog();
    const bridge = createBridge({ on: nobody, request: nobody, executeLua: executeLua as never }, log);
    const boot = {
      stateDirectory: join(this.directory, "state"),
      instance: "1",
      exclude,
      absence,
      workspace: { directories: this.directories },
    };
    const userFiles = createUserFiles(createDrafts(join(boot.stateDirectory, "drafts")));
    const { changes, history } = createTracking({
      bridge,
      terminalOf: () => "gemini-2",
      userFiles,
      boot,
      log,
    });
    [this.changes, this.history] = [changes, history];
    t.teardown(() => void this.changes.close());
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

  /** @param begun aborted when the agent does not wait */
  tell(
    event: { kind: AgentEvent["kind"] } & Record<string, unknown>,
    agent = this.#agent,
    begun?: AbortSignal,
  ): Promise<void> {
    return this.changes.listener({ agent, at: Date.now(), ...event } as AgentEvent, begun);
  }

  /** The agent's tool makes this of the file; nothing: it takes it away. */
  async edit(name: string, bytes: string | Buffer | undefined): Promise<void> {
    const tool = { kind: "edit", name: "write_file", filePath: this.path(name) };
    await this.tell({ kind: "tool_starting", tool });
    this.write(name, bytes);
    await this.tell({ kind: "tool_ended", tool, failed: false });
  }

  /** Somebody makes this of the file, and nobody tells. */
  write(name: string, bytes: string | Buffer | undefined, mode?: number): void {
    if (bytes === undefined) rmSync(this.path(name));
    else writeFileSync(this.path(name), bytes);
    if (mode !== undefined) chmodSync(this.path(name), mode);
  }

  /** Permission bits. */
  mode(name: string): number {
    return statSync(this.path(name)).mode & 0o7777;
  }

  /** The user writes it in Neovim. */
  async save(name: string, bytes: string | Buffer): Promise<void> {
    this.write(name, bytes);
    await this.changes.handlers.file_written({ path: this.path(name) });
  }

  /** A review of this number shows this proposal of the CLI's. */
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
    await this.tell({ kind: "permission_asked", tool: { kind: "other", name: "none" } }); // which comes after it
  }

  async keep(name: string, hunks?: number[]): Promise<void> {
    await this.changes.handlers.changes_keep({ files: [{ path: this.path(name), hunks }], unsaved: [] });
    await this.tell({ kind: "permission_asked", tool: { kind: "other", name: "none" } });
  }

  /** What is kept for the next host. */
  kept(): string[] {
    const directory = this.path("state/changes/1");
    const names = existsSync(directory) ? readdirSync(directory) : [];
    return names.map((name) => readFileSync(join(directory, name), "utf8"));
  }

  /** Whether Neovim is to tell what the user writes. */
  isFollowing(): unknown {
    const last = this.told.findLast(([name]) => name === "changes_follow");
    return last && "active" in last[1] && last[1].active;
  }

  /** The sentences by which the user was warned. */
  messages(): string[] {
    return this.told.flatMap(([name, params]) => {
      if (name === "turn_changes" && "incomplete" in params) return params.incomplete ?? [];
      const isWarning = name === "message" && "level" in params && params.level === "warn";
      return isWarning && "text" in params ? String(params.text) : [];
    }) as string[];
  }
}
