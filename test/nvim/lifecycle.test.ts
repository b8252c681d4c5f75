/** A state machine: any order of what users, clients and crashes do, held against a model after every step. */
import { connect } from "node:net";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import t from "tap";
import { RunningBridge } from "../support/bridge.ts";
import { fuzz } from "../support/fuzz.ts";
import { startNvim } from "../support/nvim.ts";
import { descendants } from "../support/processes.ts";
import { ask, type EventStream, initialize, openStream } from "../support/server.ts";
import { waitFor } from "../support/wait.ts";

/** As many as Lua tries to bring back in a row. */
const MAX_CRASHES = 5;
const MAX_CLIENTS = 3;
const FILES = ["0.txt", "1.txt"];

interface ModelClient {
  name: string;
  open: boolean;
  /** Files under review. */
  diffs: string[];
  /** Outcomes in the order in which they arrive, and how many have. */
  outcomes: string[];
  arrived: number;
}

interface Model {
  running: boolean;
  crashes: number;
  clients: ModelClient[];
  made: number;
}

class Real {
  readonly clients = new Map<string, { session: string; stream: EventStream; seen: string[] }>();
  port = 0;
  headers = { authorization: "" };
  constructor(readonly bridge: RunningBridge) {}

  lua(code: string, ...args: unknown[]) {
    return this.bridge.nvim.lua(`local bridge = require('gemini-bridge') ${code}`, ...args);
  }

  client(name: string) {
    const client = this.clients.get(name);
    if (!client) throw new Error(`no client ${name}`);
    return client;
  }

  async connect(name: string): Promise<void> {
    const session = await initialize(this.port, this.headers);
    this.clients.set(name, { session, stream: await openStream(this.port, session, this.headers), seen: [] });
  }

  async comeBack(name: string): Promise<void> {
    const client = this.client(name);
    this.collect();
    const last = client.stream.lastId();
    const extra = last === undefined ? {} : { "last-event-id": last };
    client.stream = await openStream(this.port, client.session, { ...this.headers, ...extra });
  }

  async call(name: string, tool: string, args: object): Promise<string> {
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 9,
      method: "tools/call",
      params: { name: tool, arguments: args },
    });
    const extra = { ...this.headers, "mcp-session-id": this.client(name).session };
    const answer = await ask(this.port, { body, headers: extra });
    if (answer.status !== 200 || answer.body.includes("isError")) throw new Error(`${tool}: ${answer.body}`);
    return answer.body;
  }

  /** Takes the outcomes out of what has arrived. */
  collect(): void {
    for (const { stream, seen } of this.clients.values()) {
      const outcomes = stream.events.filter(({ message }) => message.method?.startsWith("ide/diff"));
      seen.push(...outcomes.map(({ message }) => `${message.method} ${message.params?.["filePath"]}`));
      for (const outcome of outcomes) stream.events.splice(stream.events.indexOf(outcome), 1);
    }
  }

  isListening(): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = connect(this.port, "127.0.0.1");
      const answer = (listening: boolean) => {
        socket.destroy();
        resolve(listening);
      };
      socket.once("connect", () => answer(true)).once("error", () => answer(false));
    });
  }
}

/** What the model says can be seen from outside. */
function expected(model: Model, real: Real) {
  const diffs = model.clients.flatMap((client) => client.diffs);
  return {
    state: model.running ? "running" : "stopped",
    files: model.running ? 1 : 0,
    hosts: model.running ? 1 : 0,
    listening: model.running,
    clients: model.clients
      .filter(({ open }) => open)
      .map(({ name }) => real.client(name).session)
      .sort(),
    diffs: diffs.sort(),
    proposals: diffs.length,
    reviewing: diffs.length > 0,
    token: model.running,
    held: model.clients.reduce((sum, { outcomes, arrived }) => sum + outcomes.length - arrived, 0),
    outcomes: Object.fromEntries(
      model.clients.map(({ name, outcomes, arrived }) => [name, outcomes.slice(0, arrived)]),
    ),
  };
}

async function observed(model: Model, real: Real): Promise<ReturnType<typeof expected>> {
  real.collect();
  const { state, clients, diffs } = await real.bridge.status();
  const inside = await real.lua(`
    local proposals = vim.tbl_filter(function(buf) return vim.b[buf].gemini_diff ~= nil end, vim.api.nvim_list_bufs())
    return {
      #proposals, #vim.api.nvim_list_wins(), vim.env.GEMINI_CLI_IDE_AUTH_TOKEN ~= nil,
      #require('gemini-bridge.decisions').list(),
    }`);
  const [proposals, windows, token, held] = inside as [number, number, boolean, number];
  return {
    state,
    files: real.bridge.files().length,
    hosts: descendants(real.bridge.nvim.pid).length,
    listening: await real.isListening(),
    clients: clients.map(({ id }) => id).sort(),
    diffs: diffs.map(({ filePath }) => filePath).sort(),
    proposals,
    reviewing: windows > 1,
    token,
    held,
    outcomes: Object.fromEntries(model.clients.map(({ name }) => [name, real.client(name).seen])),
  };
}

/** Waits until what is seen is what the model says. */
async function agree(model: Model, real: Real, step: string): Promise<void> {
  const files = real.bridge.files();
  if (files[0]) {
    real.port = files[0].port;
    real.headers = { authorization: `Bearer ${files[0].content.authToken}` };
  }
  let last: unknown;
  await waitFor(
    async () => {
      last = await observed(model, real);
      return isDeepStrictEqual(last, expected(model, real));
    },
    step,
    10_000,
  ).catch(() => {
    t.same(last, expected(model, real), step);
    throw new Error(`${step}: the model and Neovim disagree`);
  });
}

interface Step {
  name: string;
  /** Whether it can happen now. */
  can(model: Model): boolean;
  run(model: Model, real: Real): Promise<void>;
}

function forget(model: Model): void {
  model.clients = [];
  model.crashes = 0;
}

const begin = async (real: Real) => {
  await real.bridge.is("running");
};

const ofUser = (name: string, code: string, running: boolean): Step => ({
  name,
  can: () => true,
  async run(model, real) {
    const restarts = name !== "start" || !model.running;
    await real.lua(code);
    model.running = running;
    if (restarts) forget(model);
    if (running) await begin(real);
    else await real.bridge.is("stopped");
  },
});

/** Does something to one of the clients, or of the diffs, which `pick` names among those that there are. */
const withClient = (
  name: string,
  pick: number,
  which: (client: ModelClient) => boolean,
  run: (client: ModelClient, real: Real) => Promise<void>,
): Step => ({
  name,
  can: (model) => model.running && model.clients.some(which),
  run(model, real) {
    const clients = model.clients.filter(which);
    const client = clients[pick % clients.length];
    if (!client) throw new Error("no client");
    return run(client, real);
  },
});

const hasDiff = ({ diffs }: ModelClient) => diffs.length > 0;

const decide = (verb: "accept" | "reject", pick: number) =>
  withClient(verb, pick, hasDiff, async (client, real) => {
    const [path = ""] = client.diffs.splice(pick % client.diffs.length, 1);
    await real.lua(`bridge.${verb}({ path = ... })`, path);
    client.outcomes.push(`ide/diff${verb === "accept" ? "Accepted" : "Rejected"} ${path}`);
    if (client.open) client.arrived = client.outcomes.length;
  });

const steps: fc.Arbitrary<Step>[] = [
  fc.constantFrom(
    ofUser("start", "bridge.start()", true),
    ofUser("stop", "bridge.stop()", false),
    ofUser("restart", "bridge.restart()", true),
    ofUser("stop and start", "bridge.stop() bridge.start()", true),
    ofUser("start and stop", "bridge.start() bridge.start() bridge.stop() bridge.stop()", false),
    ofUser("restart and restart", "bridge.restart() bridge.restart()", true),
  ),
  fc.constant<Step>({
    name: "kill host",
    can: ({ running, crashes }) => running && crashes < MAX_CRASHES,
    async run(model, real) {
      const host = await real.bridge.host();
      process.kill(host, "SIGKILL");
      model.crashes += 1;
      for (const client of model.clients) client.open = false;
      await real.bridge.nextHost(host);
    },
  }),
  fc.constant<Step>({
    name: "connect",
    can: ({ running, clients }) => running && clients.length < MAX_CLIENTS,
    async run(model, real) {
      const name = String(model.made++);
      await real.connect(name);
      model.clients.push({ name, open: true, diffs: [], outcomes: [], arrived: 0 });
    },
  }),
  fc.nat().map((pick) =>
    withClient(
      "drop",
      pick,
      ({ open }) => open,
      async (client, real) => {
        real.client(client.name).stream.break();
        client.open = false;
      },
    ),
  ),
  fc.nat().map((pick) =>
    withClient(
      "come back",
      pick,
      ({ open }) => !open,
      async (client, real) => {
        await real.comeBack(client.name);
        client.open = true;
        client.arrived = client.outcomes.length;
      },
    ),
  ),
  fc.tuple(fc.nat(), fc.constantFrom(...FILES)).map(([pick, file]) =>
    withClient(
      "open",
      pick,
      () => true,
      async (client, real) => {
        const filePath = real.bridge.nvim.path(`${client.name}-${file}`);
        await real.call(client.name, "openDiff", { filePath, newContent: "proposed\n" });
        if (!client.diffs.includes(filePath)) client.diffs.push(filePath);
      },
    ),
  ),
  fc.nat().map((pick) => decide("accept", pick)),
  fc.nat().map((pick) => decide("reject", pick)),
  fc.nat().map((pick) =>
    withClient("close", pick, hasDiff, async (client, real) => {
      const [filePath = ""] = client.diffs.splice(pick % client.diffs.length, 1);
      const answer = await real.call(client.name, "closeDiff", { filePath });
      if (!answer.includes("proposed")) throw new Error(answer);
    }),
  ),
];

/** How often each step was taken. */
const taken: Record<string, number> = {};

/** A step as fast-check wants it: it is checked before and after. */
function toCommand(step: Step): fc.AsyncCommand<Model, Real> {
  return {
    check: (model) => step.can(model),
    async run(model, real) {
      taken[step.name] = (taken[step.name] ?? 0) + 1;
      await step.run(model, real);
      await agree(model, real, step.name);
    },
    toString: () => step.name,
  };
}

t.test("any order of events leaves what the model says", { timeout: 3_600_000 }, async (t) => {
  const init =
    "require('gemini-bridge').setup({ server = { grace = 600000 }, diff = { layout = 'vertical' } })";
  const nvim = await startNvim(t, { init });
  const bridge = new RunningBridge(t, nvim);
  // What users do to the bridge ends all sessions: the rest comes more often, so that it gets somewhere.
  const [ofUsers, ...others] = steps.map((step) => step.map(toCommand));
  const all = [...(ofUsers ? [ofUsers] : []), ...others, ...others];
  const commands = fc.commands(all, { maxCommands: 40, size: "max" });
  let made = 0;
  const property = fc.asyncProperty(commands, async (list) => {
    const real = new Real(bridge);
    const setup = async () => {
      await nvim.command("GeminiStart");
      await bridge.is("running");
      const model = { running: true, crashes: 0, clients: [], made };
      await agree(model, real, "start");
      return { model, real };
    };
    try {
      await fc.asyncModelRun(setup, list);
    } finally {
      made += 100;
      for (const { stream } of real.clients.values()) stream.break();
      await nvim.command("GeminiStop");
      await bridge.is("stopped");
    }
  });
  await fc.assert(property, { ...fuzz(t, "orders of events", 4), endOnFailure: true });
  t.comment(`steps: ${JSON.stringify(taken)}`);
  t.notMatch(await nvim.messages(), /stack traceback|E5108|E475|channel/);
});
