import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { platform } from "../../src/system/platform.ts";
import { readDiscovery } from "../support/client.ts";
import { CLIENT, isRunning, Outcome, START } from "../support/doctor.ts";
import { nvimBinary, root } from "../support/nvim.ts";
import { isAlive, killAll } from "../support/processes.ts";
import { connectRpc } from "../support/rpc.ts";
import { makeDirs, makeEnv, removeDirs, withEnv, writeFiles } from "../support/sandbox.ts";
import { waitFor } from "../support/wait.ts";

t.test("the doctor finds a Neovim whose parent is init, as in a container", async (t) => {
  const dirs = makeDirs();
  const socket = join(dirs.base, "nvim");
  writeFiles(dirs.config, { "nvim/init.lua": `vim.opt.runtimepath:prepend(${JSON.stringify(root)})` });
  const command = withEnv({ ...makeEnv(dirs), REMOTE_CONTAINERS: "true" }, [
    nvimBinary(),
    "--headless",
    "--listen",
    socket,
  ]);
  // The shell exits immediately, so that its child becomes a child of init.
  execFileSync("sh", ["-c", '"$@" </dev/null >/dev/null 2>&1 &', "sh", ...command], { cwd: dirs.workspace });
  const client = await connectRpc(socket, new Promise(() => {}));
  const lua = (code: string, ...args: unknown[]) => client.request("nvim_exec_lua", [code, args]);
  const pid = Number(await lua("return vim.fn.getpid()"));
  t.teardown(async () => {
    client.notify("nvim_command", ["qa!"]);
    await waitFor(() => !isAlive(pid), "Neovim to end", 5000).catch(() => killAll([pid]));
    removeDirs(dirs);
  });
  await lua("vim.cmd.GeminiStart()");
  await waitFor(() => lua(`return ${isRunning}`), "the bridge to run", 10_000);
  const result = join(dirs.home, "client.json");
  const prefix = "env -u GEMINI_CLI_IDE_PID";
  await lua(START, `${prefix} '${process.execPath}' '${CLIENT}' '${result}'`, { cwd: dirs.workspace });
  const outcome = await waitFor(
    () => Outcome.parse(JSON.parse(readFileSync(result, "utf8"))),
    result,
    20_000,
  );
  t.equal(outcome.idePid, readDiscovery(dirs.tmp)[0]?.pid);
  t.equal(outcome.idePid, platform.editorAboveShell(await platform.processes(), pid));
  t.equal(outcome.status, "connected");
});
