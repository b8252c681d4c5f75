/**
 * Describes the connected CLIs for the user: name, terminal and activity. Tracks the activity of their agents, and
 * reports the agents' turns to Lua.
 */
import { CLI_NAME } from "../contract/companion.ts";
import type { Agent } from "../contract/hooks.ts";
import type { Status } from "../contract/neovim.ts";
import type { Activity } from "../contract/status.ts";
import type { Client } from "../http/client.ts";
import type { Bridge } from "../neovim/bridge.ts";
import type { Profile } from "../profiles/profiles.ts";
import { type AgentClientsOptions, createAgentClients } from "./agent-clients.ts";
import { createHooksOff } from "./hooks-off.ts";
import { createTerminals } from "./terminals.ts";
import { createTurns, type TurnChange } from "./turns.ts";

/** Maximum length of a prompt in a report (UTF-16 units). */
const MAX_PROMPT_LENGTH = 4096;

/** Time to wait for the last hook event of a tool that the user has stopped with Esc. */
const LAST_HOOK_TIMEOUT_MS = 2_000;

/**
 * Time for clients to reconnect after a fast restart of the host process. Clients may not notice such a restart at
 * once.
 */
const RECONNECT_TIMEOUT_MS = 3_000;

/** Time for clients with WebSockets to reconnect. Such clients try for 16 s. */
const SOCKET_RECONNECT_TIMEOUT_MS = 17_000;

/**
 * Gemini CLI 0.61.0 and Qwen Code 0.24.4 do not recover from a restart of the host process by themselves: they keep
 * reading notifications, but show "Disconnected" and send nothing.
 */
const RECONNECT_HINT = 'To reconnect a CLI that shows "Disconnected", type /ide enable in its terminal.';

interface ClientStatusOptions extends Pick<AgentClientsOptions, "clients" | "heard" | "remember"> {
  bridge: Bridge;
  profiles: readonly Profile[];
  /** Ids of sessions whose clients have noticed that the host process ended. */
  interrupted: readonly string[];
  /** True if the host process restarted so fast that clients have not noticed the restart. */
  isSeamless: boolean;
  /** Returns whether a review of a session waits for the user. */
  isReviewing(sessionId: string): boolean;
  report: (change: Partial<Status>) => void;
  /** Returns whether the gate is on for a CLI. */
  isGated(cli: string): boolean;
  /** The directories that are open in Neovim. */
  directories: readonly string[];
  /** Called when a turn has ended because the user has stopped the agent. */
  stopped(agent: Agent): void;
  /** Called when a CLI in a terminal of Neovim has not reconnected after a restart of the host process. */
  lost: (cli: { terminal: string; types: boolean; isAsked: boolean; hint: string }) => void;
}

export function createClientStatus({ bridge, clients, profiles, ...options }: ClientStatusOptions) {
  const interrupted = new Set(options.interrupted);
  const labelOf = (cli: string) => profiles.find(({ name }) => name === cli)?.label ?? cli;
  const report = () => options.report({ clients: listed(), hooks: agents.hasHeard });
  const terminals = createTerminals({
    clients,
    found() {
      report();
      hooksOff.refresh();
    },
    /** Tells the user that a CLI has not reconnected after a restart of the bridge. */
    lost({ name: terminal, cli }) {
      const isSocket = profiles.find(({ name }) => name === cli)?.socket !== undefined;
      const hint = isSocket
        ? `${labelOf(cli)} has lost its connection. To reconnect, type /ide in its terminal.`
        : RECONNECT_HINT;
      const tell = () => options.lost({ terminal, types: !isSocket, isAsked: false, hint });
      const tellIfGone = () => {
        const connected = clients.connected().filter(({ id }) => !interrupted.has(id));
        if (!connected.some(({ id }) => terminals.nameOf(id) === terminal)) tell();
      };
      if (isSocket) setTimeout(tellIfGone, SOCKET_RECONNECT_TIMEOUT_MS).unref();
      else if (options.isSeamless) setTimeout(tellIfGone, RECONNECT_TIMEOUT_MS).unref();
      else tell();
    },
  });
  const agents = createAgentClients({
    clients,
    interrupted,
    heard: options.heard,
    found: report,
    remember: options.remember,
  });

  const hooksOff = createHooksOff({
    ...options,
    profiles,
    clients,
    agents,
    terminals,
    changed: report,
    tell(cli, reason, isGated) {
      const effect = isGated
        ? `does not ask before edits, although the gate is on, and its changes are not listed`
        : `no longer reports its changes`;
      const text = `${labelOf(cli)} ${effect}, because its hooks are off: ${reason}. Turn them on, then restart the CLI.`;
      bridge.tell("message", { level: "warn", text });
    },
  });

  const turns = createTurns((change) => {
    if (change.kind === "ended" && change.isRejected) options.stopped(change.agent);
    const known = agents.known(change.agent);
    // Sends reports one after the other. Finding the client of an agent may be slow, so the report of a turn's end
    // could otherwise overtake the report of its start.
    last = last.then(() => reportTurn(change, known)).catch(() => {});
  });
  let last: Promise<void> = Promise.resolve();

  async function reportTurn(change: TurnChange, known: string | undefined): Promise<void> {
    const { agent, kind } = change;
    const id = known ?? (await agents.find(agent));
    report();
    const terminal = id === undefined ? undefined : terminals.nameOf(id);
    const base = { cli: agent.cli, session: agent.session, cwd: agent.cwd, id, terminal };
    if (kind === "started")
      bridge.tell("turn", { ...base, kind, prompt: change.prompt?.slice(0, MAX_PROMPT_LENGTH) });
    else if (kind === "waiting") bridge.tell("turn", { ...base, kind, tool: change.tool });
    else bridge.tell("turn", { ...base, kind });
  }

  /**
   * Ends the turn of an agent that is ready for a prompt. Calls `stopped` after a delay, because the agent's last hook
   * event may still arrive.
   */
  function endReady(agent: Agent): void {
    turns.over(agent);
    const isIdle = () => !turns.active().some(({ agent: { session } }) => session === agent.session);
    setTimeout(() => isIdle() && options.stopped(agent), LAST_HOOK_TIMEOUT_MS).unref();
  }

  const ofSession = (id: string) => turns.active().filter(({ agent }) => agents.known(agent) === id);

  /**
   * Returns what the agents of a session are doing. An open review counts, too, because no hook reports its question
   * again after a crash of the host process. Without hooks, the activity is not known.
   */
  function activityOf(id: string): Activity {
    if (agents.hasHooks(id) && options.isReviewing(id)) return "waiting";
    const activities = ofSession(id).map(({ activity }) => activity);
    return activities.includes("waiting") ? "waiting" : (activities[0] ?? "idle");
  }

  const describe = ({ id, info, ports }: Client) => ({
    id,
    cli: info.credential,
    label: labelOf(info.credential),
    name: info.name,
    version: info.version,
    connectedAt: info.connectedAt,
    port: ports?.client,
    interrupted: interrupted.has(id) && info.name === CLI_NAME,
    activity: activityOf(id),
    turn: ofSession(id).length > 0,
    hooks: agents.hasHooks(id),
    hooksOff: hooksOff.reasonFor({ id, info }),
    terminal: terminals.nameOf(id),
  });

  /**
   * Lists the connected clients. Leaves out the interrupted sessions of CLIs that have reconnected. Such a session is
   * not ended, because the CLI would then show "Disconnected" again.
   */
  function listed() {
    const all = clients.connected().map(describe);
    return all.filter(({ id, cli, interrupted, terminal }, index) => {
      const isSame = (later: (typeof all)[number]) => later.cli === cli && later.terminal === terminal;
      const hasLater = terminal !== undefined && all.slice(index + 1).some(isSame);
      return !interrupted || !(hasLater || agents.isReplaced(id));
    });
  }

  return {
    terminals,
    agents,
    hooksOff,
    activity: {
      /** Receives hook events. */
      listener: turns.handle,
      /** Called when the user has accepted or rejected a proposed text of a session. */
      decided(id: string, filePath: string, isAccepted: boolean) {
        for (const { agent } of ofSession(id)) turns.decided(agent, filePath, isAccepted);
      },
      /** Called when the user has answered a question in the CLI's terminal. */
      answered(id: string) {
        for (const { agent } of ofSession(id)) turns.answered(agent);
      },
      /**
       * Called when the CLI in a terminal is ready for a prompt, which means that its turn has ended. Needed because no
       * hook reports the end of a turn that the user stops with Esc.
       */
      async ready(terminal: string) {
        for (const { agent } of turns.active()) {
          const id = agents.known(agent);
          // An agent that is not connected is found by its process.
          const isThere =
            id === undefined
              ? await terminals.contains(terminal, agent.pid)
              : terminals.nameOf(id) === terminal;
          if (isThere && turns.active().some((turn) => turn.agent === agent)) endReady(agent);
        }
      },
      /** Called when the process of an agent has ended. No hook then reports the end of its turn. */
      over: turns.over,
      /** Called when a session has ended. Ends the turns of its agents. */
      gone(client: Client) {
        for (const { agent } of ofSession(client.id)) turns.over(agent);
        agents.forget(client);
      },
    },
    /** Returns the name of a CLI for messages to the user. */
    labelOf,
    /** Returns the name of the terminal in which an agent runs, if known. */
    terminalOf(agent: Agent) {
      const id = agents.known(agent);
      return id === undefined ? undefined : terminals.nameOf(id);
    },
    /** Returns names for messages: the name of a session's client, and the name of its CLI. */
    nameOf: ({ id, info }: Pick<Client, "id" | "info">) => ({
      client: terminals.nameOf(id) ?? info.name,
      label: labelOf(info.credential),
    }),
    /** Returns the number of connected CLIs of a profile. Does not count CLIs that show "Disconnected". */
    connected: (cli: string) =>
      clients
        .connected()
        .map(describe)
        .filter((client) => client.cli === cli && !client.interrupted).length,
    /** Reports all connected clients to Lua. */
    report,
  };
}
