/** Tells the user the result of a decision on several files in one message. */
import type { Bridge } from "../neovim/bridge.ts";

/** Maximum number of problems in a message. */
const MAX_PROBLEMS = 3;

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
