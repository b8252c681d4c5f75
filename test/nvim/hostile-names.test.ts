/**
 * Shows names that a repository or a client chooses in every place that shows or passes on names. No name may be
 * executed, expanded or shown as another name.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { z } from "zod";
import { ATTACHED } from "../support/attached.ts";
import { RunningBridge } from "../support/bridge.ts";
import { connectClient } from "../support/client.ts";
import { HookedAgent } from "../support/hooked-agent.ts";
import { type Nvim, startNvim } from "../support/nvim.ts";

/** Names of files and directories. A program that executes one of them creates a file called `pwned`. */
const NAMES = [
  "a\n#x",
  "a\n\\ b",
  "#(touch pwned)",
  "#[fg=red]#{pane_id}",
  "%{%writefile([],'pwned')%}",
  "%!writefile([],'pwned')",
  "%#Error#%=%%",
  "$HOME",
  "$GEMINI_CLI_IDE_AUTH_TOKEN",
  "$" + "{PATH}",
  "`touch pwned`",
  "`=`",
  "`=writefile([],'pwned')`",
  "$(touch pwned)",
  `"q' '`,
  "a|!touch pwned",
  "'; touch pwned; '",
  "<C-R>=writefile([],'pwned')<CR>",
  "+!touch pwned",
  "-x",
  "~",
  "a\tb\\0^@%00\u2400",
  "\x1b]0;title\x07\x03\x7f",
  "[a]{b,c}*?",
  "\u202e\u2028\u009b2J",
  "@a;",
];

const Lines = z.array(z.string());

const CONTROL = /(?!\n)\p{Cc}/u;

const INIT = `
  vim.o.title, vim.o.showtabline, vim.o.laststatus = true, 2, 2
  vim.o.statusline = "%f %{v:lua.require'gemini-bridge'.statusline()}"
  package.preload['lualine.component'] = function()
    return { extend = function(self) return setmetatable({}, { __index = self }) end }
  end
  vim.ui.select = function(items, opts, choose)
    _G.asked = vim.tbl_map(opts.format_item or tostring, items)
    choose(nil)
  end
  _G.agent = vim.fn.getcwd() .. '/../home/agent.sh'
  require('gemini-bridge').setup({ terminal = { cmd = { 'sh', _G.agent } } })`;

const AGENT = `${ATTACHED}; printf %s "$PWD" >"$HOME/directory"; echo ready; exec cat\n`;

async function start(t: Test) {
  const files = Object.fromEntries(NAMES.map((name) => [name, "old\n"]));
  const nvim = await startNvim(t, {
    files: { "../home/agent.sh": AGENT, ...files },
    init: INIT,
    tui: { columns: 200, lines: 60 },
  });
  await nvim.startBridge();
  return { nvim, bridge: new RunningBridge(t, nvim) };
}

/** Fails if a name was executed, or if a message contains an error, the token, or bytes that control the terminal. */
async function isHarmless(t: Test, nvim: Nvim, place: string): Promise<void> {
  await nvim.command("redraw!");
  const found = readdirSync(nvim.dirs.base, { recursive: true, encoding: "utf8" });
  t.same(
    found.filter((path) => path.endsWith("/pwned")),
    [],
    `${place}: nothing is executed`,
  );
  const messages = await nvim.messages();
  const token = String(await nvim.lua("return vim.env.GEMINI_CLI_IDE_AUTH_TOKEN"));
  t.notOk(messages.includes(token), `${place}: no message contains the token`);
  t.notMatch(messages, /\bE\d+:|stack traceback/, place);
  t.notMatch(messages, CONTROL, place);
  await nvim.command("messages clear");
}

const asked = async (nvim: Nvim) => Lines.parse(await nvim.lua("return _G.asked"));

t.test("no name is executed or expanded where it is shown or passed on", async (t) => {
  const { nvim, bridge } = await start(t);
  const agent = new HookedAgent(bridge);

  await t.test("names of files", async (t) => {
    await nvim.lua(
      "for _, path in ipairs(...) do vim.fn.bufload(vim.fn.bufadd(path)) end",
      NAMES.map((name) => nvim.path(name)),
    );
    for (const name of NAMES) await agent.write(name, "new\n");
    await agent.done();
    await nvim.waitFor(`#require('gemini-bridge').changes() == ${NAMES.length}`, "the changes");
    const texts = `local paths, texts = ..., {}
      for _, path in ipairs(paths) do
        local buf = vim.iter(vim.api.nvim_list_bufs()):find(function(b) return vim.api.nvim_buf_get_name(b) == path end)
        texts[#texts + 1] = path .. table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), '/')
      end
      return texts`;
    const paths = NAMES.map((name) => nvim.path(name));
    const reloaded = async () =>
      JSON.stringify(await nvim.lua(texts, paths)) === JSON.stringify(paths.map((path) => `${path}new`));
    await nvim.waitFor(reloaded, "the buffers to be reloaded").catch(async () => {
      t.same(
        await nvim.lua(texts, paths),
        paths.map((path) => `${path}new`),
        "each buffer is reloaded",
      );
    });
    await isHarmless(t, nvim, "reload");
    await nvim.command("GeminiChanges");
    for (const _ of NAMES) await nvim.input("<Down>:redraw!<CR>");
    await isHarmless(t, nvim, "page");
    await nvim.input("q");
    await nvim.command("GeminiChanges!");
    await isHarmless(t, nvim, "quickfix");
    await nvim.command("cclose");
    await nvim.command("GeminiHistory");
    await nvim.waitFor("vim.bo.filetype == 'gemini_history'", "the history");
    await nvim.input("G");
    await isHarmless(t, nvim, "history");
    await nvim.input("q");
    for (const name of NAMES) {
      await nvim.lua("require('gemini-bridge').undo({ path = ..., file = true })", nvim.path(name));
    }
    await nvim.waitFor("#require('gemini-bridge').changes() == 0", "the files to be restored");
    await isHarmless(t, nvim, "undo");
    for (const name of NAMES) await agent.write(name, undefined);
    await nvim.command("GeminiChanges");
    for (const _ of NAMES) await nvim.input("<Down>");
    await isHarmless(t, nvim, "deleted files");
    await nvim.input("q");
    await nvim.command("GeminiUndo! all");
    await nvim.waitFor("#require('gemini-bridge').changes() == 0", "the files to be created again");
    t.ok(NAMES.every((name) => existsSync(nvim.path(name))));
    await isHarmless(t, nvim, "undo all");
  });

  await t.test("names of clients, and of files in reviews", async (t) => {
    const { port, content } = bridge.file();
    for (const name of [...NAMES, "a\0b", "x".repeat(1000)]) {
      const client = await connectClient(t, { port, token: content.authToken, name });
      const path = nvim.path(NAMES.includes(name) ? name : `new ${name.length}`);
      await client.openDiff(path, "proposed\n");
      await nvim.lua("require('gemini-bridge').review({ path = ... })", path);
      await nvim.command("redraw!");
      await nvim.command("GeminiReview");
    }
    await isHarmless(t, nvim, "review");
    const names = z.array(z.object({ name: z.string() })).parse((await bridge.status()).clients);
    t.equal(names.length, NAMES.length + 2);
    for (const { name } of names) t.ok(/^[^\p{C}\p{Zl}\p{Zp}]{1,60}$/u.test(name), JSON.stringify(name));
    const text = String(await nvim.lua("return require('gemini-bridge').statusline()"));
    t.match(text, "%{%writefile([],'pwned')%}");
    for (const line of [
      "require('lualine.components.gemini').update_status()",
      `"%{v:lua.require'gemini-bridge'.statusline()}"`,
    ])
      t.equal(await nvim.lua(`return vim.api.nvim_eval_statusline(${line}, { maxwidth = 9999 }).str`), text);
    await nvim.input(":GeminiStatus<CR>"); // a typed key, because the focus stays in a proposal without one
    await nvim.waitFor("vim.fn.bufname() == 'gemini-bridge://status'", "the status");
    await isHarmless(t, nvim, "status");
    await nvim.input("q");
    await nvim.command("enew");
    await nvim.lua("require('gemini-bridge').accept()");
    t.equal((await asked(nvim)).length, NAMES.length + 2);
    for (const line of await asked(nvim)) t.notMatch(line, /\p{Cc}/u, "picker of reviews");
    for (const { filePath } of (await bridge.status()).diffs)
      await nvim.lua("require('gemini-bridge').reject({ path = ... })", filePath);
    await nvim.waitFor("#require('gemini-bridge').diffs() == 0", "the end of the reviews");
    await isHarmless(t, nvim, "reject");
  });

  await t.test("names of directories and terminals", async (t) => {
    const told = join(nvim.dirs.home, "directory");
    for (const name of NAMES) {
      const directory = nvim.path("directories", name);
      mkdirSync(directory, { recursive: true });
      await nvim.lua("vim.uv.chdir(...) vim.fn.chdir('.')", directory);
      const isAnnounced = () => bridge.file().content.workspacePath === directory;
      await nvim.waitFor(isAnnounced, "the discovery file to name the directory");
      writeFileSync(told, "");
      await nvim.lua("require('gemini-bridge').terminal({ name = ... })", name);
      const isThere = () => execFileSync("cat", [told], { encoding: "utf8" }) === directory;
      await nvim.waitFor(isThere, `the CLI in ${JSON.stringify(directory)}`);
      await nvim.command("redraw!");
      await nvim.lua("require('gemini-bridge').terminal({ name = ... })", name);
      await nvim.lua("vim.cmd('silent GeminiEnv')");
    }
    await nvim.says("GEMINI_CLI_IDE_WORKSPACE_PATH contains a control character");
    await isHarmless(t, nvim, "terminal");
    await nvim.lua("vim.uv.chdir(...) vim.fn.chdir('.')", nvim.dirs.workspace);
    for (const name of NAMES)
      await nvim.lua("require('gemini-bridge').send({ files = { ... } })", nvim.path(name));
    await nvim.waitFor("#require('gemini-bridge.prompt.outbox').list() == 0", "the prompts");
    await nvim.says("A path with a control character cannot be sent: a^@#x. Rename the file");
    await isHarmless(t, nvim, "prompt");
  });

  await t.test("names of branches", async (t) => {
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], {
        cwd: nvim.dirs.workspace,
        stdio: "pipe",
      });
    git("init", "-q");
    git("commit", "-q", "--allow-empty", "-m", "first");
    for (const name of ["%{%system('touch", "`touch", "$HOME", "$(id)", "a|b;c", "#{x}'\"q", "-b"]) {
      git("symbolic-ref", "HEAD", `refs/heads/${name}`);
      await agent.run("echo more >>-x");
    }
    await isHarmless(t, nvim, "branch");
  });
});
