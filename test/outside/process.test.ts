import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { z } from "zod";
import { readDiscovery } from "../support/client.ts";
import { type Nvim, root, startNvim } from "../support/nvim.ts";
import { waitFor } from "../support/wait.ts";

const Found = z.object({ pid: z.int(), config: z.unknown() });

/** Runs the CLI's own search for an editor in the focused shell of `:terminal`. */
async function search(nvim: Nvim, name: string, prefix = ""): Promise<z.infer<typeof Found>> {
  const script = join(import.meta.dirname, "fixtures/ide-process.mjs");
  const result = join(nvim.dirs.home, name);
  await nvim.type(`${prefix}node '${script}' '${result}'\r`);
  return Found.parse(JSON.parse(await waitFor(() => readFileSync(result, "utf8"), result)));
}

async function startBridge(t: Test): Promise<Nvim> {
  const nvim = await startNvim(t, { tui: true });
  await nvim.type(":GeminiStart\r");
  await nvim.bridgeIs("running");
  await nvim.type(":terminal\ri");
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "terminal mode");
  return nvim;
}

t.test("the CLI's own search from a shell in :terminal finds the discovery file", async (t) => {
  const nvim = await startBridge(t);
  const [file, ...others] = readDiscovery(nvim.dirs.tmp);
  t.same(others, [], "there is one discovery file");

  const walked = await search(nvim, "walked.json", "env -u GEMINI_CLI_IDE_PID ");
  t.equal(walked.pid, file?.pid, "the file carries the PID that the walk ends at");
  t.not(walked.pid, nvim.pid, "which is the UI, not the server below it");
  t.same(walked.config, file?.content, "and it is the file the CLI takes");

  const told = await search(nvim, "told.json");
  t.same(told, walked, "GEMINI_CLI_IDE_PID says the same");

  const report = join(nvim.dirs.home, "report.json");
  const clean = "env -u GEMINI_CLI_IDE_PID -u GEMINI_CLI_IDE_SERVER_PORT";
  await nvim.type(
    `${clean} node '${join(root, "dist/doctor.cjs")}' --json >'${report}'; touch '${report}.done'\r`,
  );
  await waitFor(() => existsSync(`${report}.done`), "the doctor's report");
  const chooses = `The CLI chooses Neovim (workspace), process ${walked.pid}, port ${file?.port}`;
  t.match(
    readFileSync(report, "utf8"),
    JSON.stringify(chooses),
    "the doctor in that shell walks the same way",
  );
});
