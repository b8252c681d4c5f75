import { existsSync, readFileSync } from "node:fs";
import t from "tap";
import { childPid, layout, shows, startWithAgent } from "../support/agent.ts";
import { ATTACHED } from "../support/attached.ts";
import { type Nvim, startNvim } from "../support/nvim.ts";
import { isAlive } from "../support/processes.ts";

t.test(":Gemini reports a program that cannot run", async (t) => {
  const missing = await startWithAgent(t, "cmd = { 'no-such-cli' }");
  await missing.input(":Gemini<CR>");
  t.match(await missing.messages(), /no-such-cli cannot be run: check the option terminal\.cmd/);
  t.equal((await layout(missing)).windows.length, 1);
  t.match(
    await missing.lua("return require('gemini-bridge').status()"),
    { state: "stopped" },
    "nothing was started",
  );

  const nowhere = await startWithAgent(t, "cwd = '/no/such/directory'");
  await nowhere.input(":Gemini<CR>");
  t.match(
    await nowhere.messages(),
    /The option terminal\.cwd names \/no\/such\/directory, which is not a directory/,
  );
});

t.test("the visible message about a failed :Gemini gives advice", async (t) => {
  const size = { columns: 80, lines: 24 };
  const shown = async (nvim: Nvim) => (await nvim.screen()).at(-1)?.trimEnd();
  for (const [cli, message] of [
    ["gemini", "gemini-bridge: gemini not found: npm install -g @google/gemini-cli"],
    ["qwen", "gemini-bridge: qwen not found: npm install -g @qwen-code/qwen-code"],
  ]) {
    const nvim = await startNvim(t, { tui: size, init: "vim.env.PATH = '/bin'" });
    await nvim.input(`:Gemini cli=${cli}<CR>`);
    await nvim.waitFor(async () => (await shown(nvim)) === message, message ?? "");
  }
  const own = await startNvim(t, {
    init: "require('gemini-bridge').setup({ clis = { qwen = { cmd = { 'no-such-qwen' } } } })",
  });
  await own.input(":Gemini cli=qwen<CR>");
  t.match(await own.messages(), /no-such-qwen cannot be run: check the option clis\.qwen\.cmd/);

  const hostless = await startNvim(t, {
    tui: size,
    init: "require('gemini-bridge').setup({ node = 'no-such-node', terminal = { cmd = { 'sh' } } })",
  });
  await hostless.input(":Gemini<CR>");
  await hostless.waitFor(
    async () => /did not start: .* Node 20 or later$/.test((await shown(hostless)) ?? ""),
    "the reason",
  );
  await hostless.waitFor("#vim.api.nvim_list_wins() == 1", "the window to close");
  t.equal((await hostless.messages()).trim().split("\n").length, 1, "no second message hides the reason");
  t.match(await hostless.messages(), /cannot run no-such-node; .* install Node/);
});

t.test("a login that Google refuses is recognized on the screen, and reported only once", async (t) => {
  const screen = [
    "│ Failed to sign in. Message: This client is no longer │",
    "│ supported for Gemini Code Assist for individuals.    │",
  ].join("\\n");
  const nvim = await startWithAgent(t, `cmd = { 'sh', '-c', [[${ATTACHED}; printf "${screen}"; cat]] }`);
  const hints = async () =>
    (await nvim.messages()).match(/personal accounts: choose an API key/g)?.length ?? 0;
  await nvim.command("Gemini");
  await nvim.waitFor(async () => (await hints()) === 1, "what to do");
  t.match(await nvim.messages(), /or Vertex AI \(\/auth\), or run :Gemini cli=qwen/);
  await nvim.lua("vim.fn.chansend(vim.bo[vim.fn.bufnr('gemini-terminal://gemini')].channel, 'again\\n')");
  await shows(nvim, /again/);
  t.equal(await hints(), 1);
});

/** A program with an empty prompt like Gemini CLI's. Writes each received line to a file. */
const PROMPT = `
const { appendFileSync } = require("node:fs");
let text = "";
const draw = () => process.stdout.write("\\x1b[2J\\x1b[H > " + (text || "  Type your message or @path/to/file"));
process.stdin.setRawMode(true);
process.stdin.on("data", (keys) => {
  for (const key of String(keys)) {
    if (key === "\\r") appendFileSync("sent", text + "\\n");
    text = key === "\\r" ? "" : text + key;
  }
  setTimeout(draw, 200);
});
draw();
`;

t.test("/ide enable is typed only once, even if a CLI is reported twice", async (t) => {
  const nvim = await startNvim(t, {
    files: { "cli.js": PROMPT },
    init: `require('gemini-bridge').setup({ terminal = { cmd = { '${process.execPath}', 'cli.js' } } })`,
  });
  await nvim.command("Gemini");
  await shows(nvim, /Type your message/);
  // Simulates the state after a crash of the host that the CLI has noticed.
  await nvim.lua(`
    local terminal = require('gemini-bridge.terminal.terminals').last()
    local lost = { name = 'gemini', cli = 'gemini', lost = true, cwd = terminal.cwd }
    lost.cmd, lost.pid, lost.buf = terminal.cmd, terminal.pid, terminal.buf
    local channel = require('gemini-bridge.bridge.channel')
    for _ = 1, 3 do channel.notify('terminals', { terminals = { lost } }) end`);
  const sent = () => (existsSync(nvim.path("sent")) ? readFileSync(nvim.path("sent"), "utf8") : "");
  await nvim.waitFor(() => sent() !== "", "the command");
  t.equal(sent(), "/ide enable\n");
});

/** Waits until the host has handled all earlier events. */
async function hostHasCaughtUp(nvim: Nvim): Promise<void> {
  await nvim.lua(`
    _G.answered = nil
    require('gemini-bridge.bridge.request').send('editors', { cwd = vim.fn.getcwd() }, function(_, problem)
      _G.answered = problem or true
    end)`);
  await nvim.waitFor("_G.answered == true", "the host's answer");
}

t.test("the first terminal shows the hint about /ide enable only once", async (t) => {
  const fake = { "bin/gemini": "#!/bin/sh\nexec cat\n" };
  const init = `
    vim.uv.fs_chmod(vim.fn.getcwd() .. '/bin/gemini', 448)
    vim.env.PATH = vim.fn.getcwd() .. '/bin:' .. vim.env.PATH
    require('gemini-bridge').setup({ terminal = { connect = false } })`;
  const reminders = async (nvim: Nvim) => (await nvim.messages()).match(/\/ide enable/g)?.length ?? 0;
  const ready = "vim.api.nvim_get_mode().mode == 't'";

  const unset = await startNvim(t, { files: fake, init });
  await unset.command("Gemini");
  await unset.waitFor(ready, "the terminal");
  await unset.command("Gemini!");
  await unset.waitFor(
    "(require('gemini-bridge.terminal.terminals').last() or {}).pid",
    "the second terminal",
  );
  await hostHasCaughtUp(unset);
  t.equal(await reminders(unset), 1);

  const set = await startNvim(t, {
    files: {
      ...fake,
      "../home/.gemini/settings.json": '{ /* on */ "ide": { "enabled": true } } // "x": "http://"',
    },
    init,
  });
  await set.command("Gemini");
  await set.waitFor(ready, "the terminal");
  await hostHasCaughtUp(set);
  t.equal(await reminders(set), 0);
});

t.test("a function in the option terminal.provider opens the terminal", async (t) => {
  const open = `provider = function(spec)
    _G.spec = spec
    if _G.outside then return end
    local buf = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_call(buf, function()
      local run = vim.fn.has('nvim-0.11') == 1 and function(cmd, o) o.term = true; vim.fn.jobstart(cmd, o) end or vim.fn.termopen
      run(spec.cmd, { cwd = spec.cwd, env = spec.env })
    end)
    vim.cmd.vsplit()
    vim.api.nvim_set_current_buf(buf)
    return buf
  end`;
  const nvim = await startWithAgent(t, open);
  await nvim.command("Gemini -x");
  const child = childPid(await shows(nvim, /child <\d+>/));
  t.match(await nvim.lua("return spec"), { name: "gemini", cwd: nvim.dirs.workspace, cmd: { 2: "-x" } });
  await nvim.command("Gemini");
  t.equal((await layout(nvim)).windows.length, 1, "hides");
  await nvim.command("Gemini");
  t.match(await layout(nvim), { current: "gemini", windows: { length: 2 } }, "shows");
  await nvim.command("bwipeout!");
  await nvim.waitFor(() => !isAlive(child), "the child to end");

  await nvim.lua("_G.outside, _G.spec = true, nil");
  await nvim.command("Gemini");
  await nvim.waitFor("spec", "the function to be called");
  t.equal(
    await nvim.lua("return #require('gemini-bridge.terminal.terminals').list()"),
    0,
    "outside of Neovim there is none",
  );
});

t.test("a function in terminal.provider that returns no terminal buffer is reported", async (t) => {
  const nvim = await startWithAgent(t, "provider = function() return _G.result end");
  const result = "the function of the option terminal.provider must return a terminal buffer or nothing";
  for (const value of ["vim.system({ 'true' })", "vim.api.nvim_get_current_buf()", "999", "'term'"]) {
    await nvim.lua(`_G.result = ${value} vim.cmd('messages clear')`);
    await nvim.command("Gemini");
    await nvim.says(`was not started: ${result}`);
  }
  await nvim.lua("_G.result = nil require('gemini-bridge').setup({ terminal = { cmd = { 'cat' } } })");
  await nvim.command("Gemini");
  t.equal((await layout(nvim)).windows.length, 2, "the next :Gemini opens a terminal");
});

t.test("the hint about /ide enable is also shown for a CLI that npx runs", async (t) => {
  const nvim = await startNvim(t, {
    files: { "bin/npx": "#!/bin/sh\nexec cat\n" },
    init: `
      vim.uv.fs_chmod(vim.fn.getcwd() .. '/bin/npx', 448)
      vim.env.PATH = vim.fn.getcwd() .. '/bin:' .. vim.env.PATH
      local cmd = { 'npx', '-y', '@google/gemini-cli@latest' }
      require('gemini-bridge').setup({ terminal = { cmd = cmd, connect = false } })`,
  });
  await nvim.command("Gemini");
  await nvim.waitFor(async () => /type \/ide enable/.test(await nvim.messages()), "the hint");
});
