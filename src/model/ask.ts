/** Questions to Neovim: a call with an id, and the event that answers it. */

import { Refusal } from "../base/refusal.ts";
import type { EventPayload } from "../contract/neovim.ts";
import { type AnswerTo, answers, type QuestionName, type Questions } from "../contract/questions.ts";
import { Consent } from "../contract/sharing.ts";
import type { Bridge } from "../neovim/bridge.ts";

/** Neovim keeps the time that a question names; this much later it is taken for one that waits itself (milliseconds). */
const MARGIN = 1_000;

export type Ask = <N extends QuestionName>(question: N, params: Questions[N]) => Promise<AnswerTo<N>>;

export interface Asking {
  /** @throws {Refusal} with the reason why there is no answer */
  ask: Ask;
  /** What the user lets the model see now. @throws {Refusal} like `ask` */
  consent(): Promise<Consent>;
  answered(answer: EventPayload<"answered">): void;
  /** Whoever still waits is told. May run twice. */
  close(): void;
}

/** @param timeout of questions that name none (milliseconds) */
export function createAsking(bridge: Pick<Bridge, "call">, timeout: number): Asking {
  const waiting = new Map<number, (answer: Omit<EventPayload<"answered">, "id">) => void>();
  let last = 0;

  /** @param begin sends what is answered under the id, or answers by itself */
  function wait(limit: number, begin: (id: number) => Promise<unknown>): Promise<unknown> {
    const id = ++last;
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        waiting.get(id)?.({ error: "Neovim does not answer: it may be waiting for the user at a prompt" });
      }, limit + MARGIN);
      waiting.set(id, ({ result, error }) => {
        clearTimeout(late);
        waiting.delete(id);
        if (error === undefined) resolve(result);
        else reject(new Refusal(error));
      });
      begin(id).catch((error: unknown) => {
        waiting.get(id)?.({
          error: error instanceof Refusal ? error.message : "Neovim is not there any more",
        });
      });
    });
  }

  return {
    async ask(question, params) {
      const limit = "timeout" in params ? params.timeout : timeout;
      const answer = await wait(limit, (id) => bridge.call("ask", { id, question, params }));
      return answers[question].parse(answer) as AnswerTo<typeof question>;
    },
    async consent() {
      const begin = async (id: number) => waiting.get(id)?.({ result: await bridge.call("consent", {}) });
      return Consent.parse(await wait(timeout, begin));
    },
    answered({ id, ...answer }) {
      waiting.get(id)?.(answer);
    },
    close() {
      for (const settle of [...waiting.values()]) settle({ error: "the bridge was stopped" });
    },
  };
}
