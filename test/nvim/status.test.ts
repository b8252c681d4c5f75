import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import t from "tap";
import { z } from "zod";
import { RunningBridge } from "../support/bridge.ts";
import { readDiscovery } from "../support/client.ts";
import { type Nvim, startNvim } from "../support/nvim.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);

/** Waits until the screen or view shows a text. On failure, reports the content. */
async function onScreen(
  nvim: Nvim,
  what: string,
  read: () => Promise<string>,
  shows: (text: string) => boolean,
) {
  await nvim
    .waitFor(async () => shows(await read()), what)
    .catch(async (error: unknown) => {
      throw new Error(`${what} is not shown:\n${await read()}`, { cause: error });
    });
}

const statusline = (nvim: Nvim) => nvim.lua("return require('gemini-bridge').statusline()");
const view = async (nvim: Nvim) =>
  z
    .array(z.string())
    .parse(await nvim.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)"))
    .join("\n");
const viewShows = (nvim: Nvim, pattern: RegExp) =>
  onScreen(
    nvim,
    `${pattern}`,
    () => view(nvim),
    (text) => pattern.test(text),
  );

t.test("statusline() returns the state, and the status line is redrawn", async (t) => {
  const nvim = await startNvim(t, {
    files: { "a.txt": "one two\nthree\n", ".env": "SECRET=1\n" },
    init: `vim.o.laststatus, vim.o.statusline = 2, "[%{v:lua.require'gemini-bridge'.statusline()}]"`,
    tui: true,
    args: ["a.txt"],
  });
  const drawn = (text: string) =>
    nvim.waitFor(async () => (await nvim.screen()).some((line) => line.startsWith(`[${text}]`)), text);
  const listed = (text: string) =>
    nvim.waitFor(
      `table.concat(require('gemini-bridge.report.status_view').lines(), '\\n'):find('${text}', 1, true)`,
      text,
    );
  t.equal(await statusline(nvim), "");
  await drawn("");
  await nvim.startBridge();
  t.equal(await statusline(nvim), "Gemini: waiting");
  await drawn("Gemini: waiting");
  const client = await new RunningBridge(t, nvim).client("a-cli");
  await drawn("Gemini: connected");
  await nvim.input("ve");
  await listed("a.txt, 3 characters selected");
  await nvim.input("<Esc>:edit .env<CR>");
  await drawn("Gemini: connected, file not shared");
  await listed(".env is not shared");
  await nvim.input(":edit a.txt<CR>");
  await drawn("Gemini: connected");
  await client.openDiff(nvim.path("a.txt"), "b\n");
  await drawn("Gemini: 1 review");
  await client.openDiff(nvim.path("b.txt"), "b\n");
  await drawn("Gemini: 2 reviews");
  await client.closeDiff(nvim.path("b.txt"));
  await client.closeDiff(nvim.path("a.txt"));
  await drawn("Gemini: connected");
  await nvim.command("GeminiShare off");
  await drawn("Gemini: connected, paused");
  await client.waitForNotification(
    "ide/contextUpdate",
    ({ workspaceState }) => workspaceState?.openFiles?.length === 0,
  );
  await nvim.command("GeminiShare on");
  await drawn("Gemini: connected");
  await client.close();
  await drawn("Gemini: waiting");
  t.notMatch(JSON.stringify(client.received), /SECRET|\.env/);
  await nvim.command("GeminiStop");
  await drawn("");
});

t.test("status() has the documented fields, and no internal data", async (t) => {
  const nvim = await startNvim(t);
  await nvim.startBridge();
  await new RunningBridge(t, nvim).client("cli");
  const [fields, client] = z.tuple([z.array(z.string()), z.array(z.string())]).parse(
    await nvim.lua(
      `local status = require('gemini-bridge').status()
        return { vim.fn.sort(vim.tbl_keys(status)), vim.fn.sort(vim.tbl_keys(status.clients[1])) }`,
    ),
  );
  t.same(fields, ["clients", "diffs", "discovery_file", "pid", "port", "state", "workspace"]);
  t.same(client, ["activity", "cli", "hooks", "id", "name", "version"]);
});

t.test("the view of :GeminiStatus is updated", async (t) => {
  const nvim = await startNvim(t, {
    files: { "a.txt": "one\n", "b.txt": "two\n" },
    args: ["b.txt", "a.txt"],
  });
  await nvim.command("GeminiStatus");
  await viewShows(nvim, /^State +stopped, :GeminiStart starts it\n[\s\S]*^Log +\S+gemini-bridge\.log$/m);
  t.equal(await nvim.lua("return vim.bo.modifiable"), false);
  await nvim.startBridge();
  await viewShows(nvim, /^State +running on port \d+, process \d+$/m);
  await viewShows(nvim, new RegExp(`^Workspace +${nvim.dirs.workspace}$`, "m"));
  await viewShows(nvim, /^Discovery +\S+gemini-ide-server-\d+-\d+\.json$/m);
  await viewShows(nvim, /^Clients +none yet/m);
  const client = await new RunningBridge(t, nvim).client("a-cli");
  await viewShows(
    nvim,
    /^Clients +a-cli 0\.61\.0, connected for \d+ s, has not reported its edits yet: the extension is not installed, run :GeminiExtension install$/m,
  );
  await viewShows(nvim, /^Shared +b\.txt$/m);
  await client.openDiff(nvim.path("a.txt"), "b\n");
  await viewShows(nvim, /^Reviews +a\.txt, from a-cli/m);
  await nvim.command("GeminiShare off");
  await viewShows(nvim, /^Shared +nothing, because sharing is paused; :GeminiShare on resumes sharing$/m);
  const windows = await nvim.lua("return #vim.api.nvim_list_wins()");
  await nvim.command("GeminiStatus");
  t.equal(await nvim.lua("return #vim.api.nvim_list_wins()"), windows, "there is one view");
  await nvim.command("GeminiStop");
  await viewShows(nvim, /^State +stopped/m);
  await nvim.input("q");
  t.equal(await nvim.lua("return vim.fn.bufnr('gemini-bridge://status')"), -1, "q closes it");
});

t.test(":GeminiStatus shows to which of several Neovims a CLI outside Neovim connects", async (t) => {
  const first = await startNvim(t, { tui: true });
  await first.startBridge();
  const second = await startNvim(t, {
    tui: true,
    cwd: first.dirs.workspace,
    env: { TMPDIR: first.dirs.tmp },
  });
  await second.startBridge();
  const files = readDiscovery(first.dirs.tmp);
  t.equal(files.length, 2);
  const winner = Math.max(...files.map(({ pid }) => pid));
  const own = async (nvim: Nvim) =>
    Number(
      /gemini-ide-server-(\d+)-/.exec(
        String(await nvim.lua("return require('gemini-bridge').status().discovery_file")),
      )?.[1],
    );
  for (const nvim of [first, second]) {
    await nvim.command("GeminiStatus");
    const expected =
      (await own(nvim)) === winner ? "connects to this Neovim." : `connects to process ${winner}.`;
    const says = `Editors     2 editors have this directory open. A CLI outside of these editors ${expected}`;
    await t.resolves(viewShows(nvim, new RegExp(`^${says.replace(".", "\\.")}$`, "m")), says);
  }
});

const Environment = z.record(z.string(), z.string());

t.test(":GeminiEnv connects a CLI in another shell to this Neovim", async (t) => {
  const nvim = await startNvim(t, { env: { no_proxy: "it's,$HOME" } });
  await nvim.input(":GeminiEnv<CR>");
  t.match(await nvim.messages(), /The bridge is not running/);
  await nvim.startBridge();
  const printed = await nvim.lua("return vim.fn.execute('GeminiEnv')");
  const copied = String(await nvim.lua("return vim.fn.getreg('\"')"));
  t.match(printed, copied, "what is printed is copied");
  t.match(printed, /\n# These lines were copied to .*: run them in a shell, then start the CLI there\.$/);
  const script = `${copied}\nexec '${process.execPath}' -p 'JSON.stringify(process.env)'`;
  const got = Environment.parse(
    JSON.parse(execFileSync("env", ["-i", "sh", "-c", script], { encoding: "utf8" })),
  );
  const names = ["SERVER_PORT", "WORKSPACE_PATH", "AUTH_TOKEN", "PID"].map(
    (name) => `GEMINI_CLI_IDE_${name}`,
  );
  for (const name of names) t.equal(got[name], await nvim.lua("return vim.env[...]", name), name);
  t.equal(got["no_proxy"], "it's,$HOME,127.0.0.1,localhost");

  t.same(await nvim.lua("return vim.fn.getcompletion('GeminiEnv ', 'cmdline')"), [
    "--sh",
    "--fish",
    "--tmux",
  ]);
  await nvim.input(":GeminiEnv --fish<CR>");
  t.match(
    await nvim.lua("return vim.fn.getreg('\"')"),
    "set -gx no_proxy 'it\\'s,$HOME,127.0.0.1,localhost'",
  );
  await nvim.input(":GeminiEnv --tmux<CR>");
  t.match(
    await nvim.lua("return vim.fn.getreg('\"')"),
    /^tmux set-environment GEMINI_CLI_IDE_SERVER_PORT '\d+'$/m,
  );
  await nvim.input(":GeminiEnv --zsh<CR>");
  t.match(await nvim.messages(), /Unknown option --zsh\. Known: --sh, --fish, --tmux/);

  // In a shell, the pasted name would cancel the line and run the next one.
  const changed = async (directory: string) => {
    mkdirSync(directory);
    await nvim.lua("vim.uv.chdir(...) vim.fn.chdir('.')", directory);
    const path = "vim.env.GEMINI_CLI_IDE_WORKSPACE_PATH";
    await nvim.waitFor(`${path} == vim.fn.getcwd()`, "the directory");
    await nvim.lua("vim.fn.setreg('\"', '')");
  };
  await changed(nvim.path("a;"));
  await nvim.command("GeminiEnv --tmux");
  t.match(await nvim.lua("return vim.fn.getreg('\"')"), ` '${nvim.path("a\\;")}'\n`);
  await changed(nvim.path("a\x03touch pwned\r"));
  await nvim.command("GeminiEnv");
  await nvim.says("GEMINI_CLI_IDE_WORKSPACE_PATH contains a control character");
  t.equal(await nvim.lua("return vim.fn.getreg('\"')"), "", "nothing is copied");
});

t.test(":GeminiLog reports that the log cannot be written", async (t) => {
  const init = "vim.env.XDG_STATE_HOME = vim.fn.getcwd() .. '/a-file'";
  const nvim = await startNvim(t, { init, files: { "a-file": "" }, env: { XDG_STATE_HOME: "" } });
  await nvim.startBridge();
  await nvim.command("GeminiLog");
  await nvim.says(/The bridge could not write its log\. Check the directory .*\/a-file\/nvim/);
});

t.test(":GeminiLog reports that nothing was logged", async (t) => {
  const nvim = await startNvim(t, { init: "require('gemini-bridge').setup({ log = { level = 'error' } })" });
  await nvim.startBridge();
  await nvim.command("GeminiLog");
  await nvim.says("The bridge has logged nothing yet. The option log.level sets how much is logged.");
});

t.test(":GeminiLog opens the log, even if its path contains special characters", async (t) => {
  const nvim = await startNvim(t, {
    init: "local odd = vim.fn.getcwd() .. '/o d#d %1 `date` $HOME'\nvim.fn.mkdir(odd)\nvim.env.XDG_STATE_HOME = odd",
    env: { XDG_STATE_HOME: "" },
  });
  await nvim.input(":GeminiLog<CR>");
  t.match(await nvim.messages(), /There is no log file yet/);
  await nvim.startBridge();
  // The host writes the first line just after the bridge has reported that it runs.
  const logged = `table.concat(vim.fn.readfile(require("gemini-bridge.host.boot").log_file())):find("listening", 1, true)`;
  await nvim.waitFor(logged, "the first line of the log");
  await nvim.command("GeminiLog");
  t.match(
    await nvim.lua("return vim.api.nvim_buf_get_name(0)"),
    "/o d#d %1 `date` $HOME/nvim/gemini-bridge.log",
  );
  t.match(await view(nvim), /listening on port/);
});

t.test("every command has a description and a <Plug> mapping", async (t) => {
  const nvim = await startNvim(t);
  const bare = await nvim.lua(`
    local bare = {}
    for name, command in pairs(vim.api.nvim_get_commands({})) do
      if name:find('^Gemini') then
        local map = vim.fn.maparg('<Plug>(' .. name .. ')', 'n', false, true)
        if command.definition == '' or map.desc ~= command.definition then bare[#bare + 1] = name end
      end
    end
    return bare`);
  t.same(bare, []);
});

t.test(
  "q in the view of :GeminiStatus returns to the previous window, and does not end Neovim",
  async (t) => {
    const nvim = await startNvim(t);
    const name = () => nvim.lua("return vim.fn.bufname()");
    await nvim.input(":GeminiStatus<CR>:only<CR>q");
    t.equal(await name(), "gemini-bridge://status");
    await nvim.input(":new<CR><C-w>pq");
    t.equal(await name(), "");

    await nvim.lua("vim.cmd('vertical botright split') vim.cmd.terminal('cat')");
    const where = () => nvim.lua("return { vim.api.nvim_get_current_win(), vim.api.nvim_get_mode().mode }");
    const before = await where();
    t.match(before, [/./, "nt"], "a terminal in Normal mode");
    await nvim.input(":GeminiStatus<CR>");
    t.equal(await name(), "gemini-bridge://status");
    await nvim.input("q");
    t.same(await where(), before);

    await nvim.command("botright 20vnew");
    await nvim.command("GeminiStatus");
    const widths = await nvim.lua("return { vim.api.nvim_win_get_width(0), vim.o.columns }");
    t.same(widths, [160, 160], "as wide as the editor, also from a narrow window");
  },
);

t.test("the view of :GeminiStatus is updated after a text lock", async (t) => {
  const nvim = await startNvim(t, {
    init: `vim.keymap.set('n', '<F2>', function() vim.fn.getcharstr() return '' end, { expr = true })`,
  });
  await nvim.command("GeminiStatus");
  await viewShows(nvim, /State +stopped/);
  await nvim.input("<F2>");
  await nvim.lua("require('gemini-bridge.bridge.status').emit('GeminiChanged', {})");
  await nvim.startBridge();
  t.match(await view(nvim), /State +stopped/);
  await nvim.input("x");
  await viewShows(nvim, /State +running/);
  t.notMatch(await nvim.messages(), /E\d+:|stack traceback/);
});

t.test(
  ":GeminiStatus and :GeminiLog work from a float, and while another Neovim shows the log",
  async (t) => {
    const nvim = await startNvim(t);
    await nvim.startBridge();
    const float = `vim.api.nvim_open_win(vim.api.nvim_create_buf(false, true), true,
    { relative = 'editor', row = 1, col = 1, width = 20, height = 5 })`;
    const current = "return vim.api.nvim_win_get_config(0).relative .. vim.api.nvim_buf_get_name(0)";
    await nvim.lua(float);
    await nvim.input(":GeminiStatus<CR>");
    t.equal(await nvim.lua(current), "gemini-bridge://status");
    await nvim.lua(float);
    await nvim.input(":GeminiLog<CR>");
    t.match(await nvim.lua(current), /^\/.*\.log$/);
    t.equal(await nvim.lua("return vim.bo.swapfile"), false);
    t.notMatch(await nvim.messages(), /E\d+:/);
  },
);
