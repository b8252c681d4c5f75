/** Tells the user how many changes a turn has made, and why changes may be missing. */
import type { Agent } from "../contract/hooks.ts";
import type { Bridge } from "../neovim/bridge.ts";
import type { AgentTurns } from "./agent-turns.ts";
import type { ChangedFiles } from "./changed-files.ts";
import { isChanged, shown } from "./file-change.ts";

export interface TurnReportOptions {
  bridge: Pick<Bridge, "tell">;
  /** Name of the terminal in which an agent runs, if known. */
  terminalOf(agent: Agent): string | undefined;
  files: Pick<ChangedFiles, "get">;
  turns: Pick<AgentTurns, "end">;
}

/** Creates a function that ends the turn of an agent, and reports its changes. */
export function createTurnReport({ bridge, terminalOf, files, turns }: TurnReportOptions) {
  return (agent: Agent): void => {
    const { cli } = agent;
    const { turn, files: paths, gaps } = turns.end(agent);
    const isOwn = (one: { turn: number }) => one.turn === turn;
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
      terminal: terminalOf(agent),
      ...counts,
      incomplete: sentenceOf(cli, gaps),
    });
  };
}

/** Returns a sentence that says why changes may be missing from the list. */
function sentenceOf(cli: string, [first, ...others]: ReadonlySet<string>): string | undefined {
  if (first === undefined) return undefined;
  const more =
    others.length > 0 ? ` (${others.length} more ${others.length === 1 ? "reason" : "reasons"})` : "";
  return `Some changes by ${cli} may be missing from :GeminiChanges: ${first}${more}.`;
}
