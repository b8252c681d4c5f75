/** Tells the user how many changes a turn has made, and why changes may be missing. */
import type { Turn } from "../contract/turns.ts";
import type { Bridge } from "../neovim/bridge.ts";
import type { ChangedFiles } from "./changed-files.ts";
import { isChanged, shown } from "./file-change.ts";

/** Maximum number of turns whose changes are collected. The oldest are forgotten first. */
const MAX_TURNS = 64;

export interface TurnReport {
  /** Records that the agent has changed a file. */
  changed(turn: Turn, path: string): void;
  /** Records why changes of the turn may be missing, such as "Git did not answer after a command". */
  missed(turn: Turn, gap: string): void;
  /** Reports the changes of a turn that has ended. */
  ended(turn: Turn): void;
}

export interface TurnReportOptions {
  bridge: Pick<Bridge, "tell">;
  /** Name of the terminal in which an agent runs, if known. */
  terminalOf(turn: Turn): string | undefined;
  files: Pick<ChangedFiles, "get">;
}

export function createTurnReport({ bridge, terminalOf, files }: TurnReportOptions): TurnReport {
  /** Changed files and gaps of each turn, by the start of the turn. */
  const turns = new Map<number, { paths: Set<string>; gaps: Set<string> }>();

  function factsOf({ turn }: Turn) {
    const facts = turns.get(turn) ?? { paths: new Set(), gaps: new Set() };
    turns.set(turn, facts);
    const [oldest] = turns.keys();
    if (oldest !== undefined && turns.size > MAX_TURNS) turns.delete(oldest);
    return facts;
  }

  return {
    changed: (turn, path) => void factsOf(turn).paths.add(path),
    missed: (turn, gap) => void factsOf(turn).gaps.add(gap),
    ended(turn) {
      const { cli } = turn;
      const { paths, gaps } = factsOf(turn);
      turns.delete(turn.turn);
      const isOwn = (one: { turn: number }) => one.turn === turn.turn;
      const changes = [...paths].flatMap((path) => {
        const change = files.get(path);
        const now = change && isChanged(change) ? shown(change) : undefined;
        return now && [now, ...now.hunks].some(isOwn) ? [now] : [];
      });
      if (changes.length + gaps.size === 0) return;
      // A file may also contain undecided hunks of earlier turns.
      const hunks = changes.flatMap((change) => change.hunks.filter(isOwn));
      const sum = (count: "count" | "removed") => hunks.reduce((all, hunk) => all + hunk[count], 0);
      const counts = { files: changes.length, added: sum("count"), removed: sum("removed") };
      bridge.tell("turn_changes", {
        cli,
        terminal: terminalOf(turn),
        ...counts,
        incomplete: sentenceOf(cli, gaps),
      });
    },
  };
}

/** Returns a sentence that says why changes may be missing from the list. */
function sentenceOf(cli: string, [first, ...others]: ReadonlySet<string>): string | undefined {
  if (first === undefined) return undefined;
  const more =
    others.length > 0 ? ` (${others.length} more ${others.length === 1 ? "reason" : "reasons"})` : "";
  return `Some changes by ${cli} may be missing from :GeminiChanges: ${first}${more}.`;
}
