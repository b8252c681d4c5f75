/** The context that Gemini CLI is told: the editor's snapshots, held against the disk. */
import type { Snapshot } from "../nvim/protocol.ts";
import { createFiles, type Files } from "./files.ts";
import { type Active, createHistory, type OpenBuffer } from "./history.ts";
import { type File, type IdeContext, MAX_OPEN_FILES, MAX_SELECTED_TEXT } from "./wire.ts";

/** After these events of Neovim's the context may be another one. */
export const CONTEXT_EVENTS = [
  "BufAdd",
  "BufDelete",
  "BufEnter",
  "BufFilePost",
  "BufWipeout",
  "BufWritePost",
  "CmdlineLeave",
  "CursorMoved",
  "CursorMovedI",
  "FocusGained",
  "ModeChanged",
  "OptionSet",
  "ShellCmdPost",
  "TextChangedP",
  "WinEnter",
] as const;

export interface Context {
  /** @returns the new context, or `undefined` when nothing has changed. */
  apply(snapshot: Snapshot): Promise<IdeContext | undefined>;
  current(): IdeContext;
}

/** Nothing to share, which differs from nothing said: the CLI forgets what it was told before. */
const EMPTY: IdeContext = { workspaceState: { openFiles: [] } };

export function createContext(files: Files = createFiles()): Context {
  const history = createHistory();
  const opened = Date.now();
  let current = EMPTY;
  /** The active file as far as it is a file: a new one, not yet written, does not take its place. */
  let active: Active | undefined;
  let queue: Promise<unknown> = Promise.resolve();

  async function chooseActive(): Promise<void> {
    const wanted = history.active();
    const path = wanted && history.path(wanted.bufnr);
    if (!wanted || !path) {
      active = undefined;
      return;
    }
    const [verdict] = await files.look([path], history.sharing().exclude);
    if (verdict !== "absent") active = wanted;
    else if (active && (active.bufnr === wanted.bufnr || !history.path(active.bufnr))) active = undefined;
  }

  /** The first buffers that are files to share. */
  async function chooseFiles(): Promise<OpenBuffer[]> {
    const chosen: OpenBuffer[] = [];
    const buffers = history.buffers();
    for (let at = 0; at < buffers.length && chosen.length < MAX_OPEN_FILES; at += MAX_OPEN_FILES) {
      const some = buffers.slice(at, at + MAX_OPEN_FILES);
      const verdicts = await files.look(
        some.map(({ path }) => path),
        history.sharing().exclude,
      );
      chosen.push(...some.filter((_, index) => verdicts[index] === "shared"));
    }
    return chosen.slice(0, MAX_OPEN_FILES);
  }

  async function build(): Promise<IdeContext> {
    const { paused, trusted } = history.sharing();
    if (paused) return EMPTY;
    await chooseActive();
    const openFiles = describe(await chooseFiles(), active, opened);
    return { workspaceState: { openFiles, ...(trusted === undefined ? {} : { isTrusted: trusted }) } };
  }

  async function step(snapshot: Snapshot): Promise<IdeContext | undefined> {
    history.add(snapshot);
    if (snapshot.more) return undefined;
    const next = await build();
    if (JSON.stringify(next) === JSON.stringify(current)) return undefined;
    current = next;
    return next;
  }

  return {
    apply(snapshot) {
      const result = queue.then(() => step(snapshot));
      queue = result.catch(() => {});
      return result;
    },
    current: () => current,
  };
}

/** Files on the wire, the newest first. Their order is all in the timestamps, so no two may be alike. */
function describe(buffers: readonly OpenBuffer[], active: Active | undefined, opened: number): File[] {
  let before = Number.POSITIVE_INFINITY;
  return buffers.map(({ bufnr, path, focused }) => {
    before = Math.min(focused ?? opened, before - 1);
    const file: File = { path, timestamp: before };
    if (bufnr !== active?.bufnr) return file;
    const { line, character, selection } = active;
    const selectedText = selection && limit(selection, MAX_SELECTED_TEXT);
    return {
      ...file,
      isActive: true,
      cursor: { line, character },
      ...(selectedText ? { selectedText } : {}),
    };
  });
}

/** The beginning of a text, at most `units` UTF-16 units long and not ending within a character as users see it. */
export function limit(text: string, units: number): string {
  if (text.length <= units) return text;
  // A character starts after the last line break at the latest, and none is longer than this.
  const from = Math.max(text.lastIndexOf("\n", units - 1) + 1, units - 256);
  let end = from;
  for (const { segment, index } of new Intl.Segmenter().segment(text.slice(from, units + 256))) {
    if (from + index + segment.length > units) break;
    end = from + index + segment.length;
  }
  return text.slice(0, end);
}
