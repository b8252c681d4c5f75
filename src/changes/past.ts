/** The history as the user looks at it, and what they take back of it. */

import { basename } from "node:path";
import { Refusal } from "../base/refusal.ts";
import type { ShownEntry } from "../contract/changes.ts";
import type { Bridge, EventHandlers } from "../neovim/bridge.ts";
import { ABSENT, type Sighting, see } from "../system/sighting.ts";
import type { UserFiles } from "../system/user-files.ts";
import { beginChange, follow, isChanged, obstacle, textOf, undone } from "./file-change.ts";
import type { Entry, History } from "./history.ts";
import { shownLines } from "./shown-lines.ts";

type Handlers = Pick<EventHandlers, "history_asked" | "history_opened" | "history_taken_back">;

export interface PastOptions {
  bridge: Bridge;
  history: History;
  /** Runs what reads and writes the disk, one after the other; what the user is to be told it throws. */
  inTurn(run: () => Promise<void>): Promise<void>;
  userFiles: UserFiles;
  /** A file has been written here. */
  restored(path: string, now: Sighting): Promise<void>;
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
        const found = await see(path);
        // What has come since is the user's here, whoever it was.
        const begun = beginChange(path, fileOf(texts.before), author);
        const change = follow(follow(begun, fileOf(texts.after), author), found);
        const reason = obstacle(change);
        if (reason !== undefined) throw new Refusal(`${path} cannot be changed back: ${reason}`);
        if (!isChanged(change)) throw new Refusal(`nothing of it is in ${path} any more`);
        const next = undone(change);
        if (textOf(next) === textOf(change))
          throw new Refusal(`${path} has been edited there since (conflict)`);
        await restored(path, await userFiles.replace(path, found, { text: textOf(next) }));
        if (next.text.hunks.length > 0)
          throw new Refusal(`some of it stays in ${path}: it has been edited (conflict)`);
        bridge.tell("message", { level: "info", text: `Undid this change of ${cli} in ${basename(path)}.` });
      }),
  };
}

function fileOf(text: string | null): Sighting {
  return text === null ? ABSENT : { kind: "known", text, version: `history ${text.length}` };
}

function shown({ id, at, cli, turn, prompt, path, kind }: Entry): ShownEntry {
  return { id, at: Math.floor(at / 1_000), cli, turn, prompt, path, kind };
}
