/** Lets the user review edits before files are changed. Opens one review for each file. */
import { setTimeout as delay } from "node:timers/promises";
import { Refusal } from "../base/refusal.ts";
import type { ReviewOutcome } from "../base/reviews.ts";
import type { FileEdits } from "../contract/questions.ts";
import { count } from "./format.ts";
import { previewEdits } from "./preview-edits.ts";
import type { Answer, CallContext } from "./tool.ts";

/** Timeout for all decisions together. Shorter than the ten minutes that Gemini CLI and Qwen Code wait for a tool. */
const DECISION_TIMEOUT_MS = 570_000;

const SAID: Record<ReviewOutcome | "open", string> = {
  accepted: "accepted",
  edited: "accepted with edits by the user: read the file again",
  rejected: "rejected: leave the file as it is",
  lost: "accepted, but the file could not be written",
  replaced: "not decided: a later call proposes something else",
  closed: "not decided: the review was closed",
  open: "not decided yet: the review stays open, and the accepted text will be written. Do not make this edit in another way",
};

/** The answer of a tool that edits files: what has become of each file. */
export interface EditAnswer extends Answer {
  structured: { files: { path: string; outcome?: string; edits?: number }[] };
  links: readonly string[];
}

const CHANGED: readonly string[] = ["accepted", "edited"] satisfies ReviewOutcome[];

/**
 * Opens a review for each file, and waits for the user's decisions.
 * @param timeout maximum time for all decisions together (milliseconds)
 */
export async function reviewEdits(
  files: readonly FileEdits[],
  encoding: string,
  context: Pick<CallContext, "ask" | "editing" | "waitsFor" | "workspace">,
  timeout = DECISION_TIMEOUT_MS,
): Promise<EditAnswer> {
  const { editing, waitsFor, workspace } = context;
  const texts = await previewEdits(files, { encoding, isReview: true }, context);
  waitsFor("the user's decision");
  const late = new AbortController();
  const end = delay(timeout, "open" as const, { signal: late.signal, ref: false }).catch(
    () => "open" as const,
  );
  const results = await Promise.all(
    texts.map(async ({ path, content }) => {
      const name = workspace.name(path);
      try {
        const outcome = await Promise.race([editing.propose(path, content), end]);
        return { path, name, outcome, said: SAID[outcome] };
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        return { path, name, outcome: "failed", said: `not changed: ${error.message}` };
      }
    }),
  );
  late.abort();
  const changed = results.filter(({ outcome }) => CHANGED.includes(outcome));
  const heading = `Changed and written: ${changed.length} of ${count(files.length, "file")}. Neovim writes a file only after the user has accepted the edit.`;
  return {
    text: [heading, ...results.map(({ path, said }) => `${workspace.label(path)}: ${said}`)].join("\n"),
    structured: { files: results.map(({ name, outcome }) => ({ path: name, outcome })) },
    links: changed.map(({ path }) => path),
  };
}
