/** Tells the user the result of a decision on several files in one message. */
import { basename } from "node:path";
import { Refusal } from "../base/refusal.ts";
import type { Bridge } from "../neovim/bridge.ts";
import type { FileChange } from "./file-change.ts";

/** Maximum number of problems that a message lists. */
const MAX_PROBLEMS = 3;

/** Part of a decision: the change of one file. */
export interface Step {
  readonly before: FileChange;
  readonly after: FileChange;
}

/** Returns the text for a message about a decision, such as "2 hunks in main.ts". */
export function summaryOf(steps: readonly Step[]): string {
  const files = steps.length === 1 ? basename(steps[0]?.before.path ?? "") : `${steps.length} files`;
  const hunks = steps.reduce((sum, { before, after }) => sum + after.decided - before.decided, 0);
  return hunks === 0 ? files : `${hunks} ${hunks === 1 ? "hunk" : "hunks"} in ${files}`;
}

/**
 * Runs a function for each item. If the function refuses one item, continues with the others.
 * @param problems gets the messages of the refusals
 */
export async function tryEach<T>(
  items: readonly T[],
  problems: string[],
  act: (item: T) => Promise<void>,
): Promise<void> {
  for (const item of items) {
    try {
      await act(item);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      problems.push(error.message);
    }
  }
}

export function tellResult(
  bridge: Pick<Bridge, "tell">,
  result: readonly string[],
  problems: readonly string[],
): void {
  const more = problems.length > MAX_PROBLEMS ? [`and ${problems.length - MAX_PROBLEMS} more`] : [];
  const reasons = [...problems.slice(0, MAX_PROBLEMS), ...more].join("; ");
  const text = [...result, reasons].filter((part) => part !== "").join(" ");
  bridge.tell("message", { level: problems.length > 0 ? "warn" : "info", text });
}
