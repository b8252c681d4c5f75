/** Tracks the edits that agents have begun and not ended yet. The CLI may ask the user meanwhile. */
import type { Agent } from "../contract/hooks.ts";
import type { Turn } from "../contract/turns.ts";
import type { FileChange } from "./file-change.ts";

/** Maximum number of edits whose end may still be reported after their turn. The oldest are forgotten first. */
const MAX_LATE = 64;

export interface EditInProgress {
  readonly turn: Turn;
  /** Path of the file, as the CLI spells it. */
  readonly named: string;
  /** The real path. Resolved only once, because a symbolic link may change during the edit. */
  path?: string;
  /** True if its end was reported, but is not handled yet. */
  isEnding: boolean;
}

/** An edit whose turn has ended before the edit, and the record of the file at that time. */
interface LateEdit {
  readonly edit: EditInProgress;
  readonly before: FileChange;
}

export interface EditsInProgress {
  begin(turn: Turn, named: string): EditInProgress;
  /** Returns the oldest edit of this file by this agent, and counts it as ending. */
  ending(turn: Turn, named: string): EditInProgress | undefined;
  /** Returns all edits of the agent, and counts them as ending. */
  allEnding(turn: Turn): EditInProgress[];
  end(edit: EditInProgress): void;
  /** Returns an agent that is editing the file, if there is one. @param except an agent to ignore */
  agentAt(path: string, except?: Agent): Agent | undefined;
  /** Remembers an edit whose end may still be reported, although its turn has ended. */
  late(edit: EditInProgress, before: FileChange): void;
  /** Returns and forgets such an edit. */
  takeLate(turn: Turn, named: string): LateEdit | undefined;
  /** Forgets such edits of a file, because the user has written the file or decided on its changes. */
  settled(path: string): void;
}

export function createEditsInProgress(): EditsInProgress {
  const edits = new Set<EditInProgress>();
  const lateEdits: LateEdit[] = [];

  const isOf = ({ session }: Agent, named?: string) => {
    return (edit: EditInProgress) => edit.turn.session === session && (named ?? edit.named) === edit.named;
  };

  return {
    begin(turn, named) {
      const edit = { turn, named, isEnding: false };
      edits.add(edit);
      return edit;
    },
    ending(turn, named) {
      const edit = [...edits].filter(isOf(turn, named)).find(({ isEnding }) => !isEnding);
      if (edit) edit.isEnding = true;
      return edit;
    },
    allEnding(turn) {
      const all = [...edits].filter(isOf(turn)).filter(({ isEnding }) => !isEnding);
      for (const edit of all) edit.isEnding = true;
      return all;
    },
    end: (edit) => void edits.delete(edit),
    agentAt: (path, except) =>
      [...edits].find((edit) => edit.path === path && edit.turn.session !== except?.session)?.turn,
    late(edit, before) {
      lateEdits.push({ edit, before });
      if (lateEdits.length > MAX_LATE) lateEdits.shift();
    },
    takeLate(turn, named) {
      const index = lateEdits.findIndex(({ edit }) => isOf(turn, named)(edit));
      return index < 0 ? undefined : lateEdits.splice(index, 1)[0];
    },
    settled(path) {
      const left = lateEdits.filter(({ edit }) => edit.path !== path);
      lateEdits.splice(0, lateEdits.length, ...left);
    },
  };
}
