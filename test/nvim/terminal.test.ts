import t, { type Test } from "tap";
import { z } from "zod";
import { type Nvim, type NvimOptions, startNvim } from "../support/nvim.ts";
import { isAlive } from "../support/processes.ts";
import { waitFor } from "../support/wait.ts";

/** A program in the role of a CLI: tells what it got, starts a child that a hangup does not end, then echoes. */
const AGENT = `
trap '' HUP
echo "args <$*> in <$(pwd)>"
env | grep -iE '^(GEMINI_CLI_IDE_|no_proxy|REMOTE_CONTAINERS|EXTRA)' | sort
sh -c 'trap "" HUP TERM; while :; do sleep 1; done' &
echo "child <$!>"
stty raw -echo
printf '\\033[?2004h'
exec cat -v
`;

/** Where everything is: windows by column and row with what they show, the focus and the mode. */
const LAYOUT = `
local windows = {}
for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
  local buf = vim.api.nvim_win_get_buf(win)
  windows[#windows + 1] = {
    terminal = vim.b[buf].gemini_terminal,
    width = vim.api.nvim_win_get_width(win),
    height = vim.api.nvim_win_get_height(win),
    column = vim.api.nvim_win_get_position(win)[2],
    row = vim.api.nvim_win_get_position(win)[1],
    float = vim.api.nvim_win_get_config(win).relative ~= '',
  }
end
return { windows = windows, current = vim.b.gemini_terminal, mode = vim.api.nvim_get_mode().mode }
`;
const Layout = z.object({
  windows: z.array(
    z.object({
      terminal: z.string().optional(),
      width: z.int(),
      height: z.int(),
      column: z.int(),
      row: z.int(),
      float: z.boolean(),
    }),
  ),
  current: z.string().optional(),
  mode: z.string(),
});

async function layout(nvim: Nvim): Promise<z.infer<typeof Layout>> {
  return Layout.parse(await nvim.lua(LAYOUT));
}

/** A Neovim in which the agent is the CLI. `terminal` is Lua: more options of that group. */
async function start(t: Test, terminal = "", options: NvimOptions = {}): Promise<Nvim> {
  const init = `require('gemini-bridge').setup({ terminal = { cmd = { 'sh', vim.fn.getcwd() .. '/agent.sh' }, ${terminal} } })`;
  return startNvim(t, {
    ...options,
    init,
    files: { "agent.sh": AGENT, "a.txt": "one\ntwo\nthree\n", ...options.files },
  });
}

/** Waits until the terminal shows a text, and returns all of it. */
async function shows(nvim: Nvim, pattern: RegExp, name = "gemini"): Promise<string> {
  const read = async () => {
    const text = String(
      await nvim.lua(
        `local terminal = require('gemini-bridge.terminal').get(...)
         return table.concat(vim.api.nvim_buf_get_lines(terminal.buf, 0, -1, false), '')`,
        name,
      ),
    );
    return pattern.test(text) ? text : "";
  };
  return waitFor(read, `${pattern} in the terminal ${name}`, 10_000);
}

const childPid = (text: string) => Number(/child <(\d+)>/.exec(text)?.[1]);

t.test(":Gemini starts the bridge, then the CLI with what it needs to connect", async (t) => {
  const nvim = await start(t, "env = { EXTRA = 'yes' }", {
    env: { no_proxy: "example.org", HTTP_PROXY: "http://example.org" },
  });
  await nvim.input(':Gemini --first "two words"<CR>');
  t.match(await layout(nvim), { windows: { length: 2 } }, "the window is there at once");
  const text = await shows(nvim, /child <\d+>/);
  const status = z
    .object({ state: z.literal("running"), port: z.int() })
    .parse(await nvim.lua("return require('gemini-bridge').status()"));
  t.match(text, `GEMINI_CLI_IDE_SERVER_PORT=${status.port}`);
  t.match(text, `GEMINI_CLI_IDE_WORKSPACE_PATH=${nvim.dirs.workspace}`);
  t.match(text, /GEMINI_CLI_IDE_AUTH_TOKEN=\S{20}/);
  t.match(text, /GEMINI_CLI_IDE_PID=\d+/);
  t.match(text, "no_proxy=example.org,127.0.0.1,localhost");
  t.match(text, "NO_PROXY=example.org,127.0.0.1,localhost");
  t.match(text, "EXTRA=yes");
  t.match(text, `args <--first "two words"> in <${nvim.dirs.workspace}>`);
  const container = await nvim.lua(
    "return vim.uv.fs_stat('/.dockerenv') ~= nil or vim.uv.fs_stat('/run/.containerenv') ~= nil",
  );
  t.equal(/REMOTE_CONTAINERS=true/.test(text), container, "in a container the CLI is told to dial 127.0.0.1");
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "terminal mode");
  await nvim.input("typed");
  await shows(nvim, /typed/);
});

t.test("the variables of a remote session stay the only ones", async (t) => {
  const nvim = await start(t, "", { env: { SSH_CONNECTION: "127.0.0.1 1 127.0.0.1 2", NO_PROXY: "*" } });
  await nvim.command("Gemini");
  const text = await shows(nvim, /child <\d+>/);
  t.notMatch(text, /REMOTE_CONTAINERS/);
  t.match(text, "NO_PROXY=*");
});

t.test(":Gemini toggles", async (t) => {
  const nvim = await start(t);
  await nvim.command("edit a.txt");
  await nvim.command("Gemini");
  await shows(nvim, /child/);
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "terminal mode");
  const opened = await layout(nvim);
  t.match(opened, {
    current: "gemini",
    windows: [
      { column: 0, height: 48 },
      { terminal: "gemini", width: 64, column: 96, height: 48 },
    ],
  });

  await nvim.input("<C-\\><C-n>:Gemini<CR>");
  t.match(await layout(nvim), { windows: { length: 1 }, mode: "n" }, "hidden from within");
  t.equal(await nvim.lua("return vim.fn.expand('%:t')"), "a.txt", "the focus is back");

  await nvim.input(":Gemini<CR>");
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "terminal mode again");
  t.same(await layout(nvim), opened, "shown as it was");

  await nvim.input("<C-\\><C-n><C-w>p");
  t.match(await layout(nvim), { mode: "n" });
  await nvim.input(":Gemini<CR>");
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "terminal mode, on the way back");
  t.same(await layout(nvim), opened, "focused from outside");
  t.equal(await nvim.lua("return #require('gemini-bridge.terminal').list()"), 1, "all the time one");
});

t.test("a terminal that was scrolled back stays where it was", async (t) => {
  const nvim = await start(t, "cmd = { 'sh', '-c', 'seq 1 300; exec cat' }");
  await nvim.command("Gemini");
  await shows(nvim, /300/);
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "terminal mode");
  await nvim.input("<C-\\><C-n>100Gzt");
  const view = 'return { vim.fn.line("w0"), vim.fn.line("."), vim.api.nvim_get_mode().mode }';
  t.same(await nvim.lua(view), [100, 100, "nt"]);
  await nvim.input(":Gemini<CR>");
  t.match(await layout(nvim), { windows: { length: 1 } });
  await nvim.input(":Gemini<CR>");
  t.same(await nvim.lua(view), [100, 100, "nt"], "after hiding and showing");
  await nvim.input("<C-w>p<C-w>p");
  t.same(await nvim.lua(view), [100, 100, "nt"], "after leaving and entering");
  await nvim.input("G<C-w>p<C-w>p");
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "terminal mode at the end of the output");
});

t.test("several terminals", async (t) => {
  const nvim = await start(t);
  const names =
    "return vim.tbl_map(function(terminal) return terminal.name end, require('gemini-bridge.terminal').list())";
  await nvim.command("Gemini");
  await shows(nvim, /args <>/);
  await nvim.command("Gemini!");
  await shows(nvim, /args <>/, "gemini-2");
  await nvim.command("Gemini name=review --model x");
  await shows(nvim, /args <--model x>/, "review");
  await nvim.command("Gemini --other");
  await shows(nvim, /args <--other>/, "gemini-3");
  t.same(await nvim.lua(names), ["gemini", "gemini-2", "review", "gemini-3"]);
  t.match(await layout(nvim), { current: "gemini-3", windows: { length: 2 } }, "they share a window");

  await nvim.command("Gemini name=review");
  t.match(await layout(nvim), { current: "review", windows: { length: 2 } }, "by name");
  await nvim.command("Gemini --other");
  t.match(await layout(nvim), { current: "gemini-3", windows: { length: 2 } }, "by arguments");
  await nvim.command("Gemini");
  t.match(await layout(nvim), { windows: { length: 1 } }, "without arguments the one used last");
  await nvim.command("Gemini");
  t.match(await layout(nvim), { current: "gemini-3", windows: { length: 2 } });
  t.same(await nvim.lua(names), ["gemini", "gemini-2", "review", "gemini-3"], "none was started twice");
  t.same(await nvim.lua("return vim.fn.getcompletion('Gemini name=r', 'cmdline')"), ["name=review"]);
});

const places: [position: string, expected: object][] = [
  ["position = 'left', size = 50", { column: 0, width: 50, float: false }],
  ["position = 'top', size = 0.5", { row: 0, height: 25, width: 160, float: false }],
  ["position = 'bottom'", { height: 15, width: 160, float: false }],
  ["position = 'float'", { width: 128, height: 38, float: true }],
];
for (const [options, expected] of places) {
  t.test(options, async (t) => {
    const nvim = await start(t, options);
    await nvim.command("Gemini");
    await shows(nvim, /child/);
    const { windows } = await layout(nvim);
    t.match(
      windows.find(({ terminal }) => terminal),
      expected,
    );
    t.equal(windows.length, 2);
    await nvim.command("Gemini");
    t.equal((await layout(nvim)).windows.length, 1);
  });
}

t.test("position = 'tab'", async (t) => {
  const nvim = await start(t, "position = 'tab'");
  await nvim.command("edit a.txt");
  await nvim.command("Gemini");
  await shows(nvim, /child/);
  t.same(await nvim.lua("return { vim.fn.tabpagenr('$'), vim.fn.winnr('$'), vim.b.gemini_terminal }"), [
    2,
    1,
    "gemini",
  ]);
  await nvim.command("tabprevious");
  await nvim.command("Gemini");
  t.same(await nvim.lua("return { vim.fn.tabpagenr('$'), vim.fn.tabpagenr() }"), [2, 2], "goes to its tab");
  await nvim.command("Gemini");
  t.same(await nvim.lua("return { vim.fn.tabpagenr('$'), vim.fn.expand('%:t') }"), [1, "a.txt"]);
});

t.test("hiding the only window leaves another buffer in it", async (t) => {
  const nvim = await start(t);
  await nvim.command("Gemini");
  await shows(nvim, /child/);
  await nvim.command("only");
  await nvim.command("Gemini");
  t.match(await layout(nvim), { windows: [{}], mode: "n" });
  t.notOk((await layout(nvim)).current);
});

t.test("global options stay as they are", async (t) => {
  const nvim = await start(t);
  const options = `local all = {}
    for name, info in pairs(vim.api.nvim_get_all_options_info()) do
      local known, value = pcall(vim.api.nvim_get_option_value, name, { scope = 'global' })
      if known and info.scope ~= 'buf' then all[name] = value end
    end
    return all`;
  const before = await nvim.lua(options);
  await nvim.command("Gemini");
  await shows(nvim, /child/);
  await nvim.command("Gemini");
  await nvim.command("Gemini");
  t.same(await nvim.lua(options), before);
});

t.test("the end of the CLI closes its window, a failure leaves it to be read", async (t) => {
  const nvim = await start(t, "cmd = { 'sh', '-c', 'read code; echo ends; exit $code' }");
  await nvim.command("Gemini");
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "terminal mode");
  await nvim.input("3<CR>");
  await nvim.waitFor("#require('gemini-bridge.terminal').list() == 0", "the failure");
  t.equal((await layout(nvim)).windows.length, 2);
  await nvim.input("<C-\\><C-n>");
  await nvim.command("Gemini");
  t.equal((await layout(nvim)).windows.length, 2, "the next one takes its place");
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "terminal mode");
  await nvim.input("0<CR>");
  await nvim.waitFor("#vim.api.nvim_list_wins() == 1", "the window to close");
  t.equal(
    await nvim.lua(
      "return #vim.tbl_filter(function(buf) return vim.bo[buf].buftype == 'terminal' end, vim.api.nvim_list_bufs())",
    ),
    0,
  );
});

t.test("closing the terminal ends the CLI and its children", async (t) => {
  const nvim = await start(t);
  await nvim.command("Gemini");
  const child = childPid(await shows(nvim, /child <\d+>/));
  const cli = Number(await nvim.lua("return require('gemini-bridge.terminal').last().pid"));
  t.ok(isAlive(child) && isAlive(cli));
  await nvim.command("bwipeout!");
  await nvim.waitFor(() => !isAlive(child) && !isAlive(cli), "the processes to end");
  t.equal(await nvim.lua("return #require('gemini-bridge.terminal').list()"), 0);
});

const ends: [how: string, end: (nvim: Nvim) => Promise<void> | void][] = [
  [":qa!", (nvim) => nvim.nvim.notify("nvim_command", ["qa!"])],
  [":qa", (nvim) => nvim.nvim.notify("nvim_command", ["qa"])],
  ["SIGTERM", (nvim) => nvim.kill("SIGTERM")],
  ["SIGHUP", (nvim) => nvim.kill("SIGHUP")],
  ["SIGKILL", (nvim) => nvim.kill("SIGKILL")],
];
for (const [how, end] of ends) {
  t.test(`${how} ends the CLI and its children`, async (t) => {
    const nvim = await start(t);
    await nvim.command("Gemini");
    const child = childPid(await shows(nvim, /child <\d+>/));
    const cli = Number(await nvim.lua("return require('gemini-bridge.terminal').last().pid"));
    await nvim.command("Gemini");
    await end(nvim);
    await nvim.exited;
    if (how === "SIGKILL") await waitFor(() => ![child, cli].some(isAlive), "the guard to end them");
    t.notOk([child, cli].some(isAlive), "nothing is left when Neovim has ended");
  });
}

t.test("what cannot run is told", async (t) => {
  const missing = await start(t, "cmd = { 'no-such-cli' }");
  await missing.input(":Gemini<CR>");
  t.match(await missing.messages(), /no-such-cli cannot be run: install it, or set the option terminal\.cmd/);
  t.equal((await layout(missing)).windows.length, 1);
  t.match(
    await missing.lua("return require('gemini-bridge').status()"),
    { state: "stopped" },
    "nothing was started",
  );

  const nowhere = await start(t, "cwd = '/no/such/directory'");
  await nowhere.input(":Gemini<CR>");
  t.match(await nowhere.messages(), /terminal\.cwd: \/no\/such\/directory is no directory/);

  const hostless = await startNvim(t, {
    init: "require('gemini-bridge').setup({ node = 'no-such-node', terminal = { cmd = { 'sh' } } })",
  });
  await hostless.input(":Gemini<CR>");
  await hostless.waitFor("#vim.api.nvim_list_wins() == 1", "the window to close");
  t.match(await hostless.messages(), /cannot run no-such-node/);
});

t.test("the first one tells of /ide enable, once", async (t) => {
  const fake = { "bin/gemini": "#!/bin/sh\nexec cat\n" };
  const init = `
    vim.uv.fs_chmod(vim.fn.getcwd() .. '/bin/gemini', 448)
    vim.env.PATH = vim.fn.getcwd() .. '/bin:' .. vim.env.PATH`;
  const reminders = async (nvim: Nvim) => (await nvim.messages()).match(/\/ide enable/g)?.length ?? 0;
  const ready = "vim.api.nvim_get_mode().mode == 't'";

  const unset = await startNvim(t, { files: fake, init });
  await unset.command("Gemini");
  await unset.waitFor(ready, "the terminal");
  await unset.command("Gemini!");
  await unset.waitFor("(require('gemini-bridge.terminal').last() or {}).pid", "the second terminal");
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
  t.equal(await reminders(set), 0);
});

t.test("a user's function opens the terminal", async (t) => {
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
  const nvim = await start(t, open);
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
    await nvim.lua("return #require('gemini-bridge.terminal').list()"),
    0,
    "outside of Neovim there is none",
  );
});
