/**
 * Detects which changes agents make with edits and shell commands. Uses the events of the CLIs' hooks to distinguish
 * these changes from those of the user and other programs.
 */
import { createYielder } from "../base/work-slices.ts";
import type { Agent, AgentEvent, Begun, EditTexts, Tool } from "../contract/hooks.ts";
import { type FileState, readState, realPath, unknown } from "../system/file-state.ts";
import type { AgentTurns } from "./agent-turns.ts";
import { createAgreements } from "./agreements.ts";
import { type BegunTools, forget, hasBegunAfter, keyOf } from "./begun-tools.ts";
import type { ChangedFiles } from "./changed-files.ts";
import { LATE } from "./command-snapshot.ts";
import { type CommandResult, createCommands, type EarlierWrite, type OpenPlaces } from "./commands.ts";
import { type FileChange, fileStateOf, follow, textsOf } from "./file-change.ts";
import type { History } from "./history.ts";
import { beforeTold } from "./told-texts.ts";
import { type Agents, createAgents } from "./working-agents.ts";

const NOT_SEEN = "the bridge was not running when a command began";

interface Tracker {
  /** Handles a hook event. The promise resolves when the tool may begin. */
  handle(event: AgentEvent, begun: Begun): Promise<void>;
  /**
   * Records that the user has accepted texts for a file. When an agent writes such a text, this does not count as an
   * unreviewed change.
   * @param hashes the hashes of these texts
   */
  agreed(path: string, hashes: readonly string[]): void;
  /** Records that the user or an undo has written a file, so that the write is not attributed to a running command. */
  settled(path: string, now: FileState): void;
  areCommandsRunning(): boolean;
  /** Updates a change record from the state on disk after a write that no hook has reported. */
  catchUp(change: FileChange, now: FileState): void;
  /**
   * Finds out what running commands have changed in a file so far.
   * @returns a function that lists these changes. `enqueue` must run the function
   */
  look(path: string, now: FileState): () => Promise<void>;
  /**
   * Ends the turns of agents whose processes have ended (see {@link Agents.findGone}). Handles earlier events of these
   * agents first. A function that `enqueue` runs must not await the result, because the function would wait for itself.
   */
  resolveGone(cli?: string): Promise<void>;
  /** Stops tracking. Idempotent. */
  close(): void;
}

export interface TrackerOptions {
  /** Ends a turn in the history, and reports the changes of the turn. */
  report(agent: Agent): void;
  /** Called when the process of a working agent has ended. */
  gone(agent: Agent): void;
  files: ChangedFiles;
  turns: AgentTurns;
  history: History;
  /** Directory of the plugin's own files. These files are not tracked. */
  stateDirectory: string;
  /** Returns the files and directories that are open in Neovim. */
  openPlaces(): Promise<OpenPlaces>;
  /** Called when a command has ended and its changes are known. */
  commandEnded(): void;
  /** Runs functions one after the other. */
  enqueue(run: () => void | Promise<void>): Promise<void>;
}

/** Path of a file, and its state when the hook event arrived. */
interface Seen {
  readonly path: string;
  readonly now: FileState;
}

/** State of a file before an edit, and what a running command may have changed in the file before. */
interface SeenBefore extends Seen {
  readonly earlier: Promise<EarlierWrite | undefined>;
}

export function createTracker(options: TrackerOptions): Tracker {
  const { files, turns, history, openPlaces, enqueue } = options;
  const commands = createCommands(options.stateDirectory);
  const agents = createAgents({ gone: () => void resolveGone(), changed: files.follow });
  const agreements = createAgreements();
  let arrivals = 0; // number of hook events so far
  /**
   * Real path of each file that is being edited, by agent and path. The path is resolved only once, because a symbolic
   * link may change during the edit.
   */
  const places = new Map<string, { path: string; arrival: number }>();
  /** Edits for which the CLI asked the user before the tool started, as Qwen Code does. By agent and path. */
  const asked: BegunTools = new Map();
  const begunCommands: BegunTools = new Map();
  /** Commands whose turn ended before the end of the command was reported. The report may still come. */
  const unended: BegunTools = new Map();
  /**
   * For each file that a command has changed while an agent was about to edit the file: the change, and the version of
   * the file's change record then. If the agent does not edit the file, the change is attributed to the command.
   */
  const unclear = new Map<string, { agent: Agent; after: FileState; since: string | undefined }>();

  /** Reads the file at once, even if earlier events are still waiting to be handled. */
  async function readBeforeEdit(agent: Agent, filePath: string, begun: Begun): Promise<SeenBefore> {
    const arrival = arrivals;
    const path = await realPath(filePath);
    places.set(keyOf(agent, filePath), { path, arrival });
    files.await(agent, path, arrival);
    const now = await readState(path);
    const seen = begun.aborted ? unknown(LATE) : now;
    commands.editing(path, seen);
    return { path, now: seen, earlier: findEarlier(path, seen).catch(() => undefined) };
  }

  /** Finds out whether a running command has changed a file. */
  async function findEarlier(path: string, now: FileState): Promise<EarlierWrite | undefined> {
    return now.kind === "unknown" ? undefined : (await commands.earlier(new Map([[path, now]]))).get(path);
  }

  /** Lists what a running command has changed in a file that is not listed yet. @returns the new change record */
  function takeEarlier(path: string, now: FileState, earlier?: EarlierWrite): FileChange | undefined {
    if (!earlier || agreements.has(path, now)) return undefined;
    wrote(earlier.agent, files.begin(path, earlier.before, turns.authorOf(earlier.agent)), now);
    return files.get(path);
  }

  async function readAfterEdit(agent: Agent, filePath: string): Promise<Seen> {
    const path = places.get(keyOf(agent, filePath))?.path ?? (await realPath(filePath));
    places.delete(keyOf(agent, filePath));
    const now = await readState(path);
    commands.settled(path, now);
    return { path, now };
  }

  /**
   * Handles the start of an edit.
   * @param isAsked true if the CLI has already asked the user. The user may then have accepted the text
   */
  async function editStarts(agent: Agent, seen: SeenBefore, isAsked: boolean): Promise<void> {
    const { path, now } = seen;
    const known = files.get(path) ?? takeEarlier(path, now, await seen.earlier);
    if (!isAsked) agreements.forget(path);
    const other = files.awaitingAgent(path, agent);
    if (known && !other) catchUp(known, now, commands.runner);
    else if (!known) files.set(files.begin(path, now, turns.authorOf(agent)));
  }

  /** Returns the change record of a file before an edit. @param known the record that exists */
  async function recordBefore(agent: Agent, seen: Seen, known?: FileChange, texts?: EditTexts) {
    if (known && (known.reason !== LATE || known.touched)) return known;
    const author = turns.authorOf(agent);
    const told = await beforeTold(seen, texts, author.turn, openPlaces);
    return known && told.kind === "unknown" ? known : files.begin(seen.path, told, author);
  }

  async function editEnds(agent: Agent, seen: Seen, failed: boolean, texts?: EditTexts): Promise<void> {
    const { path, now } = seen;
    takeUnclear(path, failed ? undefined : now);
    const known = files.get(path);
    const isReviewed = agreements.take(path, now);
    // No hook reported the start of this edit, for example because the host process was not running.
    if (!known && (failed || isReviewed)) return;
    const before = await recordBefore(agent, seen, known, texts);
    if (isReviewed) {
      const after = follow(before, now);
      history.agreed(path, textsOf(before, after));
      files.set(after);
    } else wrote(agent, before, now);
    files.arrived(agent, path);
  }

  /** Handles the start of a tool. Reads files at once, but handles the result only after earlier events. */
  async function toolStarts(agent: Agent, tool: Tool, begun: Begun): Promise<void> {
    if (tool.kind === "edit") {
      const isAsked = asked.delete(keyOf(agent, tool.filePath));
      const seen = readBeforeEdit(agent, tool.filePath, begun);
      void enqueue(async () => editStarts(agent, await seen, isAsked));
      await seen;
    } else if (tool.kind === "shell") {
      const { runner } = commands;
      begunCommands.set(keyOf(agent, tool.command), { arrival: arrivals });
      const before = commandStarts(agent, tool.command, begun);
      void enqueue(async () => takeBefore(await before, runner));
      await before;
    }
  }

  async function toolEnds(agent: Agent, event: AgentEvent & { kind: "tool_ended" }): Promise<void> {
    const { tool, failed, texts } = event;
    if (tool.kind === "edit") {
      const seen = readAfterEdit(agent, tool.filePath);
      await enqueue(async () => editEnds(agent, await seen, failed, texts));
    } else if (tool.kind === "shell") {
      const result = commands.end(agent, tool.command);
      await enqueue(async () => {
        const found = await result;
        if (found) return commandEnds(agent, found);
        if (!unended.delete(keyOf(agent, tool.command))) turns.missed(agent, NOT_SEEN);
      });
    }
  }

  async function commandStarts(agent: Agent, command: string, begun: Begun): Promise<Map<string, FileState>> {
    const places = await openPlaces();
    const known = [...places.files, ...files.known().map(({ path }) => path)];
    const snapshot = await commands.start(agent, command, { ...places, files: known }, begun);
    return snapshot.files;
  }

  /**
   * Updates the known change records from the snapshot before a command.
   * @param runner agent of an earlier command that is still running. Unreported differences are attributed to this
   * agent
   */
  function takeBefore(snapshot: ReadonlyMap<string, FileState>, runner: Agent | undefined): void {
    for (const change of files.known()) {
      const now = snapshot.get(change.path);
      if (now && !files.awaitingAgent(change.path)) catchUp(change, now, runner);
    }
  }

  /**
   * Compares a file with its last known state. Attributes a difference to `agent`, or to the user if `agent` is
   * undefined.
   */
  function catchUp(change: FileChange, now: FileState, agent: Agent | undefined): void {
    if (now.version === change.version) return;
    if (agent) {
      commands.noticed(fileStateOf(change), change.path, now);
      wrote(agent, change, now);
    } else files.set(follow(change, now));
  }

  /**
   * Attributes a change of a command to this command after another agent's edit of the file has ended.
   * @param now state after the edit; undefined if the edit was not made. If the state is still the same as after the
   * command, the author is unknown
   */
  function takeUnclear(path: string, now?: FileState): void {
    const found = unclear.get(path);
    const change = files.get(path);
    unclear.delete(path);
    if (!found || !change || found.since !== change.version) return;
    if (now?.version !== found.after.version) catchUp(change, found.after, found.agent);
  }

  async function commandEnds(agent: Agent, result: CommandResult | undefined): Promise<void> {
    if (!result) return;
    const yieldIfDue = createYielder();
    for (const gap of result.gaps) turns.missed(agent, gap);
    for (const { path, before, after, isBeforeEdit, earlier } of result.written) {
      await yieldIfDue();
      if (files.awaitingAgent(path) && !isBeforeEdit) {
        unclear.set(path, { agent, after, since: files.get(path)?.version });
        continue;
      }
      const known = files.get(path) ?? takeEarlier(path, before, earlier);
      const change = known ?? files.begin(path, before, turns.authorOf(agent));
      if (agreements.take(path, after)) files.set(follow(change, after));
      else wrote(agent, change, after);
    }
    options.commandEnded();
  }

  function wrote(agent: Agent, before: FileChange, now: FileState): void {
    if (now.version === before.version) return;
    const author = turns.authorOf(agent);
    const after = follow(before, now, author);
    files.set(after, { agent });
    turns.changed(agent, before.path);
    const texts = textsOf(before, after);
    if (texts && texts.before !== texts.after) history.wrote(agent, author, before, texts);
  }

  /**
   * Handles the end of a turn. Commands and edits of the turn may not have ended yet: compares their files with the
   * disk, and stops tracking them.
   * @param arrival number of the event that has ended the turn. What has begun later is left alone
   * @param isGone true if the agent's process has ended. Its pending edits may then have happened without a report. A
   * running process reports the end of every edit
   */
  async function turnEnds(agent: Agent, arrival: number, isGone: boolean): Promise<void> {
    const isOver = (command: string) => !hasBegunAfter(arrival, begunCommands, agent, command);
    for (const command of commands.ofAgent(agent).filter(isOver)) {
      unended.set(keyOf(agent, command), { arrival: 0 });
      await commandEnds(agent, await commands.end(agent, command));
    }
    for (const path of files.awaitedBy(agent, arrival)) {
      takeUnclear(path);
      const change = files.get(path);
      if (change) catchUp(change, await readState(path), isGone ? agent : commands.runner);
    }
    files.abandon(agent, arrival);
    [places, asked, begunCommands].map((known) => forget(known, agent, arrival));
    if (!agents.areAtWork) commands.forget();
    options.report(agent);
  }

  async function resolveGone(cli?: string): Promise<void> {
    const gone = agents.findGone(cli);
    if (gone.length === 0) return;
    // Uses the queue, because earlier events of these agents may still be waiting there.
    await enqueue(async () => {
      for (const agent of gone) {
        if (!agents.end(agent)) continue;
        options.gone(agent);
        await turnEnds(agent, Number.POSITIVE_INFINITY, true);
      }
    });
  }

  return {
    handle(event, begun) {
      const agent = agents.handle(event);
      arrivals += 1;
      const arrival = arrivals;
      switch (event.kind) {
        case "turn_started":
          // The CLI itself has sent this prompt. Later changes still belong to the user's last prompt.
          if (event.isOwn) return enqueue(() => turns.goOn(agent, event.turn));
          return enqueue(async () => {
            // The user may have sent this prompt during the turn. Then commands and edits are still running.
            if (turns.isRunning(agent, event.turn)) options.report(agent);
            else await turnEnds(agent, arrival, false);
            forget(unended, agent, arrival);
            turns.begin(agent, event.prompt, event.turn);
          });
        case "tool_starting":
          return toolStarts(agent, event.tool, begun);
        case "tool_ended":
          return toolEnds(agent, event);
        case "turn_ended":
          return enqueue(() => {
            turns.goesOn(agent);
            return turnEnds(agent, arrival, false);
          });
        case "session_ended":
          return enqueue(() => turnEnds(agent, arrival, false));
        case "permission_asked": {
          const key = event.tool.kind === "edit" ? keyOf(agent, event.tool.filePath) : undefined;
          // Ignores questions that come during the edit, such as those of Gemini CLI.
          if (key !== undefined && !places.has(key)) asked.set(key, { arrival });
        }
      }
      return enqueue(() => {}); // resolves after the earlier events
    },
    agreed(filePath, hashes) {
      const real = realPath(filePath);
      void enqueue(async () => agreements.add(await real, hashes));
    },
    settled: commands.settled,
    areCommandsRunning: () => commands.runner !== undefined,
    catchUp: (change, now) => catchUp(change, now, commands.runner),
    look(path, now) {
      const earlier = findEarlier(path, now).catch(() => undefined);
      return async () => {
        const known = files.get(path);
        if (files.awaitingAgent(path)) return;
        if (known) catchUp(known, now, commands.runner);
        else takeEarlier(path, now, await earlier);
      };
    },
    resolveGone,
    close: agents.close,
  };
}
