/** Tests that a stop succeeds at any stage of a start or publication. The test itself is the host. */
import { join } from "node:path";
import t, { type Test } from "tap";
import { workspacePaths } from "../../src/discovery/workspace.ts";
import { createCompanion } from "../../src/host.ts";
import { RunningBridge } from "../support/bridge.ts";
import { type Nvim, startNvim } from "../support/nvim.ts";
import { setEnv } from "../support/temporary.ts";
import { waitFor } from "../support/wait.ts";

/**
 * Attaches a host in this process to a real Neovim. The call with the name `when` is blocked until the test releases
 * it.
 */
async function attach(t: Test, when = "") {
  const nvim = await startNvim(t);
  setEnv(t, { TMPDIR: nvim.dirs.tmp });
  const held: (() => void)[] = [];
  const client = nvim.nvim;
  const companion = createCompanion({
    version: "0",
    nvim: {
      on: () => client,
      request: (name, args) => client.request(name, args),
      notify: (name, args) => client.notify(name, args),
      async executeLua(code, args) {
        const answer = client.executeLua(code, args);
        if (args?.[0] === when) await new Promise<void>((letGo) => held.push(letGo));
        return answer;
      },
    } as Parameters<typeof createCompanion>[0]["nvim"],
    stopped() {},
  });
  return { nvim, bridge: new RunningBridge(t, nvim), companion, held };
}

/** Returns everything that a CLI could find after Neovim has processed all earlier messages. */
async function traces(nvim: Nvim, bridge: RunningBridge) {
  const variables = await nvim.lua(
    "return vim.tbl_filter(function(name) return vim.startswith(name, 'GEMINI_CLI_IDE') end, vim.tbl_keys(vim.fn.environ()))",
  );
  return { variables, files: bridge.files(), state: (await bridge.status()).state };
}

const NOTHING = { variables: [], files: [], state: "stopped" };

for (const call of ["attach", "set_environment"]) {
  t.test(`a stop succeeds while the start waits for ${call}`, async (t) => {
    const { nvim, bridge, companion, held } = await attach(t, call);
    const started = companion.start();
    await waitFor(() => held.length > 0, "the call");
    await companion.stop();
    held[0]?.();
    await started;
    t.same(await traces(nvim, bridge), NOTHING);
  });
}

t.test("a stop succeeds while the host reads the directories of the workspace", async (t) => {
  const { nvim, bridge, companion } = await attach(t);
  await companion.start();
  t.equal((await bridge.status()).state, "running");
  // Each parent folder is checked, so that reading these directories takes longer than the stop.
  const directories = Array.from({ length: 50 }, (_, i) => join("/nowhere", String(i), "x/".repeat(200)));
  companion.dispatch("workspace", { directories });
  await new Promise(setImmediate); // the reading has begun
  await companion.stop();
  await workspacePaths(directories); // ends after the first reading
  t.same(await traces(nvim, bridge), NOTHING);
});
