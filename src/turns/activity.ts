/** What connected clients are doing, and what Lua is told of their turns. */

import type { Calls } from "../contract/neovim.ts";
import type { Activity } from "../contract/status.ts";
import type { Session } from "../http/sessions.ts";
import type { AgentClients } from "./agent-clients.ts";
import type { AgentListener } from "./hook-route.ts";
import { createTurns, type TurnChange } from "./turns.ts";

/** So much of a prompt is told (UTF-16 units). */
const MAX_PROMPT = 4096;

export interface ClientActivity {
  /** Takes what hooks tell. */
  readonly listener: AgentListener;
  /** What the client of this session is doing. */
  of(sessionId: string): Activity;
  /** The user has decided on a proposal of this session's. */
  decided(sessionId: string, accepted: boolean): void;
  /** The client in the terminal of this name waits for a prompt: its turn is over, by Esc if no hook has said so. */
  ready(terminal: string): void;
  /** The session is gone, and with it the agent's turn. */
  gone(session: Session): void;
}

export interface ActivityOptions {
  clients: AgentClients;
  /** The name of the terminal in which a session's client runs, as far as known. */
  terminalOf(sessionId: string): string | undefined;
  /** What `of` answers may have changed. */
  changed(): void;
  tell(turn: Calls["turn"]): void;
}

export function createActivity({ clients, terminalOf, changed, tell }: ActivityOptions): ClientActivity {
  const turns = createTurns((change) => {
    const known = clients.known(change.agent);
    // One after the other: a search that takes long must not let an end come before its beginning.
    last = last.then(() => report(change, known)).catch(() => {});
  });
  let last: Promise<void> = Promise.resolve();

  async function report(change: TurnChange, known: string | undefined): Promise<void> {
    const { agent, kind } = change;
    const id = known ?? (await clients.find(agent));
    changed();
    const terminal = id === undefined ? undefined : terminalOf(id);
    const base = { cli: agent.cli, session: agent.session, cwd: agent.cwd, id, terminal };
    if (kind === "started") tell({ ...base, kind, prompt: change.prompt?.slice(0, MAX_PROMPT) });
    else if (kind === "waiting") tell({ ...base, kind, tool: change.tool });
    else tell({ ...base, kind });
  }

  const ofSession = (id: string) => turns.active().filter(({ agent }) => clients.known(agent) === id);

  return {
    listener: turns.hear,
    of(id) {
      const activities = ofSession(id).map(({ activity }) => activity);
      return activities.includes("waiting") ? "waiting" : (activities[0] ?? "idle");
    },
    decided(id, accepted) {
      for (const { agent } of ofSession(id)) accepted ? turns.allowed(agent) : turns.over(agent);
    },
    ready(terminal) {
      for (const { agent } of turns.active()) {
        const id = clients.known(agent);
        if (id !== undefined && terminalOf(id) === terminal) turns.over(agent);
      }
    },
    gone(session) {
      for (const { agent } of ofSession(session.id)) turns.over(agent);
      clients.forget(session);
    },
  };
}
