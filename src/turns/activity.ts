/** Tracks what the agents of connected CLIs are doing, and reports their turns to Lua. */
import type { Agent } from "../contract/hooks.ts";
import type { Calls } from "../contract/neovim.ts";
import type { Activity } from "../contract/status.ts";
import type { Client } from "../http/client.ts";
import type { AgentClients } from "./agent-clients.ts";
import type { AgentListener } from "./hook-route.ts";
import { createTurns, type TurnChange } from "./turns.ts";

/** Maximum length of a prompt in a report (UTF-16 units). */
const MAX_PROMPT_LENGTH = 4096;

/** Time to wait for the last hook event of a tool that the user has stopped with Esc. */
const LAST_HOOK_TIMEOUT_MS = 2_000;

export interface ClientActivity {
  /** Receives hook events. */
  readonly listener: AgentListener;
  /** Returns what the agents of a session are doing. */
  of(sessionId: string): Activity;
  /** Called when the user has accepted or rejected a proposed text of a session. */
  decided(sessionId: string, accepted: boolean): void;
  /** Called when the user has answered a question in the CLI's terminal. */
  answered(sessionId: string): void;
  /**
   * Called when the CLI in a terminal is ready for a prompt, which means that its turn has ended. Needed because no
   * hook reports the end of a turn that the user stops with Esc.
   */
  ready(terminal: string): void;
  /** Called when a session has ended. Ends the turns of its agents. */
  gone(client: Client): void;
}

interface ActivityOptions {
  clients: AgentClients;
  /** Name of the terminal in which a session's client runs, if known. */
  terminalOf(sessionId: string): string | undefined;
  /** Called when {@link ClientActivity.of} may return a new result. */
  changed(): void;
  tell(turn: Calls["turn"]): void;
  /** Called when a turn has ended because the user has stopped the agent. */
  stopped(agent: Agent): void;
}

export function createActivity({
  clients,
  terminalOf,
  changed,
  tell,
  stopped,
}: ActivityOptions): ClientActivity {
  const turns = createTurns((change) => {
    if (change.kind === "ended" && change.isRejected) stopped(change.agent);
    const known = clients.known(change.agent);
    // Sends reports one after the other. Finding the client of an agent may be slow, so the report of a turn's end
    // could otherwise overtake the report of its start.
    last = last.then(() => report(change, known)).catch(() => {});
  });
  let last: Promise<void> = Promise.resolve();

  async function report(change: TurnChange, known: string | undefined): Promise<void> {
    const { agent, kind } = change;
    const id = known ?? (await clients.find(agent));
    changed();
    const terminal = id === undefined ? undefined : terminalOf(id);
    const base = { cli: agent.cli, session: agent.session, cwd: agent.cwd, id, terminal };
    if (kind === "started") tell({ ...base, kind, prompt: change.prompt?.slice(0, MAX_PROMPT_LENGTH) });
    else if (kind === "waiting") tell({ ...base, kind, tool: change.tool });
    else tell({ ...base, kind });
  }

  /**
   * Ends the turn of an agent that is ready for a prompt. Calls `stopped` after a delay, because the agent's last hook
   * event may still arrive.
   */
  function endReady(agent: Agent): void {
    turns.over(agent);
    const isIdle = () => !turns.active().some(({ agent: { session } }) => session === agent.session);
    setTimeout(() => isIdle() && stopped(agent), LAST_HOOK_TIMEOUT_MS).unref();
  }

  const ofSession = (id: string) => turns.active().filter(({ agent }) => clients.known(agent) === id);

  return {
    listener: turns.handle,
    of(id) {
      const activities = ofSession(id).map(({ activity }) => activity);
      return activities.includes("waiting") ? "waiting" : (activities[0] ?? "idle");
    },
    decided(id, accepted) {
      for (const { agent } of ofSession(id)) accepted ? turns.allowed(agent) : turns.rejected(agent);
    },
    answered(id) {
      for (const { agent } of ofSession(id)) turns.answered(agent);
    },
    ready(terminal) {
      for (const { agent } of turns.active()) {
        const id = clients.known(agent);
        if (id !== undefined && terminalOf(id) === terminal) endReady(agent);
      }
    },
    gone(client) {
      for (const { agent } of ofSession(client.id)) turns.over(agent);
      clients.forget(client);
    },
  };
}
