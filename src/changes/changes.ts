/** The changes that agents make without a review: found around each edit, shown, and kept or undone as the user says. */
import { basename } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../base/log.ts";
import { Refusal } from "../base/refusal.ts";
import type { ChosenChanges, changeEvents } from "../contract/changes.ts";
import type { Agent, AgentEvent, EditTexts } from "../contract/hooks.ts";
import type { Bridge, EventHandlers } from "../neovim/bridge.ts";
import { hashOfPlain, readVersion } from "../system/disk-text.ts";
import type { ChangeMemory } from "./change-memory.ts";
import { createChangedFiles } from "./changed-files.ts";
import { type DiskFile, fileBefore, readDiskFile, readStillFile, realPath, restore } from "./disk-file.ts";
import { type FileChange, follow, kept, shown, textOf, undone } from "./file-change.ts";
import type { History } from "./history.ts";
import { createPast } from "./past.ts";
import type { Prompts } from "./prompts.ts";
import { lookBefore, type ShellLook } from "./shell.ts";
import { oldLines, shownLines } from "./shown-lines.ts";

/** So long Lua is waited for, which does not answer while Neovim asks something (milliseconds). */
const LUA_PATIENCE = 200;

export interface Changes {
  /** Takes what a hook tells; the hook of a tool that starts waits for it. Never rejects. */
  listener(event: AgentEvent): Promise<void>;
  /** The user has agreed to texts of a file, given by their hashes: what makes it so is no change. */
  agreed(path: string, hashes: readonly string[]): void;
  readonly handlers: Pick<EventHandlers, keyof typeof changeEvents>;
  /** Stops looking at the disk. May run twice. */
  close(): void;
}

/** Keeps or undoes a file's change. @param ids of its hunks, all without them. @throws {Refusal} */
type Act = (change: FileChange, ids: Set<number> | undefined) => Promise<void>;

/** @returns what a message says was kept or undone */
function summary(done: readonly { path: string; hunks: number }[]): string {
  const files = done.length === 1 ? basename(done[0]?.path ?? "") : `${done.length} files`;
  const hunks = done.reduce((sum, one) => sum + one.hunks, 0);
  return hunks === 0 ? files : `${hunks} ${hunks === 1 ? "hunk" : "hunks"} in ${files}`;
}

export interface ChangesOptions {
  bridge: Bridge;
  /** What the host before this one knew. */
  memory: ChangeMemory;
  prompts: Prompts;
  history: History;
  log: Log;
}

export function createChanges({ bridge, memory, prompts, history, log }: ChangesOptions): Changes {
  const files = createChangedFiles({ bridge, memory, look: (paths) => void inTurn(() => lookAgain(paths)) });
  /** Hashes of the texts that the user has agreed to, by file. */
  const agreements = new Map<string, Set<string>>();
  /** Before the commands that run: by agent and command. */
  const looks = new Map<string, { agent: Agent; look: ShellLook }>();
  let last: Promise<void> = Promise.resolve();

  /** One after the other: each reads the disk, and says what that means before the next one does. */
  function inTurn(run: () => void | Promise<void>): Promise<void> {
    last = last.then(run).catch((error: unknown) => {
      if (error instanceof Refusal) bridge.tell("message", { level: "warn", text: error.message });
      else log.error("changes:", error);
    });
    return last;
  }

  /** What the disk holds although no agent is known to have written it, the user has written. */
  async function sync(change: FileChange, read = readStillFile): Promise<FileChange> {
    if ((await readVersion(change.path)) === change.version) return change;
    const next = follow(change, await read(change.path));
    files.set(next);
    return next;
  }

  async function syncPath(path: string): Promise<void> {
    const change = files.get(path);
    if (change) await sync(change, readDiskFile);
  }

  async function restored(path: string): Promise<void> {
    bridge.tell("file_changed", { path });
    await syncPath(path);
  }

  /** While a command runs, nobody knows whose doing it is: that is looked at when it ends. */
  async function lookAgain(paths?: ReadonlySet<string>): Promise<void> {
    if (looks.size > 0) return;
    const quiet = files.all().filter(({ path }) => (paths?.has(path) ?? true) && !files.isAwaited(path));
    const versions = await Promise.all(quiet.map(({ path }) => readVersion(path)));
    for (const change of quiet.filter(({ version }, i) => version !== versions[i])) await sync(change);
  }

  async function starting(agent: Agent, filePath: string): Promise<void> {
    const path = await realPath(filePath);
    agreements.delete(path);
    const known = files.get(path);
    const isShared = files.isAwaited(path, agent);
    files.await(agent, path);
    if (known && !isShared) await sync(known);
    else if (!known) files.set(files.begin(path, await readDiskFile(path), prompts.authorOf(agent)));
  }

  async function ended(agent: Agent, filePath: string, failed: boolean, texts?: EditTexts): Promise<void> {
    const path = await realPath(filePath);
    const known = files.get(path);
    const found = await readDiskFile(path);
    const isReviewed = isAgreed(path, found);
    // Of its start nobody was told, as while there was no host.
    if (!known && (failed || isReviewed)) return;
    const before = known ?? files.begin(path, fileBefore(found, texts), prompts.authorOf(agent));
    if (isReviewed) {
      const after = follow(before, found);
      history.agreed(path, { before: textOf(before) ?? null, after: textOf(after) ?? null });
      files.set(after);
    } else wrote(agent, before, found);
    files.arrived(agent, path);
  }

  async function commandStarting(agent: Agent, command: string): Promise<void> {
    await lookAgain();
    const open = await Promise.race([
      bridge.call("files_open", {}).catch(() => undefined),
      delay(LUA_PATIENCE, undefined, { ref: false }),
    ]);
    const known = [...(open?.paths ?? []), ...files.all().map(({ path }) => path)];
    looks.set(`${agent.session} ${command}`, { agent, look: await lookBefore(agent.cwd, known) });
  }

  async function commandEnded(agent: Agent, command: string): Promise<void> {
    const key = `${agent.session} ${command}`;
    const touched = (await looks.get(key)?.look.compare()) ?? [];
    looks.delete(key);
    for (const { path, before } of touched) {
      if (files.isAwaited(path)) continue;
      const change = files.get(path) ?? files.begin(path, before, prompts.authorOf(agent));
      wrote(agent, change, await readDiskFile(path));
    }
  }

  function wrote(agent: Agent, before: FileChange, found: DiskFile): void {
    if (found.version === before.version) return;
    const author = prompts.authorOf(agent);
    const after = follow(before, found, author);
    files.set(after, agent);
    prompts.changed(agent, before.path);
    const texts = { before: textOf(before) ?? null, after: textOf(after) ?? null };
    if (after.fixed === undefined && texts.before !== texts.after)
      history.wrote(agent, author, before.path, texts);
  }

  function isAgreed(path: string, { text }: DiskFile): boolean {
    if (text === undefined) return false;
    const hashes = agreements.get(path);
    agreements.delete(path);
    return hashes?.has(hashOfPlain(Buffer.from(text, "latin1"))) ?? false;
  }

  /** The agent does nothing more of what it has begun: what it did not tell, it has not done. */
  async function turnEnded(agent: Agent): Promise<void> {
    for (const [key, one] of looks)
      if (one.agent.session === agent.session) await commandEnded(agent, key.slice(agent.session.length + 1));
    for (const path of files.abandon(agent)) await syncPath(path);
    const changes = prompts.end(agent).flatMap((path) => {
      const change = files.all().find((one) => one.path === path);
      return change ? [shown(change)] : [];
    });
    if (changes.length === 0) return;
    const sum = (count: "added" | "removed") => changes.reduce((all, change) => all + change[count], 0);
    const counts = { files: changes.length, added: sum("added"), removed: sum("removed") };
    bridge.tell("turn_changes", { cli: agent.cli, ...counts });
  }

  async function take({ agent, ...event }: AgentEvent): Promise<void> {
    switch (event.kind) {
      case "turn_started":
        await turnEnded(agent);
        history.turnStarted(agent);
        return prompts.begin(agent, event.prompt);
      case "tool_starting":
        if (event.tool.kind === "edit") await starting(agent, event.tool.filePath);
        if (event.tool.kind === "shell") await commandStarting(agent, event.tool.command);
        return;
      case "tool_ended":
        if (event.tool.kind === "edit") await ended(agent, event.tool.filePath, event.failed, event.texts);
        if (event.tool.kind === "shell") await commandEnded(agent, event.tool.command);
        return;
      case "turn_ended":
      case "session_ended":
        return turnEnded(agent);
      case "session_started":
      case "permission_asked":
        return;
    }
  }

  /** Acts on each file, whatever happens with the others, and tells the user the result in one message. */
  async function decide(verb: string, { files: chosen, unsaved }: ChosenChanges, act: Act): Promise<void> {
    const problems = unsaved.map(
      (path) => `${basename(path)} has unsaved changes: save or discard them first`,
    );
    const done: { path: string; hunks: number }[] = [];
    for (const { path, hunks } of chosen) {
      const change = files.get(path);
      if (!change) continue;
      try {
        await act(change, hunks && new Set(hunks));
        done.push({ path, hunks: hunks?.length ?? change.text.hunks.length });
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        problems.push(error.message);
      }
    }
    const result = done.length > 0 ? [`${verb} ${summary(done)}.`] : [];
    if (result.length + problems.length === 0) result.push("No unreviewed changes.");
    const text = [...result, problems.join("; ")].filter((part) => part !== "").join(" ");
    bridge.tell("message", { level: problems.length > 0 ? "warn" : "info", text });
  }

  async function undoIn(before: FileChange, ids: Set<number> | undefined): Promise<void> {
    const { path } = before;
    if (files.isAwaited(path)) throw new Refusal(`${path} is being changed by the agent: try again`);
    const change = await sync(before);
    if (change.fixed !== undefined) throw new Refusal(`${path} cannot be undone: ${change.fixed}`);
    const next = undone(change, ids);
    const others = change.text.hunks.filter(({ id }) => ids?.has(id) === false).map(({ id }) => id);
    const left = next.text.hunks.filter(({ id, conflict }) => conflict && !others.includes(id)).length;
    if (textOf(next) !== textOf(change)) {
      await restore(path, textOf(change), textOf(next), change.mode);
      files.set({ ...next, version: (await readDiskFile(path)).version });
    }
    const hunks =
      left === 1 ? "1 hunk stays: you have edited it" : `${left} hunks stay: you have edited them`;
    if (left > 0) throw new Refusal(`${basename(path)}: ${hunks} since the agent wrote it (conflict)`);
  }

  void inTurn(async () => {
    const saved = await memory.load();
    prompts.restore(saved.turns);
    for (const change of files.restore(saved)) await sync(change);
  });

  return {
    listener: (event) => inTurn(() => take(event)),
    agreed: (filePath, hashes) =>
      void inTurn(async () => {
        const path = await realPath(filePath);
        agreements.set(path, new Set([...(agreements.get(path) ?? []), ...hashes]));
      }),
    handlers: {
      ...createPast({ bridge, history, inTurn, restored }),
      file_written: ({ path }) =>
        inTurn(async () => {
          const real = await realPath(path);
          await syncPath(real);
          for (const { look } of looks.values()) look.written(real, await readDiskFile(real));
        }),
      changes_keep: (chosen) =>
        inTurn(() => decide("Kept", chosen, async (change, ids) => files.set(kept(change, ids)))),
      changes_undo: (chosen) => inTurn(() => decide("Undid", chosen, undoIn)),
      change_lines_asked: ({ path }) =>
        inTurn(() => {
          const change = files.get(path);
          if (change) bridge.tell("change_lines", { path, hunks: oldLines(change.text) });
        }),
      deleted_text_asked: ({ path }) =>
        inTurn(() => {
          const change = files.get(path);
          if (change) bridge.tell("deleted_text", { path, lines: shownLines(textOf(undone(change)) ?? "") });
        }),
    },
    close() {
      files.close();
      memory.close();
    },
  };
}
