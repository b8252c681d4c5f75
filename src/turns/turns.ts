/**
 * Keeps one record for each agent session: the process, the connected client, and the turn. Reports each step of a
 * turn, and exactly one end, whether a hook reports the end, the user presses Esc, or the agent dies or disconnects.
 */
import type { Agent, AgentEvent, Begun } from "../contract/hooks.ts";
import type { HeardAgent } from "../contract/memory.ts";
import type { Activity } from "../contract/status.ts";
import type { Author, Turn, TurnListener, TurnStep } from "../contract/turns.ts";
import type { Client } from "../http/client.ts";
import { isAlive } from "../system/processes.ts";
import { createTurnMaker, keyOf, newSession, type Session, withVisibleProcess } from "./session.ts";

/** Maximum number of sessions. Beyond this number, the oldest are forgotten, and their turns end. */
const MAX_SESSIONS = 256;

/** Maximum time between the user's answer in the CLI's terminal and the agent's next hook event. */
const NEXT_STEP_TIMEOUT_MS = 2_000;

/** Interval for checking whether the processes of working agents still run. */
const CHECK_INTERVAL_MS = 1_000;

/** Begins a tool whose CLI waits as long as needed. */
const NEVER: Begun = { aborted: false };

export interface Turns {
  /** Adds a listener for the steps of all turns. Steps are reported synchronously. */
  on(listener: TurnListener): void;
  /** Adds a listener that is called when the client of an agent was found, or when the first agent was heard. */
  onFound(listener: () => void): void;
  /** Handles a hook event. @returns a promise that resolves when the listeners are ready for the tool */
  handle(event: AgentEvent, begun?: Begun): Promise<void>;
  /**
   * Called when the user has decided on a proposed text of a client. A rejection ends the turn, unless the CLI has asked
   * about several tools at once, and the others are not rejected.
   */
  decided(client: string, filePath: string, isAccepted: boolean): void;
  /**
   * Called when the user has answered a question in the CLI's terminal. If no hook event follows, the answer was a
   * rejection, which ends the turn.
   */
  answered(client: string): void;
  /** Ends the turns of agents that are ready for a prompt. No hook reports the end of a turn that Esc has ended. */
  ready(isReady: (client?: string, pid?: number) => boolean | Promise<boolean>): Promise<void>;
  /** Ends the turns of agents whose process has ended. */
  endDead(): void;
  /** Searches for the agents of a client that has just connected. Their hook events may have arrived before. */
  connected(client: Client): Promise<void>;
  /** Ends the turns of a client that has disconnected. @param isLast whether no client of the CLI is left */
  disconnected(client: Client, isLast: boolean): void;
  /** Returns the id of an agent's client; undefined if the client is not connected. */
  findClient(agent: Agent): Promise<string | undefined>;
  /** Returns the id of an agent's client, if it was found before. */
  clientOf(agent: Agent): string | undefined;
  /** Returns whether this client has ever sent a hook event. */
  hasHooks(client: string): boolean;
  /** Returns whether the process of this client has opened a later session. */
  isReplaced(client: string): boolean;
  /** Returns the activity of a client's agents; undefined if none of them is in a turn. */
  activityOf(client: string): Exclude<Activity, "idle"> | undefined;
  /**
   * Creates a turn that does not belong to a session. Such a turn is not reported.
   * @param prompt undefined if the start of the turn was not heard
   */
  newTurn(agent: Agent, prompt: string | undefined): Turn;
  /** Returns the author of the newest turn of a CLI. Considers all agents of the CLI. */
  latest(cli: string): Author;
  /** True after the first hook event of any agent. */
  readonly hasHeard: boolean;
  /** Whether any agent is in a turn. */
  readonly areRunning: boolean;
  /** Stops checking the processes. Idempotent. */
  close(): void;
}

interface TurnsOptions {
  /** Agents that an earlier host has heard. */
  heard: readonly HeardAgent[];
  /** Stores all agents for a later host. */
  remember(agents: HeardAgent[]): void;
  /** Returns whether a client is connected, and sends requests. */
  isConnected(client: string): boolean;
  /** Searches for the client that an agent's process has connected. */
  search(agent: Agent): Promise<string | undefined>;
}

export function createTurns({ heard, remember, isConnected, search }: TurnsOptions): Turns {
  /** The sessions by CLI and session id, oldest first. */
  const sessions = new Map<string, Session>();
  for (const agent of heard) sessions.set(keyOf(agent), newSession(agent));
  const listeners: TurnListener[] = [];
  const foundListeners: (() => void)[] = [];
  /** Clients whose process has opened a later session. */
  const replaced = new Set<string>();
  let hasHeard = sessions.size > 0;
  const newTurn = createTurnMaker();
  let timer: NodeJS.Timeout | undefined;

  const running = () => [...sessions.values()].filter(({ isRunning }) => isRunning);
  const ofClient = (id: string) => running().filter(({ client }) => client === id);

  async function tell(step: TurnStep): Promise<void> {
    await Promise.all(listeners.map((listener) => listener(step)));
  }

  function found(): void {
    for (const listener of foundListeners) listener();
  }

  function sessionOf(agent: Agent): Session {
    const known = sessions.get(keyOf(agent));
    if (known) {
      if (!known.isRunning) setAgent(known, agent);
      return known;
    }
    const [oldest] = sessions.values();
    if (oldest && sessions.size >= MAX_SESSIONS) {
      over(oldest);
      sessions.delete(keyOf(oldest.agent));
    }
    const session = newSession(withVisibleProcess(agent));
    sessions.set(keyOf(agent), session);
    remember([...sessions.values()].map((one) => one.agent));
    const isFirst = !hasHeard;
    hasHeard = true;
    if (isFirst) found();
    void link(session);
    return session;
  }

  /** Sets the process of a session, which may have changed since the last turn. */
  function setAgent(session: Session, agent: Agent): void {
    const now = withVisibleProcess(agent);
    const isSame = now.pid === session.agent.pid;
    session.agent = now;
    if (isSame) return;
    session.client = undefined;
    void link(session);
  }

  /** Finds the client of a session. */
  async function link(session: Session): Promise<string | undefined> {
    const { client } = session;
    if (client !== undefined && isConnected(client)) return client;
    const id = await search(session.agent).catch(() => undefined);
    if (id === undefined || id === session.client) return id;
    if (client !== undefined) replaced.add(client);
    session.client = id;
    found();
    return id;
  }

  function turnOf(session: Session): Turn {
    session.turn ??= newTurn(session.agent, undefined);
    return session.turn;
  }

  function begin(session: Session, turn: Turn, prompt?: string, turnId?: string): void {
    // An agent has only one turn at a time. The end of the previous turn was not reported, for example after Esc.
    over(session);
    sessions.delete(keyOf(session.agent));
    sessions.set(keyOf(session.agent), session); // as the newest
    Object.assign(session, { turn, turnId, isRunning: true });
    session.questions.answered();
    timer ??= setInterval(endDead, CHECK_INTERVAL_MS).unref();
    void tell({ kind: "started", turn, prompt });
  }

  function over(session: Session, isDead = false): void {
    const { turn } = session;
    if (!session.isRunning || !turn) return;
    session.isRunning = false;
    if (running().length === 0) {
      clearInterval(timer);
      timer = undefined;
    }
    void tell({ kind: "ended", turn, isDead });
  }

  function endDead(): void {
    for (const session of running()) {
      const { pid } = session.agent;
      if (pid !== undefined && !isAlive(pid)) over(session, true);
    }
  }

  /** Begins a turn if none runs, because a tool of the agent runs or asks. */
  function join(session: Session): Turn {
    if (!session.isRunning) begin(session, turnOf(session));
    return turnOf(session);
  }

  /** Reports that the agent goes on if a change of its questions has this effect. */
  function settle({ questions, turn, isRunning }: Session, change: () => void): void {
    const wasWaiting = questions.areOpen;
    change();
    if (turn && isRunning && wasWaiting && !questions.areOpen) void tell({ kind: "resumed", turn });
  }

  function prompted(session: Session, event: AgentEvent & { kind: "turn_started" }): void {
    const { turn: earlier } = session;
    const goesOn = event.isOwn || (event.turn !== undefined && event.turn === session.turnId);
    const isNew = !session.isRunning || !goesOn || !earlier;
    if (isNew) {
      over(session);
      setAgent(session, event.agent);
      session.questions.start();
    }
    // The CLI itself has sent the prompt. Changes still belong to the user's last prompt.
    const turn = event.isOwn && earlier ? earlier : newTurn(session.agent, event.prompt);
    if (isNew) {
      begin(session, turn, event.prompt, event.turn);
      return;
    }
    Object.assign(session, { turn, turnId: event.turn });
    if (turn !== earlier) void tell({ kind: "prompted", turn, earlier });
  }

  return {
    on: (listener) => void listeners.push(listener),
    onFound: (listener) => void foundListeners.push(listener),
    async handle(event, begun = NEVER) {
      const isKnown = sessions.get(keyOf(event.agent))?.turn !== undefined;
      const session = sessionOf(event.agent);
      session.events += 1;
      switch (event.kind) {
        case "session_started":
          return;
        case "turn_started":
          return prompted(session, event);
        case "tool_starting": {
          const turn = join(session);
          session.questions.start();
          settle(session, session.questions.answered);
          return tell({ kind: event.kind, turn, tool: event.tool, begun });
        }
        case "permission_asked": {
          if (session.questions.isAnswered(event.tool)) return;
          const turn = join(session);
          session.questions.asked(event.tool);
          return tell({ kind: "waiting", turn, tool: event.tool });
        }
        case "tool_ended": {
          if (!session.turn) join(session);
          // A cancelled tool may end after its turn.
          settle(session, session.questions.answered);
          const { tool, failed } = event;
          return tell({ kind: event.kind, turn: turnOf(session), tool, failed });
        }
        case "turn_ended":
          if (!isKnown) join(session); // this host has not heard the start of the turn
          return over(session);
        case "session_ended":
          return over(session);
      }
    },
    decided(client, filePath, isAccepted) {
      for (const session of ofClient(client))
        settle(session, () => {
          if (!session.questions.decided(filePath, isAccepted)) over(session);
        });
    },
    answered(client) {
      for (const session of ofClient(client)) {
        const { turn, events } = session;
        const end = () => {
          if (session.turn === turn && session.events === events) over(session);
        };
        setTimeout(end, NEXT_STEP_TIMEOUT_MS).unref();
      }
    },
    async ready(isReady) {
      for (const session of running()) {
        const { agent, client, turn } = session;
        if ((await isReady(client, agent.pid)) && session.turn === turn) over(session);
      }
    },
    endDead,
    async connected({ info }) {
      for (const session of sessions.values()) if (session.agent.cli === info.credential) await link(session);
    },
    disconnected({ id, info }, isLast) {
      replaced.delete(id);
      for (const session of sessions.values()) {
        const { pid, cli } = session.agent;
        const isOwn = session.client === id;
        // A process that is not visible counts as ended with the last connection.
        const isLeft = pid === undefined && isLast && cli === info.credential;
        if (isOwn || isLeft) over(session, pid === undefined || !isAlive(pid));
        if (isOwn) session.client = undefined;
      }
    },
    async findClient(agent) {
      const session = sessionOf(agent);
      // Another process than that of the session may have sent the event.
      const isSame = withVisibleProcess(agent).pid === session.agent.pid;
      return isSame ? link(session) : search(agent);
    },
    clientOf: (agent) => sessions.get(keyOf(agent))?.client,
    hasHooks: (id) => [...sessions.values()].some(({ client }) => client === id),
    isReplaced: (id) => replaced.has(id),
    activityOf(client) {
      const all = ofClient(client);
      if (all.length === 0) return undefined;
      return all.some(({ questions }) => questions.areOpen) ? "waiting" : "working";
    },
    newTurn,
    latest(cli) {
      const turns = [...sessions.values()].flatMap(({ turn }) => (turn?.cli === cli ? [turn] : []));
      return turns.reduce<Author>((a, b) => (a.turn > b.turn ? a : b), { cli, turn: 0, prompt: "" });
    },
    get hasHeard() {
      return hasHeard;
    },
    get areRunning() {
      return running().length > 0;
    },
    close: () => clearInterval(timer),
  };
}
