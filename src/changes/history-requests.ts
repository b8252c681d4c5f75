/** Handles requests of `:GeminiHistory`: sends history entries to Neovim, and undoes their changes. */
import { basename } from "node:path";
import { Refusal } from "../base/refusal.ts";
import type { ShownEntry } from "../contract/requests.ts";
import type { Bridge, Handlers } from "../neovim/bridge.ts";
import { ABSENT, type FileState, readState, realPath } from "../system/file-state.ts";
import { isBelow } from "../system/path-relations.ts";
import type { UserFiles } from "../system/user-files.ts";
import type { ShellCommands } from "./commands/shell-commands.ts";
import { bufferLines } from "./difference/compare-lines.ts";
import { authorOf, beginChange, follow, isChanged, obstacle, textOf, undone } from "./file-change.ts";
import type { DiskFollower } from "./follow-disk.ts";
import type { Entry, History, KnownEntry } from "./history.ts";
import { tellResult, tryEach } from "./tell-result.ts";

type HistoryHandlers = Pick<Handlers, "history" | "history_texts" | "history_undo">;

const UNKNOWN = "the history no longer has the text of this entry, or the file is not shared";

interface HistoryRequestsOptions {
  bridge: Bridge;
  history: History;
  /** Runs functions one after the other. @returns the result of the function. @throws its error */
  inOrder<T>(run: () => T | Promise<T>): Promise<T>;
  userFiles: UserFiles;
  disk: Pick<DiskFollower, "prepare" | "wroteHere">;
  commands: Pick<ShellCommands, "runner" | "noticed">;
}

export function answerHistoryRequests({
  bridge,
  history,
  inOrder,
  userFiles,
  disk,
  commands,
}: HistoryRequestsOptions): HistoryHandlers {
  return {
    history: ({ directories }) =>
      inOrder(async () => {
        const open = await Promise.all(directories.map(realPath));
        const isOpen = ({ path }: Entry) => open.some((directory) => isBelow(path, directory));
        return history.list().filter(isOpen).map(shown);
      }),
    history_texts: ({ id }) =>
      inOrder(() => {
        const texts = history.read([id]).get(id)?.texts;
        if (!texts) throw new Refusal(UNKNOWN);
        return { before: bufferLines(texts.before ?? ""), after: bufferLines(texts.after ?? "") };
      }),
    history_undo: ({ ids }) =>
      inOrder(async () => {
        const entries = history.read(ids);
        const undoneEntries: Entry[] = [];
        const problems: string[] = [];
        // The ids have the order of the list: newest first.
        await tryEach(ids, problems, async (id) => {
          const entry = entries.get(id);
          if (!entry) throw new Refusal(UNKNOWN);
          const left = await undoEntry(entry);
          if (left === undefined) undoneEntries.push(entry);
          else problems.push(left);
        });
        tellResult(bridge, summaryOf(undoneEntries), problems);
        return undoneEntries.map(({ id }) => id);
      }),
  };

  /**
   * Undoes the change of a history entry.
   * @returns a message if some lines could not be undone
   * @throws {Refusal} if nothing could be undone
   */
  async function undoEntry(entry: KnownEntry): Promise<string | undefined> {
    const { path, texts } = entry;
    const author = authorOf(entry);
    // Compares the file with the disk first, so that the undo does not hide a write that was not reported yet.
    await disk.prepare(path);
    const found = await readState(path);
    if (commands.runner) commands.noticed(path, { from: found, isUser: true });
    // Treats all later changes of the file as changes by the user, even if an agent made them.
    const begun = beginChange(path, fileOf(texts.before), author);
    const change = follow(follow(begun, fileOf(texts.after), author), found);
    const reason = obstacle(change);
    if (reason !== undefined) throw new Refusal(`${path} cannot be restored: ${reason}`);
    if (!isChanged(change))
      throw new Refusal(`There is nothing to undo, because ${path} no longer contains this change`);
    const next = undone(change);
    if (textOf(next) === textOf(change))
      throw new Refusal(`${path} was not changed, because the lines of this change were edited later`);
    const metadata = found.kind === "absent" ? entry.metadata : undefined;
    const wanted = { text: textOf(next), metadata, mayBeReadOnly: true };
    const now = await userFiles.replace(path, found, wanted);
    bridge.tell("file_changed", { path });
    disk.wroteHere(path, now);
    const isPartial = next.text.hunks.length > 0;
    return isPartial ? `${path} keeps some lines of this change, because they were edited later` : undefined;
  }
}

function summaryOf(entries: readonly Entry[]): string[] {
  const [first, ...others] = entries;
  if (!first) return [];
  if (others.length > 0) return [`Undid ${entries.length} changes.`];
  return [`Undid the change of ${first.cli} in ${basename(first.path)}.`];
}

function fileOf(text: string | null): FileState {
  return text === null ? ABSENT : { kind: "known", text, version: `history ${text.length}` };
}

function shown({ id, at, cli, turn, prompt, path, kind }: Entry): ShownEntry {
  return { id, at: Math.floor(at / 1_000), cli, turn, prompt, path, kind };
}
