/** Checks edits before the first file is changed. */
import type { AnswerTo, FileEdits } from "../contract/questions.ts";
import type { CallContext } from "./tool.ts";

/**
 * Number of files in one question. Neovim loads each file, and plugins may take long for that. With all files in one
 * question, an edit of several hundred files would always exceed the timeout of the question.
 */
const FILES_PER_QUESTION = 20;

/**
 * Checks whether all files can be edited.
 * @param isReview whether to return the new texts, for reviews
 * @returns the new text of each file
 * @throws {Refusal} if one of the files cannot be edited
 */
export async function previewEdits(
  files: readonly FileEdits[],
  { encoding, isReview }: { encoding: string; isReview: boolean },
  { ask }: Pick<CallContext, "ask">,
): Promise<AnswerTo<"preview_edits">["texts"]> {
  const texts: AnswerTo<"preview_edits">["texts"] = [];
  for (let first = 0; first < files.length; first += FILES_PER_QUESTION) {
    const some = files.slice(first, first + FILES_PER_QUESTION);
    texts.push(...(await ask("preview_edits", { files: some, encoding, isReview })).texts);
  }
  return texts;
}
