/** The changes that agents make without a review: found around each edit, shown, and kept or undone as the user says. */
import { basename } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../base/log.ts";
import { createPauses } from "../base/pauses.ts";
import { Refusal } from "../base/refusal.ts";
import type { ChosenChanges, changeEvents } from "../contract/changes.ts";
import type { Agent, AgentEvent } from "../contract/hooks.ts";
import type { Boot } from "../contract/neovim.ts";
import type { Bridge, EventHandlers } from "../neovim/bridge.ts";
import { realPath, type Sighting, see, seeStill, versionAt } from "../system/sighting.ts";
import type { UserFiles } from "../system/user-files.ts";
import type { ChangeMemory } from "./change-memory.ts";
import { createChangedFiles } from "./changed-files.ts";
import type { RestoredCommand } from "./command-memory.ts";
import type { OpenPlaces } from "./commands.ts";
import { type FileChange, follow, kept, obstacle, sightingOf, textOf, undone } from "./file-change.ts";
import type { History } from "./history.ts";
import { createPast } from "./past.ts";
import type { Prompts } from "./prompts.ts";
import { findRenamed } from "./renamed-file.ts";
import { oldLines, shownLines } from "./shown-lines.ts";
import { createTracker } from "./tracker.ts";

/** Timeout for Lua, which cannot answer while a prompt is open (ms). */
const LUA_TIMEOUT_MS = 200;

/** After a longer absence, too much may have happened that no command did (ms). */
const MAX_ABSENCE_MS = 10_000;

export interface Changes {
  /**
   * Takes what a hook tells. Never rejects.
   * @param begun aborted when the tool that starts begins, though its files may not have been looked at yet
   * @returns when the tool may begin
   */
  listener(event: AgentEvent, begun?: AbortSignal): Promise<void>;
  /** The user has agreed to texts of a file, given by their hashes: what makes it so is no change. */
  agreed(path: string, hashes: readonly string[]): void;
  readonly handlers: Pick<EventHandlers, keyof typeof changeEvents>;
  /** Stops looking at the disk. Resolves when the next host can continue. May run twice. */
  close(): Promise<void>;
}

function withoutSnapshot(command: RestoredCommand): RestoredCommand {
  return { ...command, snapshot: undefined };
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
  /** The name of the terminal in which an agent runs, as far as known. */
  terminalOf(agent: Agent): string | undefined;
  /** What the host before this one knew. */
  memory: ChangeMemory;
  prompts: Prompts;
  history: History;
  userFiles: UserFiles;
  stateDirectory: string;
  absence: Boot["absence"];
  /** The directories that were open in Neovim at the start. */
  directories: readonly string[];
  log: Log;
}

export function createChanges(options: ChangesOptions): Changes {
  const {
    bridge,
    terminalOf,
    memory,
    prompts,
    history,
    userFiles,
    stateDirectory,
    absence,
    directories,
    log,
  } = options;
  const files = createChangedFiles({ bridge, memory, look: (paths) => void inTurn(() => lookAgain(paths)) });
  const tracker = createTracker({
    bridge,
    terminalOf,
    files,
    prompts,
    history,
    memory: memory.commands,
    stateDirectory,
    directories,
    inTurn,
    openPlaces,
    resumed: () => resumed,
  });
  let last: Promise<void> = Promise.resolve();
  const pause = createPauses();

  /** One after the other: each says what it means that a file is as it is, before the next one does. */
  function inTurn(run: () => void | Promise<void>): Promise<void> {
    const done = last.then(run).catch((error: unknown) => {
      if (error instanceof Refusal) bridge.tell("message", { level: "warn", text: error.message });
      else log.error("changes:", error);
    });
    last = done.then(pause);
    return done;
  }

  async function openPlaces(): Promise<OpenPlaces | undefined> {
    const open = await Promise.race([
      bridge.call("files_open", {}).catch(() => undefined),
      delay(LUA_TIMEOUT_MS, undefined, { ref: false }),
    ]);
    return open && { files: open.paths, directories: open.directories };
  }

  async function restored(path: string, now: Sighting): Promise<void> {
    bridge.tell("file_changed", { path });
    await wroteHere(path, now);
  }

  /** While a command runs, nobody knows whose doing it is: that is looked at when it ends. */
  async function lookAgain(paths: ReadonlySet<string>): Promise<void> {
    if (tracker.areCommandsRunning) return;
    for (const path of paths) {
      if (!files.isAwaited(path)) await syncPath(path);
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

  async function undoIn({ path }: FileChange, ids: Set<number> | undefined): Promise<void> {
    await tracker.resolveGone();
    const agent = files.isAwaited(path);
    if (agent)
      throw new Refusal(`${path} is being changed by ${agent.cli}: answer its question, or try again later`);
    await syncPath(path);
    const change = files.get(path);
    if (!change) return;
    const reason = obstacle(change);
    if (reason !== undefined) throw new Refusal(`${path} cannot be undone: ${reason}`);
    const next = undone(change, ids);
    const others = change.text.hunks.filter(({ id }) => ids?.has(id) === false).map(({ id }) => id);
    const left = next.text.hunks.filter(({ id, conflict }) => conflict && !others.includes(id)).length;
    if (change.opaque || textOf(next) !== textOf(change)) {
      const isWhole = next.text.hunks.length === 0;
      const metadata = isWhole || !change.exists ? change.metadata : undefined;
      const now = await userFiles.replace(path, sightingOf(change), { text: textOf(next), metadata });
      tracker.settled(path, now);
      files.set({ ...next, version: now.version, lastMetadata: now.metadata });
    }
    const hunks =
      left === 1 ? "1 hunk stays: you have edited it" : `${left} hunks stay: you have edited them`;
    if (left > 0) throw new Refusal(`${basename(path)}: ${hunks} since the agent wrote it (conflict)`);
  }

  /** Takes what the disk holds by now, although nobody has reported a write. */
  async function syncPath(path: string): Promise<void> {
    const change = files.get(path);
    if (!change || (await versionAt(path)) === change.version) return;
    const { areCommandsRunning } = tracker;
    const now = await seeStill(path);
    // If an agent has begun meanwhile, its file is compared when that is handled in turn.
    if (files.isAwaited(path) || tracker.areCommandsRunning !== areCommandsRunning) return;
    if (now.kind === "absent" && change.exists && !areCommandsRunning) await followRename(change);
    tracker.catchUp(change, now);
  }

  /** Lists the change under the new name of its file. */
  async function followRename(change: FileChange): Promise<void> {
    const name = await findRenamed(change, (await openPlaces())?.files ?? []);
    if (name !== undefined && !files.get(name)) files.set(follow({ ...change, path: name }, await see(name)));
  }

  async function wroteHere(path: string, now: Sighting): Promise<void> {
    tracker.settled(path, now);
    const change = files.get(path);
    if (change && now.version !== change.version) files.set(follow(change, now));
  }

  /** Continues with what an earlier host knew. */
  async function resume() {
    const saved = await memory.load();
    const agents = saved.awaited.map(({ agent }) => agent);
    const isLong = absence !== undefined && absence.duration > MAX_ABSENCE_MS;
    tracker.resume(agents, isLong ? saved.commands.map(withoutSnapshot) : saved.commands);
    const written = await Promise.all((absence?.written ?? []).map(seeWritten));
    return { saved, written };
  }

  const resumed = resume();
  void inTurn(async () => {
    const { saved, written } = await resumed;
    prompts.restore(saved.turns);
    const unawaited = files.restore(saved);
    for (const { path, now } of written) await wroteHere(path, now);
    for (const { path } of unawaited) await syncPath(path);
    await tracker.resolveGone();
  });

  /** Sees a file that the user has written, which no running command did. */
  async function seeWritten(named: string): Promise<{ path: string; now: Sighting }> {
    const path = await realPath(named);
    const now = await see(path);
    tracker.settled(path, now);
    return { path, now };
  }

  const never = new AbortController().signal;
  return {
    listener: (event, begun = never) =>
      tracker.hear(event, begun).catch((error) => log.error("changes:", error)),
    agreed: tracker.agreed,
    handlers: {
      ...createPast({ bridge, history, inTurn, userFiles, restored }),
      file_written({ path: named }) {
        const seen = resumed.then(() => seeWritten(named));
        return inTurn(async () => {
          const { path, now } = await seen;
          await wroteHere(path, now);
        });
      },
      changes_keep: (chosen) =>
        inTurn(() =>
          decide("Kept", chosen, async (change, ids) => {
            history.kept(change.path);
            files.set(kept(change, ids));
          }),
        ),
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
    async close() {
      files.close();
      await tracker.close();
      await memory.close();
    },
  };
}
