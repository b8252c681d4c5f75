/** Tests random sequences of actions and crashes. Compares the state with a model after every step. */
import fc from "fast-check";
import t from "tap";
import { RunningBridge } from "../support/bridge.ts";
import { fuzz } from "../support/fuzz.ts";
import { agree, type Model, type ModelClient, Real } from "../support/machine.ts";
import { startNvim } from "../support/nvim.ts";

/** Maximum number of consecutive restarts of the host. */
const MAX_CRASHES = 5;
const MAX_CLIENTS = 3;
const FILES = ["0.txt", "1.txt"];

interface Step {
  name: string;
  /** Returns whether the step is possible now. */
  can(model: Model): boolean;
  run(model: Model, real: Real): Promise<void>;
}

function forget(model: Model): void {
  model.clients = [];
  model.crashes = 0;
}

const begin = async (real: Real) => {
  await real.bridge.nvim.bridgeIs("running");
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
    else await real.bridge.nvim.bridgeIs("stopped");
  },
});

/** Makes a step for one of the clients or diffs. `pick` selects the client or diff. */
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

/** Number of times each step was carried out. */
const taken: Record<string, number> = {};

/** Converts a step to a command of fast-check. The command compares the state with the model before and after. */
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

t.test(
  "after any sequence of actions and crashes, the bridge is in the state that a model predicts",
  { timeout: 3_600_000 },
  async (t) => {
    const init =
      "require('gemini-bridge.host.boot').limits.reconnect_ms = 600000 " +
      "require('gemini-bridge').setup({ diff = { layout = 'vertical' } })";
    const nvim = await startNvim(t, { init });
    const bridge = new RunningBridge(t, nvim);
    // Actions on the bridge end all sessions. The other steps are more frequent, to get longer sequences.
    const [ofUsers, ...others] = steps.map((step) => step.map(toCommand));
    const all = [...(ofUsers ? [ofUsers] : []), ...others, ...others];
    const commands = fc.commands(all, { maxCommands: 40, size: "max" });
    let made = 0;
    const property = fc.asyncProperty(commands, async (list) => {
      const real = new Real(bridge);
      const setup = async () => {
        await nvim.startBridge();
        const model = { running: true, crashes: 0, clients: [], made };
        await agree(model, real, "start");
        return { model, real };
      };
      try {
        await fc.asyncModelRun(setup, list);
      } finally {
        made += 100;
        for (const { stream } of real.clients.values()) stream.break();
        await nvim.stopBridge();
      }
    });
    await fc.assert(property, { ...fuzz(t, "orders of events", 4), endOnFailure: true });
    t.comment(`steps: ${JSON.stringify(taken)}`);
    t.notMatch(await nvim.messages(), /stack traceback|E5108|E475|channel/);
  },
);
