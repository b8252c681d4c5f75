/** The context that Gemini CLI is told: the editor's snapshots, held against the disk. */
import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { type IdeContext, MAX_OPEN_FILES } from "../contract/companion.ts";
import type { Shared, Snapshot } from "../contract/neovim.ts";
import { createFiles, type Files, type FilesOptions } from "../sharing/files.ts";
import { IGNORE_FILE } from "../sharing/ignore/files.ts";
import { createFileWatch } from "../system/watch.ts";
import { type Active, createOpenBuffers, type OpenBuffer } from "./open-buffers.ts";
import { openFiles } from "./open-files.ts";

/** More files than are listed are held against the disk when some of those focused last are not there. */
const MAX_WATCHED = 3 * MAX_OPEN_FILES;

/** The log has the others. */
const MAX_PROBLEMS = 5;

type Look = ReturnType<Files["look"]>;

export interface Context {
  /** @returns the new context, or `undefined` when nothing has changed. */
  apply(snapshot: Snapshot): IdeContext | undefined;
  current(): IdeContext;
  /** The same for the user, and what is kept from the CLI. */
  shared(): Shared;
  /** Stops looking at the disk until the next snapshot. May run twice. */
  close(): void;
}

export interface ContextOptions {
  /** The context is another one because a file has come or gone on disk. */
  changed?: () => void;
  report?: FilesOptions["report"];
}

/** Nothing to share, which differs from nothing said: the CLI forgets what it was told before. */
const EMPTY: IdeContext = { workspaceState: { openFiles: [] } };

export function createContext({ changed = () => {}, report }: ContextOptions = {}): Context {
  const buffers = createOpenBuffers();
  const started = Date.now();
  let current = EMPTY;
  /** The active file as far as it is a file: a new one, not yet written, does not take its place. */
  let active: Active | undefined;
  /** The active file must not be shared. */
  let excluded: string | undefined;
  const lookAgain = () => {
    if (refresh()) changed();
  };
  const watch = createFileWatch(lookAgain);
  const files = createFiles({ report, answered: lookAgain });

  /** @returns the file that the user looks at, when it must not be shared. */
  function chooseActive(look: Look): string | undefined {
    const wanted = buffers.active();
    const path = wanted && buffers.path(wanted.bufnr);
    const verdict = path && look(path);
    if (verdict && verdict !== "absent") active = wanted;
    else if (active && (active.bufnr === wanted?.bufnr || !buffers.path(active.bufnr))) active = undefined;
    return verdict === "excluded" ? path : undefined;
  }

  /** The first buffers that are files to share. */
  function chooseFiles(look: Look): OpenBuffer[] {
    const chosen: OpenBuffer[] = [];
    const looked: string[] = [];
    for (const buffer of buffers.all()) {
      if (chosen.length === MAX_OPEN_FILES) break;
      if (look(buffer.path) === "shared") chosen.push(buffer);
      if (looked.length < MAX_WATCHED) looked.push(buffer.path);
    }
    const rules = looked.map((path) => join(dirname(path), IGNORE_FILE));
    watch.set([...looked, ...rules, ...files.ignoreFiles()]);
    return chosen;
  }

  function close(): void {
    watch.close();
    files.close();
  }

  function build(): { next: IdeContext; keptBack?: string | undefined } {
    const { paused, trusted, exclude } = buffers.sharing();
    if (paused) {
      close();
      return { next: EMPTY };
    }
    const look = files.look(exclude);
    const keptBack = chooseActive(look);
    const listed = openFiles(chooseFiles(look), active, started);
    const isTrusted = trusted === undefined ? {} : { isTrusted: trusted };
    return { next: { workspaceState: { openFiles: listed, ...isTrusted } }, keptBack };
  }

  function refresh(): IdeContext | undefined {
    const { next, keptBack } = build();
    excluded = keptBack;
    if (isDeepStrictEqual(next, current)) return undefined;
    current = next;
    return next;
  }

  return {
    apply(snapshot) {
      buffers.add(snapshot);
      return snapshot.more ? undefined : refresh();
    },
    current: () => current,
    shared() {
      const openFiles = current.workspaceState?.openFiles ?? [];
      const looked = openFiles.find(({ isActive }) => isActive);
      return {
        paused: buffers.sharing().paused,
        files: openFiles.map(({ path }) => path),
        active: looked?.path,
        selected: looked?.selectedText?.length,
        excluded,
        unusable: files.problems().slice(0, MAX_PROBLEMS),
      };
    },
    close,
  };
}
