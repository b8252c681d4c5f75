/** What a CLI's screen tells of it (Gemini CLI 0.61.0, `ApprovalModeIndicator`). */

/** The line above the prompt and what stands around it. */
const RULE = /^─{20,}$/;

/** What begins the line below that one, in each mode. */
const INDICATORS: [RegExp, string][] = [
  [/^auto-accept edits\b/, "auto_edit"],
  [/^YOLO\b/, "yolo"],
  [/^plan\b/, "plan"],
  [/^\S+ to accept edits\b/, "default"],
];

/** The approval mode that a screen shows, as the command line names it; nothing when none is to be seen. */
export function modeOnScreen(lines: readonly string[]): string | undefined {
  const rule = lines.findLastIndex((line) => RULE.test(line.trim()));
  const indicator = (rule < 0 ? "" : (lines[rule + 1] ?? "")).trim();
  return INDICATORS.find(([pattern]) => pattern.test(indicator))?.[1];
}
