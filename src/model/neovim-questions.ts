/**
 * Asks Neovim questions on behalf of the model. Each question is a call with an id, which Neovim answers with an event.
 */
import { Refusal } from "../base/refusal.ts";
import type { EventPayload } from "../contract/neovim.ts";
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
  answered(answer: EventPayload<"answered">): void;
  /** Ends all questions that Neovim has not answered yet. Idempotent. */
  close(): void;
}

/**
 * Creates the functions that ask Neovim.
 * @param timeout timeout for questions without a timeout of their own (milliseconds)
 */
export function createAsking(bridge: Pick<Bridge, "call">, timeout: number): Asking {
  const waiting = new Map<number, (problem: unknown, result?: unknown) => void>();
  let last = 0;

  return {
    async ask(question, params, signal) {
      const id = ++last;
      /** Undefined for a question without a timeout and without cancellation. */
      const cancelling = WRITING.includes(question) ? undefined : signal;
      const answer = await new Promise<unknown>((resolve, reject) => {
        cancelling?.throwIfAborted();
        const cancel = () => waiting.get(id)?.(signal.reason);
        const late = () =>
          waiting.get(id)?.(
            new Refusal(
              "Neovim does not answer, perhaps because it waits for the user at a prompt: try again later",
            ),
          );
        const limit = "timeout" in params ? params.timeout : timeout;
        const timer = cancelling && setTimeout(late, limit + MARGIN_MS);
        cancelling?.addEventListener("abort", cancel);
        waiting.set(id, (problem, result) => {
          clearTimeout(timer);
          cancelling?.removeEventListener("abort", cancel);
          waiting.delete(id);
          if (problem === undefined) resolve(result);
          else reject(problem);
        });
        bridge.call("ask", { id, question, params }).catch((error: unknown) => {
          waiting.get(id)?.(error instanceof Refusal ? error : new Refusal("Neovim has exited"));
        });
      });
      return answers[question].parse(answer) as AnswerTo<typeof question>;
    },
    answered({ id, result, error }) {
      waiting.get(id)?.(error === undefined ? undefined : new Refusal(error), result);
    },
    close() {
      for (const settle of [...waiting.values()]) settle(new Refusal("The bridge in Neovim has stopped"));
    },
  };
}
