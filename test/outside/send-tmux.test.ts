import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { paneTerminal } from "../../src/prompt/tmux.ts";
import { root, startNvim } from "../support/nvim.ts";
import { descendants } from "../support/processes.ts";
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

  const near = await openPane(nvim.path("sub"), "split-window");
  await nvim.lua("require('gemini-bridge').send({ source = 'nothing', text = ... })", "one\ntwo\x1b[201~\rx");
  await receives(nvim.path("sub"), "\x1b[200~one\ntwo[201~x \x1b[201~");
  await nvim.input(":GeminiAdd a.txt sub/here.txt<CR>");
  await t.resolves(
    receives(nvim.path("sub"), `\x1b[200~@${nvim.path("a.txt")} @here.txt \x1b[201~`),
    "the nearest pane in the workspace gets it, with references relative to its directory",
  );

  // If tmux printed the name of this directory, the pane of a shell would appear to run the CLI in the workspace.
  const shell = tmux("split-window", "-d", "-P", "-F", "#{pane_id}", "sh");
  const cli = tmux("display-message", "-p", "-t", far, "#{pane_pid}");
  const window = tmux("display-message", "-p", "#{window_id}");
  const row = [cli, shell, window, "$0", `${nvim.dirs.workspace}\n`];
  const forged = join(nvim.dirs.home, `x\n${row.join("\t")}`);
  mkdirSync(forged, { recursive: true });
  tmux("kill-pane", "-t", near);
  tmux("split-window", "-d", "-c", forged, "sh");
  await nvim.input(":GeminiSend! --text to the CLI<CR>");
  await t.resolves(
    receives(nvim.dirs.workspace, "to the CLI \x1b[201~\r"),
    "the name of a directory does not select the pane",
  );
  t.notMatch(tmux("capture-pane", "-p", "-t", shell), "to the CLI");
  t.notOk(tmux("list-buffers"), "no buffer of tmux is left");
  t.equal(tmux("display-message", "-p", "#{pane_id}") === far, false, "the focus stays");
  t.equal(
    await nvim.lua("return #require('gemini-bridge.terminal.terminals').list()"),
    0,
    "none was started",
  );
});

/** Starts a Neovim in tmux, and opens panes with a shell that runs commands. */
async function start(t: Test) {
  const nvim = await startNvim(t, {
    files: { "my-cli": `${AGENT}stty sane\n`, "a.txt": "one\ntwo\n", "sub/here.txt": "", claude: CLAUDE },
    init: "require('gemini-bridge').setup({ terminal = { cmd = { 'my-cli' } } })",
  });
  const tmux = await startTmux(t, nvim, nvim.dirs.workspace);
  await nvim.startBridge();
  await nvim.command("edit a.txt");
  const shows = (pane: string, what: RegExp) =>
    waitFor(() => what.test(tmux("capture-pane", "-p", "-t", pane)), `${what} in ${pane}`);
  const type = (pane: string, line: string) => tmux("send-keys", "-t", pane, line, "Enter");
  const open = (directory: string, ...how: string[]) =>
    tmux("split-window", "-d", "-P", "-F", "#{pane_id}", "-c", directory, ...how);
  const receives = (directory: string, text: string) =>
    waitFor(() => read(directory).endsWith(text), JSON.stringify(text)).catch((error: unknown) => {
      throw new Error(`received ${JSON.stringify(read(directory))}`, { cause: error });
    });
  return { nvim, tmux, shows, type, open, receives };
}

const read = (directory: string) => {
  const path = join(directory, "received");
  return existsSync(path) ? readFileSync(path, "utf8") : "";
};

/** A program that looks like Claude Code with a text in its prompt, and ends at Enter. */
const CLAUDE = "printf '\\342\\235\\257 my own text'; read -r line\n";

t.test("Enter reaches only the CLI, also if the user has synchronized the panes", async (t) => {
  const { nvim, tmux, shows, open, receives } = await start(t);
  const pane = open(nvim.dirs.workspace, "sh", nvim.path("my-cli"));
  await shows(pane, /ready/);
  const other = open(nvim.path("sub"), "sh", "-c", "stty raw -echo; echo other; exec tee received");
  await shows(other, /other/);
  tmux("set-option", "-w", "synchronize-panes", "on");
  await nvim.input(":GeminiSend! --text go<CR>");
  await receives(nvim.dirs.workspace, "\x1b[200~go \x1b[201~\r");
  t.equal(read(nvim.path("sub")), "", "a synchronized pane gets nothing");
});

t.test("a prompt waits while the user scrolls back in the pane", async (t) => {
  const { nvim, tmux, shows, open, receives } = await start(t);
  const pane = open(nvim.dirs.workspace, "sh", nvim.path("my-cli"));
  await shows(pane, /ready/);
  tmux("copy-mode", "-t", pane);
  await nvim.input(":GeminiSend! --text go<CR>");
  await nvim.says(/The prompt waits until you leave the copy mode of the CLI in pane %\d+/);
  t.equal(tmux("display-message", "-p", "-t", pane, "#{pane_in_mode}"), "1", "the user's view stays");
  tmux("send-keys", "-t", pane, "-X", "cancel");
  await t.resolves(receives(nvim.dirs.workspace, "\x1b[200~go \x1b[201~\r"));
});

t.test("prompts for two panes at the same time are not mixed up", async (t) => {
  const { nvim, tmux, shows, open } = await start(t);
  const places = [nvim.dirs.workspace, nvim.path("sub")] as const;
  const panes = places.map((directory) => open(directory, "sh", nvim.path("my-cli")));
  for (const pane of panes) await shows(pane, /ready/);
  const before = process.env["TMUX"];
  process.env["TMUX"] = `${tmux("display-message", "-p", "#{socket_path}")},1,0`;
  t.teardown(() => {
    if (before === undefined) delete process.env["TMUX"];
    else process.env["TMUX"] = before;
  });
  const { signal } = new AbortController();
  const [one, two] = panes.map((pane) => paneTerminal(pane, pane, "/", signal));
  for (let count = 0; count < 10; count++) await Promise.all([one?.paste("one"), two?.paste("two")]);
  const pasted = (text: string) => `\x1b[200~${text}\x1b[201~`.repeat(10);
  await waitFor(() => places.every((place) => read(place).length >= pasted("one").length), "the texts");
  t.same(places.map(read), [pasted("one"), pasted("two")]);
  t.notOk(tmux("list-buffers"), "no buffer of tmux is left");
});

t.test("a CLI that is started again in a pane gets references relative to its own directory", async (t) => {
  const { nvim, shows, type, open, tmux, receives } = await start(t);
  const pane = open(nvim.dirs.workspace, "sh");
  type(pane, `sh ${nvim.path("my-cli")}`);
  await shows(pane, /ready/);
  await nvim.input(":GeminiAdd sub/here.txt<CR>");
  await receives(nvim.dirs.workspace, "\x1b[200~@sub/here.txt \x1b[201~");
  descendants(Number(tmux("display-message", "-p", "-t", pane, "#{pane_pid}"))).forEach((pid) => {
    if (readFileSync(`/proc/${pid}/comm`, "utf8") === "tee\n") process.kill(pid);
  });
  await shows(pane, /[$#] *$/);
  type(pane, `clear; cd sub; sh ${nvim.path("my-cli")}`);
  await waitFor(() => existsSync(nvim.path("sub/received")), "the second CLI");
  await nvim.input(":GeminiAdd sub/here.txt<CR>");
  await t.resolves(receives(nvim.path("sub"), "\x1b[200~@here.txt \x1b[201~"));
});

t.test("a waiting prompt is not typed into the shell after the CLI has ended", async (t) => {
  const { nvim, type, open, shows } = await start(t);
  const pane = open(nvim.dirs.workspace, "env", "PS1=\u276f ", "sh");
  await shows(pane, /\u276f/);
  type(pane, "clear; sh claude");
  await shows(pane, /my own text/);
  await nvim.input(":GeminiSend! --text touch typed<CR>");
  await nvim.says(/The prompt waits until you send or delete your text/);
  type(pane, "");
  await nvim.waitFor("#require('gemini-bridge.prompt.outbox').list() == 0", "the end of the prompt");
  t.match(await nvim.messages(), /The prompt was not sent: the CLI in pane %\d+ has ended/);
  t.notOk(existsSync(nvim.path("typed")), "the shell has run nothing");
});

t.test("a suggestion of the CLI in its prompt is replaced", async (t) => {
  const program = join(root, "test/outside/fixtures/suggesting-cli.mjs");
  const nvim = await startNvim(t, {
    files: { qwen: `${process.execPath} ${program}\n`, "a.txt": "one\n" },
    init: "require('gemini-bridge').setup({ terminal = { cli = 'qwen' } })",
  });
  const tmux = await startTmux(t, nvim, nvim.dirs.workspace);
  await nvim.startBridge();
  tmux("split-window", "-d", "-c", nvim.dirs.workspace, "sh", nvim.path("qwen"));
  const panes = () => tmux("capture-pane", "-p", "-t", ":.1");
  await waitFor(() => panes().includes("workspace"), "the CLI");
  const sent = () => (existsSync(nvim.path("sent")) ? readFileSync(nvim.path("sent"), "utf8") : "");
  let all = "";
  for (const text of ["first", "second", "third"]) {
    await nvim.input(`:GeminiSend! --text ${text}<CR>`);
    all += `${text} \n`;
    await waitFor(() => sent() === all, text).catch(async () =>
      t.equal(sent(), all, `${panes()} ${await nvim.messages()}`),
    );
  }
});
