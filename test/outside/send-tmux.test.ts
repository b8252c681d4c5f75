import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { root, startNvim } from "../support/nvim.ts";
import { startTmux } from "../support/tmux.ts";
import { waitFor } from "../support/wait.ts";

/** A program that enables bracketed paste, and then stores and echoes all received bytes. */
const AGENT = "stty raw -echo; echo ready; printf '\\033[?2004h'; tee received\n";

execFileSync(join(root, "scripts/need.sh"), ["ps", "procps"], { stdio: "inherit" });

t.test("prompts reach a CLI in another pane of the same tmux server", async (t) => {
  const nvim = await startNvim(t, {
    files: { "my-cli": AGENT, "a.txt": "one\ntwo\n", "sub/here.txt": "" },
    init: "require('gemini-bridge').setup({ terminal = { cmd = { 'my-cli' } } })",
  });
  const tmux = await startTmux(t, nvim, nvim.dirs.workspace);
  await nvim.startBridge();
  await nvim.command("edit a.txt");

  const openPane = async (directory: string, ...how: string[]) => {
    const pane = tmux(...how, "-d", "-P", "-F", "#{pane_id}", "-c", directory, "sh");
    tmux("send-keys", "-t", pane, `sh ${nvim.path("my-cli")}`, "Enter");
    await waitFor(() => tmux("capture-pane", "-p", "-t", pane).includes("ready"), `the CLI in ${pane}`);
    return pane;
  };
  const received = (directory: string) => {
    const path = join(directory, "received");
    return existsSync(path) ? readFileSync(path, "utf8") : "";
  };
  const receives = (directory: string, text: string) =>
    waitFor(() => received(directory).endsWith(text), JSON.stringify(text)).catch((error: unknown) => {
      throw new Error(`received ${JSON.stringify(received(directory))}`, { cause: error });
    });

  await openPane("/tmp", "new-window");
  const far = await openPane(nvim.dirs.workspace, "new-window");
  await nvim.input(":2GeminiSend! go; #{pane_id} $(date) -x<CR>");
  await receives(nvim.dirs.workspace, "\x1b[200~@a.txt (line 2) go; #{pane_id} $(date) -x \x1b[201~\r");

  await openPane(nvim.path("sub"), "split-window");
  await nvim.lua("require('gemini-bridge').send({ source = 'nothing', text = ... })", "one\ntwo\x1b[201~\rx");
  await receives(nvim.path("sub"), "\x1b[200~one\ntwo[201~x \x1b[201~");
  await nvim.input(":GeminiAdd a.txt sub/here.txt<CR>");
  await t.resolves(
    receives(nvim.path("sub"), `\x1b[200~@${nvim.path("a.txt")} @here.txt \x1b[201~`),
    "the nearest pane in the workspace gets it, with references relative to its directory",
  );
  t.notOk(tmux("list-buffers"), "no buffer of tmux is left");
  t.equal(tmux("display-message", "-p", "#{pane_id}") === far, false, "the focus stays");
  t.equal(
    await nvim.lua("return #require('gemini-bridge.terminal.terminals').list()"),
    0,
    "none was started",
  );
});
