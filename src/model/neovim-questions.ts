/** Asks Neovim questions on behalf of the model, and checks the answers. */
import { Refusal } from "../base/refusal.ts";
import { type AnswerTo, answers, type QuestionName, type Questions } from "../contract/questions.ts";
import type { Bridge } from "../neovim/bridge.ts";

/**
 * Additional time to wait after the timeout of a question (ms). Neovim answers within the timeout, unless it is
 * blocked, for example by a prompt.
 */
const MARGIN_MS = 1_000;

/** Questions that change a buffer and its file. Their answers are awaited even after a cancellation. */
const WRITING: readonly QuestionName[] = ["apply_edit", "finish_edit", "tell_written"];

export type Ask = <N extends QuestionName>(question: N, params: Questions[N]) => Promise<AnswerTo<N>>;

interface Asking {
  /**
   * Asks a question.
   * @param signal cancels the question, unless the question writes a file
   * @throws {Refusal} if there is no answer. The message contains the reason
   */
  ask<N extends QuestionName>(question: N, params: Questions[N], signal: AbortSignal): Promise<AnswerTo<N>>;
  /** Ends all questions that Neovim has not answered yet. Idempotent. */
  close(): void;
}

/**
 * Creates the functions that ask Neovim.
 * @param timeout timeout for questions without a timeout of their own (milliseconds)
 */
export function createAsking(bridge: Pick<Bridge, "ask">, timeout: number): Asking {
  const closing = new AbortController();
  return {
    async ask(question, params, signal) {
      const limit = ("timeout" in params ? params.timeout : timeout) + MARGIN_MS;
      const limits = WRITING.includes(question)
        ? { signal: closing.signal }
        : { signal: AbortSignal.any([signal, closing.signal]), timeout: limit };
      const answer = await bridge.ask(question, params, limits);
      return answers[question].parse(answer) as AnswerTo<typeof question>;
    },
    close: () => closing.abort(new Refusal("The bridge in Neovim has stopped")),
  };
}
