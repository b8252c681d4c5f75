/** Tests that a new host finds the changes of a shell command that was running when the earlier host ended. */
import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import t, { type Test } from "tap";
import { startPage } from "../support/page.ts";
import { becomes } from "../support/wait.ts";

const FILES = { "clean.txt": "1\n2\n", "gone.txt": "gone\n", "dirty.txt": "1\n", "mine.txt": "1\n" };
const COMMAND = { tool_name: "run_shell_command", tool_input: { command: "make" } };

/** Starts a Neovim in a Git work tree with uncommitted text. The agent uses the real hook script. */
async function start(t: Test, isGit = true) {
  const page = await startPage(t, { files: FILES, args: ["mine.txt"] });
  const { nvim, agent } = page;
  const sh = (script: string) =>
    execFileSync("sh", ["-ec", script], {
      cwd: nvim.dirs.workspace,
      env: { ...process.env, HOME: nvim.dirs.home, GIT_CONFIG_NOSYSTEM: "1" },
    });
  if (isGit) {
    await delay(50); // otherwise the files might count as newer than the index
    sh("git init -q; git add -A; git -c user.name=x -c user.email=x commit -qm first");
  }
  writeFileSync(nvim.path("dirty.txt"), "1\nuncommitted\n");
  writeFileSync(nvim.path("untracked.txt"), "untracked\n");
  await agent.script("BeforeAgent", { prompt: "make it" });
  await agent.script("BeforeTool", COMMAND);
  await nvim.waitFor(() => /"command":"make".*"parts":1/.test(page.journal()), "the snapshot to be stored");
  return { ...page, sh };
}
type Started = Awaited<ReturnType<typeof start>>;

const WORK = "echo 3 >> clean.txt; rm gone.txt; echo 2 >> dirty.txt; rm untracked.txt; echo 1 > new.txt";
const DONE = [
  "clean.txt modified",
  "dirty.txt modified",
  "gone.txt deleted",
  "new.txt added",
  "untracked.txt deleted",
];

async function isListedAndUndone(t: Test, { nvim, read, states, changed, journal }: Started): Promise<void> {
  await becomes(t, states, DONE, "the changes");
  await nvim.command("GeminiUndo all");
  await changed(0);
  for (const name of ["clean.txt", "gone.txt"] as const) t.equal(read(name), FILES[name], name);
  t.equal(read("dirty.txt"), "1\nuncommitted\n");
  t.equal(read("untracked.txt"), "untracked\n");
  t.notOk(existsSync(nvim.path("new.txt")));
  t.notMatch(await nvim.messages(), /Not all changes/);
  await nvim.waitFor(() => !/"command":"make"/.test(journal()), "the snapshot to be removed");
}

t.test("after a restart during a command, the command's changes are listed and can be undone", async (t) => {
  const started = await start(t);
  const { bridge, nvim, agent, sh } = started;
  const host = await bridge.host();
  await nvim.command("GeminiRestart");
  sh(WORK);
  await bridge.nextHost(host);
  await agent.script("AfterTool", { ...COMMAND, tool_response: { llmContent: "ok" } });
  await isListedAndUndone(t, started);
});

for (const isGit of [true, false])
  t.test(
    `a host that is killed during a command ${isGit ? "in" : "outside"} a work tree does not attribute the user's writes to the agent`,
    async (t) => {
      const started = await start(t, isGit);
      const { bridge, agent, sh } = started;
      const host = await bridge.crash("call setline(1, 'mine') | silent write");
      sh(WORK);
      await agent.script("AfterTool", { ...COMMAND, tool_response: { llmContent: "ok" } }); // the host may not run at this moment
      await bridge.nextHost(host);
      await agent.script("AfterAgent");
      await isListedAndUndone(t, started);
      t.equal(started.read("mine.txt"), "mine\n");
    },
  );

t.test("a file that the user writes before Neovim notices the end of the host is the user's", async (t) => {
  const started = await start(t);
  const { bridge, nvim, agent, sh } = started;
  const host = await bridge.host();
  sh(WORK);
  await nvim.lua("vim.uv.kill(..., 'sigkill') vim.cmd([[call setline(1, 'mine') | silent write]])", host);
  await bridge.nextHost(host);
  await agent.script("AfterTool", { ...COMMAND, tool_response: { llmContent: "ok" } });
  await isListedAndUndone(t, started);
  t.equal(started.read("mine.txt"), "mine\n");
});

t.test(
  "without a stored snapshot of the files, one sentence says that the list of changes is incomplete",
  async (t) => {
    const { bridge, nvim, agent, sh, changes } = await start(t);
    const host = await bridge.crash("call delete(stdpath('state') .. '/gemini-bridge/changes', 'rf')");
    sh(WORK);
    await bridge.nextHost(host);
    await agent.script("AfterTool", { ...COMMAND, tool_response: { llmContent: "ok" } });
    await agent.script("AfterAgent");
    const sentence =
      /Some changes by gemini may be missing from :GeminiChanges: the bridge was not running when a command began\./;
    await nvim.says(sentence);
    t.strictSame(await changes(), []);
    await nvim.command("GeminiChanges!");
    t.match(await nvim.lua("return vim.fn.getqflist()[1].text"), sentence);
  },
);
