/** Tells the user how many changes a turn has made, and why changes may be missing. */
import type { ShownChange } from "../contract/changes.ts";
import type { Turn } from "../contract/turns.ts";
import type { Bridge } from "../neovim/bridge.ts";

/** Maximum number of turns whose gaps are collected. The oldest are forgotten first. */
const MAX_TURNS = 64;

export interface TurnReport {
  /** Records why changes of the turn may be missing, such as "Git did not answer after a command". */
  missed(turn: Turn, gap: string): void;
  /** Reports the undecided changes of a turn that has ended. */
  ended(turn: Turn): void;
}

export interface TurnReportOptions {
  bridge: Pick<Bridge, "tell">;
  /** Name of the terminal in which an agent runs, if known. */
  terminalOf(turn: Turn): string | undefined;
  /** Returns all undecided changes. */
  shown(): readonly ShownChange[];
}

export function createTurnReport({ bridge, terminalOf, shown }: TurnReportOptions): TurnReport {
  /** Gaps of each turn, by the start of the turn. */
  const turns = new Map<number, Set<string>>();

  return {
    missed({ turn }, gap) {
      turns.set(turn, (turns.get(turn) ?? new Set()).add(gap));
      const [oldest] = turns.keys();
      if (oldest !== undefined && turns.size > MAX_TURNS) turns.delete(oldest);
    },
    ended(turn) {
      const { cli } = turn;
      const gaps = turns.get(turn.turn) ?? new Set();
      turns.delete(turn.turn);
      const isOwn = (one: { turn: number }) => one.turn === turn.turn;
      const changes = shown().filter((change) => [change, ...change.hunks].some(isOwn));
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
