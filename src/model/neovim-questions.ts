/**
 * Asks Neovim questions on behalf of the model. Each question is a call with an id, which Neovim answers with an event.
 */
import { Refusal } from "../base/refusal.ts";
import type { EventPayload } from "../contract/neovim.ts";
import { type AnswerTo, answers, type QuestionName, type Questions } from "../contract/questions.ts";
import { Consent } from "../contract/sharing.ts";
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
  /** Returns the user's sharing settings. @throws {Refusal} if there is no answer. The message contains the reason */
  consent(signal: AbortSignal): Promise<Consent>;
  answered(answer: EventPayload<"answered">): void;
  /** Ends all questions that Neovim has not answered yet. Idempotent. */
  close(): void;
}

/** Conditions for giving up on an answer. */
interface Limits {
  /** Maximum waiting time (milliseconds). */
  timeout: number;
  signal: AbortSignal;
}

/**
 * Creates the functions that ask Neovim.
 * @param timeout timeout for questions without a timeout of their own (milliseconds)
 */
export function createAsking(bridge: Pick<Bridge, "call">, timeout: number): Asking {
  const waiting = new Map<number, (problem: unknown, result?: unknown) => void>();
  let last = 0;

  /**
   * Waits until Neovim has answered a question that a tool call has asked.
   * @param begin sends the question with this id. If sending fails, so does waiting
   * @param limits undefined for a question without a timeout and without cancellation
   */
  function wait(begin: (id: number) => Promise<unknown>, limits?: Limits): Promise<unknown> {
    const id = ++last;
    return new Promise((resolve, reject) => {
      limits?.signal.throwIfAborted();
      const cancel = () => waiting.get(id)?.(limits?.signal.reason);
      const late = () =>
        waiting.get(id)?.(
          new Refusal(
            "Neovim does not answer, perhaps because it waits for the user at a prompt: try again later",
          ),
        );
      const timer = limits && setTimeout(late, limits.timeout + MARGIN_MS);
      limits?.signal.addEventListener("abort", cancel);
      waiting.set(id, (problem, result) => {
        clearTimeout(timer);
        limits?.signal.removeEventListener("abort", cancel);
        waiting.delete(id);
        if (problem === undefined) resolve(result);
        else reject(problem);
      });
      begin(id).catch((error: unknown) => {
        waiting.get(id)?.(error instanceof Refusal ? error : new Refusal("Neovim has exited"));
      });
    });
  }

  return {
    async ask(question, params, signal) {
      const limits = { timeout: "timeout" in params ? params.timeout : timeout, signal };
      const begin = (id: number) => bridge.call("ask", { id, question, params });
      const answer = await wait(begin, WRITING.includes(question) ? undefined : limits);
      return answers[question].parse(answer) as AnswerTo<typeof question>;
    },
    async consent(signal) {
      const begin = async (id: number) => waiting.get(id)?.(undefined, await bridge.call("consent", {}));
      return Consent.parse(await wait(begin, { timeout, signal }));
    },
    answered({ id, result, error }) {
      waiting.get(id)?.(error === undefined ? undefined : new Refusal(error), result);
    },
    close() {
      for (const settle of [...waiting.values()]) settle(new Refusal("The bridge in Neovim has stopped"));
    },
  };
}
