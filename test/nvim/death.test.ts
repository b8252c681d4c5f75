import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import t, { type Test } from "tap";
import { RunningBridge, startBridge, startConnected } from "../support/bridge.ts";
import { connectClient, readDiscovery } from "../support/client.ts";
import { type Nvim, startNvim } from "../support/nvim.ts";
import { descendants, isAlive } from "../support/processes.ts";
import { waitFor } from "../support/wait.ts";

/** Number of deaths to test. With 40 deaths, each of five kinds occurs at each of eight stages. */
const DEATHS = Number(process.env["DEATHS"] ?? 40);

/** Number of Neovims that run concurrently. */
const AT_ONCE = 4;

/** Time after which nothing of a dead editor may be left (milliseconds). */
const LIMIT = 2000;

type Death = "qa!" | "cq" | NodeJS.Signals;
const DEATHS_OF_ALL_KINDS: Death[] = ["qa!", "cq", "SIGTERM", "SIGHUP", "SIGKILL"];

function die(nvim: Nvim, death: Death): void {
  if (death === "qa!" || death === "cq") nvim.nvim.notify("nvim_command", [death]);
  else process.kill(nvim.pid, death);
}

/** Checks that no file and no process is left two seconds after Neovim's end. */
async function leavesNothing(t: Test, nvim: Nvim, below: readonly number[], name: string): Promise<void> {
  await nvim.exited;
  const left = () => ({
    processes: below.filter(isAlive),
    files: filesOf(nvim),
  });
  await waitFor(() => Object.values(left()).flat().length === 0, "nothing to be left", LIMIT).catch(() => {});
  t.same(left(), { processes: [], files: [] }, name);
}

/** Creates the folder of Qwen Code, so that the bridge writes all kinds of discovery files. */
const FILES = { "../home/.qwen/keep": "" };

/** Returns the paths of all files of a Neovim, including temporary files. */
function filesOf({ dirs }: Nvim): string[] {
  const directories = [
    join(dirs.tmp, "gemini/ide"),
    join(dirs.tmp, "llxprt/ide"),
    join(dirs.home, ".qwen/ide"),
  ];
  // Some directories may not exist yet.
  return directories
    .filter((directory) => existsSync(directory))
    .flatMap((directory) => readdirSync(directory));
}

/**
 * Starts a Neovim and kills it. The number determines the kind of death and the stage.
 * @returns the stage
 */
async function liveAndDie(t: Test, number: number): Promise<string> {
  const death = DEATHS_OF_ALL_KINDS[number % DEATHS_OF_ALL_KINDS.length] ?? "SIGKILL";
  const nvim = await startNvim(t, { files: { ...FILES, "a.txt": "" } });
  const bridge = new RunningBridge(t, nvim);
  await nvim.command("GeminiStart");
  // Half of the Neovims are killed during the start, which takes about 300 ms.
  if (number % 2 === 0) await delay(Math.random() * 400);
  else {
    await nvim.bridgeIs("running");
    if (number % 4 === 1) {
      const { port, content } = bridge.file();
      const client = await connectClient(t, { port, token: content.authToken });
      await client.openDiff(nvim.path("a.txt"), "proposed");
    }
    if (number % 8 >= 5) await nvim.command("GeminiStop");
    await delay(Math.random() * 100);
  }
  const { state, diffs } = await bridge.status();
  const stage = diffs.length > 0 ? `${state}, with a review` : state;
  const below = descendants(nvim.pid);
  die(nvim, death);
  await leavesNothing(t, nvim, below, `${number}: ${death} while ${stage}`);
  await nvim.close();
  return stage;
}

t.test(
  "no file and no process is left, however and whenever Neovim dies",
  { timeout: 120_000 },
  async (t) => {
    let next = 0;
    const stages: Record<string, number> = {};
    const worker = async () => {
      while (next < DEATHS) {
        const stage = await liveAndDie(t, next++);
        stages[stage] = (stages[stage] ?? 0) + 1;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    t.comment(`${DEATHS} deaths: ${JSON.stringify(stages)}`);
    t.ok(stages["starting"], "while it starts");
    t.ok(stages["running"], "while it runs");
    t.ok(stages["running, with a review"], "with an open review");
  },
);

t.test("a hanging host does not keep the discovery file of an editor that quits", async (t) => {
  const { bridge } = await startBridge(t, { files: FILES });
  t.equal(filesOf(bridge.nvim).length, 3);
  const host = await bridge.host();
  const below = descendants(bridge.nvim.pid);
  process.kill(host, "SIGSTOP");
  die(bridge.nvim, "qa!");
  await bridge.nvim.exited;
  t.same(filesOf(bridge.nvim), []);
  await waitFor(() => !below.some(isAlive), "Neovim to have ended the host", LIMIT);
});

t.test("no file and no process is left after the death of a Neovim with a terminal UI", async (t) => {
  for (const death of ["closed terminal", "typed :qa!", "SIGKILL of the UI"]) {
    await t.test(death, async (t) => {
      const { bridge, nvim } = await startBridge(t, { tui: true, files: FILES });
      const below = [...descendants(nvim.pid), nvim.pid];
      t.equal(
        bridge.file().pid,
        await nvim.lua("return vim.uv.os_getppid()"),
        "the file names the UI's process",
      );
      if (death === "closed terminal") nvim.proc.kill("SIGKILL");
      else if (death === "typed :qa!") await nvim.type(":qa!\r");
      else process.kill(bridge.file().pid, "SIGKILL");
      await waitFor(() => !below.some(isAlive) && filesOf(nvim).length === 0, "nothing to be left", LIMIT);
    });
  }
});

t.test("the bridge of a suspended Neovim works after the suspension", async (t) => {
  const { bridge, nvim, client } = await startConnected(t, {
    tui: true,
    files: { "a.txt": "one\n", "b.txt": "" },
    args: ["a.txt"],
  });
  await client.waitForNotification("ide/contextUpdate");
  const host = await bridge.host();
  for (const pid of [bridge.file().pid, nvim.pid]) process.kill(pid, "SIGSTOP");
  const asked = client.openDiff(nvim.path("a.txt"), "two\n");
  t.equal(await Promise.race([asked, delay(300, "waiting")]), "waiting", "the client waits");
  t.equal(bridge.files().length, 1, "the file stays: the editor lives");
  for (const pid of [nvim.pid, bridge.file().pid]) process.kill(pid, "SIGCONT");
  t.same(await asked, { content: [] });
  await nvim.command("GeminiAccept");
  await client.waitForNotification("ide/diffAccepted");
  t.equal(await bridge.host(), host);

  // Kills the Neovim that is still suspended.
  const below = [...descendants(nvim.pid), nvim.pid];
  process.kill(nvim.pid, "SIGSTOP");
  process.kill(nvim.pid, "SIGKILL");
  await waitFor(
    () => !below.some(isAlive) && readDiscovery(nvim.dirs.tmp).length === 0,
    "nothing to be left",
    LIMIT,
  );
});

t.test("Neovim prints nothing when it quits", async (t) => {
  const nvim = await startNvim(t, {
    init: `local path = vim.fn.getcwd() .. '/said'
      vim.notify = function(text) vim.fn.writefile({ text }, path, 'a') end`,
  });
  await nvim.lua("require('gemini-bridge').start()");
  await nvim.bridgeIs("running");
  nvim.nvim.notify("nvim_command", ["qa"]);
  await nvim.exited;
  t.notOk(existsSync(nvim.path("said")));
});
