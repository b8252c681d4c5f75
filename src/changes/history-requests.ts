/** Answers `:GeminiHistory`: sends entries to Neovim, and undoes the change of an entry. */

import { basename } from "node:path";
import { Refusal } from "../base/refusal.ts";
import type { ShownEntry } from "../contract/changes.ts";
import type { Bridge, EventHandlers } from "../neovim/bridge.ts";
import { ABSENT, type FileState, readState } from "../system/file-state.ts";
import type { UserFiles } from "../system/user-files.ts";
import { beginChange, follow, isChanged, obstacle, textOf, undone } from "./file-change.ts";
import type { Entry, History } from "./history.ts";
import { shownLines } from "./shown-lines.ts";

type Handlers = Pick<EventHandlers, "history_asked" | "history_opened" | "history_taken_back">;

export interface PastOptions {
  bridge: Bridge;
  history: History;
  /**
   * Runs functions that read and write the disk one after the other. The message of a {@link Refusal} goes to
   * the user.
   */
  inTurn(run: () => Promise<void>): Promise<void>;
  userFiles: UserFiles;
  /** Called when a file was written here. */
  restored(path: string, now: FileState): Promise<void>;
}

export function createPast({ bridge, history, inTurn, userFiles, restored }: PastOptions): Handlers {
  return {
    history_asked: ({ id, directories }) =>
      inTurn(async () => {
        const isBelow = (path: string) =>
          directories.some((directory) => `${path}/`.startsWith(`${directory.replace(/\/$/, "")}/`));
        const entries = (await history.list()).filter(({ path }) => isBelow(path)).map(shown);
        bridge.tell("history_show", { id, entries });
      }),
    history_opened: ({ id }) =>
      inTurn(async () => {
        const entry = await history.read(id);
        const { before, after } = entry.texts;
        const texts = { before: shownLines(before ?? ""), after: shownLines(after ?? "") };
        bridge.tell("history_diff", { entry: shown(entry), ...texts });
      }),
    history_taken_back: ({ id }) =>
      inTurn(async () => {
        const { path, texts, cli, turn, prompt } = await history.read(id);
        const author = { cli, turn, prompt };
        const found = await readState(path);
        // Everything after the entry counts as the user's, whoever wrote it.
        const begun = beginChange(path, fileOf(texts.before), author);
        const change = follow(follow(begun, fileOf(texts.after), author), found);
        const reason = obstacle(change);
        if (reason !== undefined) throw new Refusal(`${path} cannot be restored:  ${reason}`);
        if (!isChanged(change)) throw new Refusal(`this change is no longer in ${path}`);
        const next = undone(change);
        if (textOf(next) === textOf(change))
          throw new Refusal(`these lines of ${path} were edited since (conflict)`);
        await restored(path, await userFiles.replace(path, found, { text: textOf(next) }));
        if (next.text.hunks.length > 0)
          throw new Refusal(`some lines stay in ${path}: they were edited since (conflict)`);
        bridge.tell("message", { level: "info", text: `Undid this change of ${cli} in ${basename(path)}.` });
      }),
  };
}

function fileOf(text: string | null): FileState {
  return text === null ? ABSENT : { kind: "known", text, version: `history ${text.length}` };
}

function shown({ id, at, cli, turn, prompt, path, kind }: Entry): ShownEntry {
  return { id, at: Math.floor(at / 1_000), cli, turn, prompt, path, kind };
}
