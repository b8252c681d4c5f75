/** Reports the steps of turns to Lua, which fires `User` events. */
import type { TurnListener, TurnStep } from "../contract/turns.ts";
import type { Bridge } from "../neovim/bridge.ts";
import type { Terminals } from "./terminals.ts";
import type { Turns } from "./turns.ts";

/** Maximum length of a prompt in a report (UTF-16 units). */
const MAX_PROMPT_LENGTH = 4096;

/** @param reportClients reports the clients to Lua. The report of a step must not arrive before the new activity */
export function createTurnReports(
  bridge: Pick<Bridge, "tell">,
  turns: Pick<Turns, "clientOf" | "findClient">,
  terminals: Pick<Terminals, "nameOf">,
  reportClients: () => void,
): TurnListener {
  let last: Promise<void> = Promise.resolve();

  async function report(step: TurnStep, known: string | undefined): Promise<void> {
    const { kind } = step;
    const { cli, session, cwd } = step.turn;
    const id = known ?? (await turns.findClient(step.turn));
    reportClients();
    const terminal = id === undefined ? undefined : terminals.nameOf(id);
    const base = { cli, session, cwd, id, terminal };
    if (kind === "started")
      bridge.tell("turn", { ...base, kind, prompt: step.prompt?.slice(0, MAX_PROMPT_LENGTH) });
    else if (kind === "waiting") bridge.tell("turn", { ...base, kind, tool: step.tool });
    else if (kind === "resumed" || kind === "ended") bridge.tell("turn", { ...base, kind });
  }

  return (step) => {
    if (step.kind === "tool_starting" || step.kind === "tool_ended" || step.kind === "prompted") return;
    const known = turns.clientOf(step.turn);
    // Sends reports one after the other. Finding the client of an agent may be slow, so the report of a turn's end
    // could otherwise overtake the report of its start.
    last = last.then(() => report(step, known)).catch(() => {});
  };
}
