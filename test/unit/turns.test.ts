import fc from "fast-check";
import t from "tap";
import type { Agent, AgentEvent, Tool } from "../../src/contract/hooks.ts";
import type { Activity } from "../../src/contract/status.ts";
import type { TurnStep } from "../../src/contract/turns.ts";
import type { Client } from "../../src/http/client.ts";
import { asksBefore } from "../../src/turns/gate.ts";
import { createTurns } from "../../src/turns/turns.ts";
import { fuzz } from "../support/fuzz.ts";

const agent = (session: string, cli = "gemini"): Agent => ({ cli, session, cwd: "/w" });
const EDIT: Tool = { kind: "edit", name: "write_file", filePath: "/a" };
const ONE = agent("1");

/** Returns an event of the agent with only the needed fields. */
const event = (kind: AgentEvent["kind"], of = ONE): AgentEvent => {
  const base = { agent: of, at: 0 };
  switch (kind) {
    case "turn_started":
      return { ...base, kind, prompt: "go", hook: "BeforeAgent" };
    case "tool_ended":
      return { ...base, kind, tool: EDIT, failed: false };
    case "tool_starting":
      return { ...base, kind, tool: EDIT, canAsk: true };
    case "permission_asked":
      return { ...base, kind, tool: EDIT };
    case "session_started":
    case "turn_ended":
    case "session_ended":
      return { ...base, kind };
  }
};

const STATUS_KINDS = ["started", "waiting", "resumed", "ended"];

/** Creates turns in which the client of an agent has the id of the agent's session. */
function newTurns(heard: Agent[] = []) {
  const search = async ({ session }: Agent) => session;
  return createTurns({ heard, remember: () => {}, isConnected: () => true, search });
}

/** Ends the connection of an agent's client. */
function disconnect(turns: ReturnType<typeof newTurns>, { cli, session }: Agent): void {
  turns.disconnected({ id: session, info: { credential: cli } } as Client, false);
}

async function start() {
  const steps: TurnStep[] = [];
  const turns = newTurns();
  turns.on((step) => {
    if (STATUS_KINDS.includes(step.kind)) steps.push(step);
  });
  await turns.findClient(ONE);
  const kinds = () => steps.splice(0).map(({ kind }) => kind);
  const activity = (of = ONE): Activity => turns.activityOf(of.session) ?? "idle";
  const handle = (...events: AgentEvent["kind"][]) => {
    for (const kind of events) void turns.handle(event(kind));
    return kinds();
  };
  return { turns, steps, kinds, activity, handle };
}

t.test("a turn starts and ends", async (t) => {
  const { turns, steps, handle, activity, kinds } = await start();
  t.equal(activity(), "idle");
  void turns.handle(event("turn_started"));
  t.match(steps, [{ kind: "started", turn: { ...ONE, prompt: "go", isSeen: true }, prompt: "go" }]);
  kinds();
  t.equal(activity(), "working");
  t.same(handle("tool_starting", "tool_ended"), []);
  t.same(handle("tool_starting", "permission_asked"), ["waiting"]);
  t.equal(activity(), "waiting");
  t.same(handle("tool_ended"), ["resumed"], "the answer itself no hook tells");
  t.equal(activity(), "working");
  t.same(handle("turn_ended"), ["ended"]);
  t.equal(activity(), "idle");
  t.same(
    handle("turn_ended", "session_ended", "session_ended", "tool_ended"),
    [],
    "what comes late is nothing",
  );
});

t.test("the start of a turn ends an earlier turn whose end was not reported", async (t) => {
  const { turns, handle, kinds, activity } = await start();
  t.same(handle("turn_started", "permission_asked", "turn_started"), [
    "started",
    "waiting",
    "ended",
    "started",
  ]);
  handle("permission_asked");
  disconnect(turns, ONE);
  disconnect(turns, ONE);
  t.same(kinds(), ["ended"], "with the connection");
  await turns.findClient(ONE);
  t.same(handle("turn_started", "session_ended"), ["started", "ended"]);
  handle("turn_started", "permission_asked");
  turns.decided(ONE.session, "/a", true);
  t.same(kinds(), ["resumed"]);
  t.equal(activity(), "working");
  turns.decided(ONE.session, "/a", true);
  t.same(kinds(), []);
});

t.test("a question is ignored if its hook arrives after the user's decision", async (t) => {
  const { turns, handle, kinds, activity } = await start();
  handle("turn_started", "tool_starting");
  turns.decided(ONE.session, "/a", false);
  t.same(kinds(), ["ended"]);
  t.same(handle("permission_asked"), [], "the question of the rejected edit");
  t.equal(activity(), "idle");
  handle("turn_started", "tool_starting");
  turns.decided(ONE.session, "/a", true);
  t.same(handle("permission_asked"), [], "the question of the accepted edit");
  t.equal(activity(), "working");
  turns.decided(ONE.session, "/b", true);
  t.same(handle("permission_asked"), ["waiting"], "a question about another file");
  turns.decided(ONE.session, "/a", true);
  t.same(kinds(), ["resumed"]);
  t.same(handle("permission_asked"), ["waiting"], "the next question, after one that was heard in time");
  turns.decided(ONE.session, "/a", true);
  turns.decided(ONE.session, "/a", true);
  t.same(handle("tool_starting", "permission_asked"), ["resumed", "waiting"], "the next edit of the file");
});

t.test("an agent that asks about several tools at once waits until all questions are answered", async (t) => {
  const { turns, handle, kinds, activity } = await start();
  const asks = (...tools: Tool[]) => {
    for (const tool of tools) void turns.handle({ ...event("permission_asked"), tool } as AgentEvent);
    return kinds();
  };
  const edit = (filePath: string): Tool => ({ kind: "edit", name: "write_file", filePath });
  const shell: Tool = { kind: "shell", name: "run_shell_command", command: "ls" };
  const decided = (filePath: string, isAccepted: boolean) => {
    turns.decided(ONE.session, filePath, isAccepted);
    return kinds();
  };
  handle("turn_started");
  asks(edit("/a"), edit("/b"), shell);
  t.same(decided("/a", true), []);
  t.same(decided("/b", true), []);
  t.equal(activity(), "waiting", "the question about the command is open");
  t.same(handle("tool_starting"), ["resumed"], "the CLI runs the tools after the last answer");

  for (const [first, second] of [
    [false, true],
    [true, false],
  ] as const) {
    asks(edit("/a"), edit("/b"));
    t.same(decided("/a", first), []);
    t.equal(activity(), "waiting");
    t.same(decided("/b", second), ["resumed"], "the CLI runs the accepted edit");
    t.equal(activity(), "working");
    handle("tool_starting", "tool_ended");
  }

  asks(edit("/a"), edit("/b"));
  t.same(decided("/a", false), []);
  t.same(decided("/b", false), ["ended"], "all are rejected");

  handle("turn_started");
  asks(edit("/b"));
  t.same(decided("/a", true), [], "the hook of this question arrives later");
  t.equal(activity(), "waiting");
  t.same(decided("/b", false), ["resumed"], "the CLI runs the accepted edit");

  handle("turn_started");
  asks(edit("/a"));
  t.same(decided("/link/a", true), ["resumed"], "the review spells the path in another way");
});

t.test("a prompt that the user sends during a turn starts no turn", async (t) => {
  const { turns, kinds } = await start();
  const prompt = (turn: string, isOwn = false) =>
    void turns.handle({ ...event("turn_started"), turn, isOwn } as AgentEvent);
  prompt("1");
  prompt("1");
  t.same(kinds(), ["started"]);
  prompt("2");
  t.same(kinds(), ["ended", "started"]);
  prompt("3", true);
  prompt("3");
  t.same(kinds(), [], "the CLI itself has sent the first prompt");
  void turns.handle(event("turn_ended"));
  prompt("4", true);
  t.same(kinds(), ["ended", "started"]);
});

t.test("a turn whose start was not reported is counted", async (t) => {
  const { handle, activity } = await start();
  t.same(handle("tool_starting"), ["started"]);
  t.same(handle("turn_ended"), ["ended"]);
  t.same(handle("permission_asked"), ["started", "waiting"]);
  t.equal(activity(), "waiting");
});

t.test("turns of different agents are separate, and old agents are dropped", async (t) => {
  const { turns, steps, activity } = await start();
  void turns.handle(event("turn_started", agent("2", "qwen")));
  await turns.findClient(agent("2", "qwen"));
  void turns.handle(event("turn_started"));
  void turns.handle(event("turn_ended"));
  t.same([activity(), activity(agent("2"))], ["idle", "working"]);
  for (let i = 0; i < 1000; i++) void turns.handle(event("turn_started", agent(String(i), "claude")));
  t.ok(
    steps.some(({ kind, turn }) => kind === "ended" && turn.cli === "qwen"),
    "the oldest goes, and it is told",
  );
  turns.close();
});

t.test("agents are remembered without their turns", async (t) => {
  let remembered: readonly Agent[] = [];
  const remember = (agents: readonly Agent[]) => {
    remembered = agents;
  };
  const turns = createTurns({ heard: [], remember, isConnected: () => true, search: async () => "" });
  for (const kind of ["turn_started", "turn_ended"] as const) void turns.handle(event(kind));
  await turns.findClient({ ...ONE, prompt: "go", turn: 1 } as Agent); // as listeners do with a turn
  void turns.handle(event("turn_started", agent("2")));
  t.strictSame(
    remembered,
    [ONE, agent("2")].map((one) => ({ ...one, pid: undefined })),
  );
  turns.close();
});

t.test("a tool that ends after its turn still belongs to this turn", async (t) => {
  const turns = newTurns();
  const steps: TurnStep[] = [];
  turns.on((step) => void steps.push(step));
  for (const kind of ["turn_started", "tool_starting", "turn_ended", "tool_ended"] as const)
    void turns.handle(event(kind));
  const [started, , ended, late] = steps;
  t.match([ended, late], [{ kind: "ended", isDead: false }, { kind: "tool_ended" }]);
  t.equal(late?.turn, started?.turn);
});

t.test("a turn that began before the host is reported, and its prompt is unknown", async (t) => {
  for (const kind of ["tool_starting", "tool_ended", "turn_ended"] as const) {
    const turns = newTurns([ONE]);
    const steps: TurnStep[] = [];
    turns.on((step) => void steps.push(step));
    void turns.handle(event(kind));
    t.match(steps[0], { kind: "started", turn: { isSeen: false, prompt: "" }, prompt: undefined }, kind);
    turns.close();
  }
});

t.test("a prompt during a turn begins a part with its own author", async (t) => {
  const turns = newTurns();
  const steps: TurnStep[] = [];
  turns.on((step) => void steps.push(step));
  for (const prompt of ["one", "two"])
    void turns.handle({ ...event("turn_started"), prompt, turn: "1" } as AgentEvent);
  t.match(steps, [
    { kind: "started", turn: { prompt: "one" } },
    { kind: "prompted", turn: { prompt: "two" }, earlier: { prompt: "one" } },
  ]);
  void turns.handle({ ...event("turn_started"), prompt: "a task", isOwn: true } as AgentEvent);
  t.equal(turns.latest("gemini").prompt, "two", "the CLI itself has sent the last prompt");
  turns.close();
});

t.test("any order of hooks gives a consistent activity", async (t) => {
  const kind = fc.constantFrom(
    "turn_started" as const,
    "tool_starting" as const,
    "tool_ended" as const,
    "permission_asked" as const,
    "turn_ended" as const,
    "session_ended" as const,
    "over" as const,
    "accepted" as const,
    "rejected" as const,
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(kind, fc.constantFrom("1", "2"))), async (steps) => {
      const told = new Map<string, TurnStep["kind"]>();
      const turns = newTurns();
      turns.on(({ kind, turn: { session } }) => {
        if (!STATUS_KINDS.includes(kind)) return;
        const before = told.get(session);
        const isActive = before !== undefined && before !== "ended";
        // A turn starts and ends only once. Only a waiting turn can be resumed.
        if ((kind === "started") === isActive) throw new Error(`${before} and then ${kind}`);
        if (kind === "resumed" && before !== "waiting") throw new Error(`${before} and then resumed`);
        told.set(session, kind);
      });
      for (const [step, session] of steps) {
        await turns.findClient(agent(session));
        if (step === "over") disconnect(turns, agent(session));
        else if (step === "accepted") turns.decided(session, "/a", true);
        else if (step === "rejected") turns.decided(session, "/a", false);
        else await turns.handle(event(step, agent(session)));
        await turns.findClient(agent(session));
        const activity = turns.activityOf(session);
        // The reported steps determine the expected activity.
        const expected = { started: "working", resumed: "working", waiting: "waiting", ended: undefined };
        if (activity !== expected[(told.get(session) ?? "ended") as keyof typeof expected]) return false;
        if ((step === "turn_ended" || step === "session_ended" || step === "over") && activity) return false;
      }
      turns.close();
      return true;
    }),
    fuzz(t, "turns", 500),
  );
});

t.test("the gate asks for edits of CLIs that are connected", async (t) => {
  const starting = event("tool_starting");
  const off = { all: false, clis: {} };
  const on = { all: true, clis: {} };
  const asks = (...[event, setting, connected]: [AgentEvent, typeof on, boolean]) =>
    asksBefore(event, setting, async () => connected);
  t.equal(await asks(starting, on, true), true);
  t.equal(await asks(starting, on, false), false, "nobody could answer");
  t.equal(await asks(starting, off, true), false);
  t.equal(await asks(starting, { all: true, clis: { gemini: false } }, true), false);
  t.equal(await asks(starting, { all: false, clis: { gemini: true } }, true), true);
  t.equal(await asks(starting, { all: false, clis: { qwen: true } }, true), false);
  t.equal(await asks(event("tool_ended"), on, true), false);
  const shell: Tool = { kind: "shell", name: "run_shell_command", command: "ls" };
  const base = { agent: ONE, at: 0, kind: "tool_starting" } as const;
  t.equal(await asks({ ...base, tool: shell, canAsk: true }, on, true), false);
  t.equal(
    await asks({ ...base, tool: EDIT, canAsk: false }, on, true),
    false,
    "it would ask without a proposal",
  );
});
