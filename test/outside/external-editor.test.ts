import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import { z } from "zod";
import type { Cli } from "../support/cli.ts";
import { geminiIn, startWithGemini } from "../support/gemini.ts";
import { type Nvim, type NvimOptions, startNvim } from "../support/nvim.ts";

t.setTimeout(240_000);

const FILES = { "greet.js": "const greeting = 'Hello';\nconsole.log(greeting);\n" };

const EDIT = "\x07"; // Ctrl-G

const Windows = z.array(z.object({ name: z.string(), height: z.int(), width: z.int(), hidden: z.boolean() }));
const WINDOWS = `
return vim.tbl_map(function(win)
  return {
    name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)), ':t'),
    height = vim.api.nvim_win_get_height(win),
    width = vim.api.nvim_win_get_width(win),
    hidden = vim.api.nvim_win_get_config(win).hide or false,
  }
end, vim.api.nvim_tabpage_list_wins(0))`;

const windows = async (nvim: Nvim) => Windows.parse(await nvim.lua(WINDOWS));
const isEditing = "vim.fn.expand('%:t') == 'buffer.txt' and vim.api.nvim_get_mode().mode == 'n'";
const isTyping = "vim.b.gemini_terminal == 'gemini' and vim.api.nvim_get_mode().mode == 't'";

/** Starts a Neovim with the focus in a CLI that accepts input. */
async function start(t: Test, options: NvimOptions = {}): Promise<{ nvim: Nvim; cli: Cli }> {
  const { nvim } = await startWithGemini(t, { ...options, files: { ...FILES, ...options.files } });
  await nvim.command("edit greet.js");
  await nvim.input(":Gemini<CR>");
  const cli = await geminiIn(nvim);
  await cli.waitForScreen(/Type your message/, 60_000);
  await nvim.waitFor(isTyping, "the focus in the CLI");
  await nvim.waitFor("#require('gemini-bridge').shared().files == 1", "it to connect");
  return { nvim, cli };
}

t.test("the CLI's external editor opens in this Neovim", async (t) => {
  const { nvim, cli } = await start(t);
  const before = await windows(nvim);
  await nvim.input("hello there");
  await cli.waitForScreen(/> hello there/);

  await t.test("the CLI's text opens in a focused window above the terminal", async (t) => {
    await nvim.input(EDIT);
    await nvim.waitFor(isEditing, "the text");
    const [file, text, terminal] = await windows(nvim);
    t.match(file, { name: "greet.js", height: before[0]?.height });
    t.match(text, { name: "buffer.txt", width: before[1]?.width });
    t.match(terminal, { width: before[1]?.width });
    t.same(await nvim.lua("return vim.fn.getline(1, '$')"), ["hello there"]);
    t.same(await nvim.lua("return require('gemini-bridge').shared().files"), [nvim.path("greet.js")]);
  });

  await t.test(":wq returns the edited text to the CLI, and the focus to the terminal", async (t) => {
    await nvim.input("A, friend<CR>and more<Esc>");
    await nvim.input(":GeminiSend --text afterwards<CR>:wq<CR>");
    await nvim.waitFor(isTyping, "the focus in the CLI");
    await cli.waitForScreen(/> hello there, friend\s+and more/, 20_000);
    t.same(await windows(nvim), before);
    await cli.waitForScreen(/and more afterwards/, 20_000);
  });

  await t.test(":q! returns the unchanged text to the CLI", async (t) => {
    await nvim.input(EDIT);
    await nvim.waitFor(isEditing, "the text");
    // If the key arrives while the CLI draws, the text may be older than the screen.
    const lines = () => nvim.lua("return vim.fn.getline(1, '$')");
    const given = await lines();
    t.match(given, ["hello there, friend"]);
    await nvim.input("ggdGigone<Esc>:q!<CR>");
    await nvim.waitFor(isTyping, "the focus in the CLI");
    t.same(await windows(nvim), before);
    // The CLI drops keys until it reads the keyboard again.
    const again = async () => (await nvim.lua(`return ${isEditing}`)) || (await nvim.input(EDIT));
    await nvim.waitFor(again, "the text, again");
    t.same(await lines(), given);
    await nvim.input(":q<CR>");
  });

  await t.test("after Neovim has ended, its program only says so", async (t) => {
    const editor = await programOf(nvim);
    nvim.nvim.notify("nvim_command", ["qa"]);
    await nvim.exited;
    saysThatNeovimHasEnded(t, editor);
  });
});

/** Returns the path of the program that a Neovim sets as VISUAL in its terminals. */
const programOf = async (nvim: Nvim) =>
  z
    .string()
    .parse(await nvim.lua("return require('gemini-bridge.terminal.external_editor').environment({}).VISUAL"));

function saysThatNeovimHasEnded(t: Test, editor: string): void {
  const { status, stdout, stderr } = spawnSync(editor, ["--wait", "/tmp/x"], { env: {}, timeout: 10_000 });
  t.equal(status, 1);
  t.equal(String(stdout), "");
  t.match(
    String(stderr),
    /^\ngemini-bridge: the Neovim of this terminal has ended\. Start the CLI again with :Gemini\.\n$/,
  );
}

t.test("no other user can create a program that a CLI starts as editor", async (t) => {
  const first = await startNvim(t);
  const editor = await programOf(first);
  const folder = dirname(editor);
  t.equal(dirname(folder), first.dirs.state, "the folder is not in the shared temporary folder");
  t.equal(statSync(folder).mode & 0o7777, 0o700);
  t.equal(statSync(editor).mode & 0o7777, 0o700);
  t.notMatch(editor, /\s/, "the CLI splits the command at blanks");
  // A socket in Neovim's temporary folder could be created by another user after Neovim has ended.
  for (const socket of z.array(z.string()).parse(await first.lua("return vim.fn.serverlist()")))
    if (readFileSync(editor, "utf8").includes(socket)) t.equal(dirname(socket), folder);

  first.kill();
  await first.exited;
  saysThatNeovimHasEnded(t, editor);
  t.ok(existsSync(`${editor}.socket`), "the socket of a killed Neovim has stayed");

  const old = new Date(Date.now() - 8 * 24 * 3600 * 1000);
  const unused = join(folder, "4194305-1");
  writeFileSync(unused, "");
  for (const path of [unused, `${editor}.socket`]) utimesSync(path, old, old);
  const second = await startNvim(t, { after: first });
  t.not(await programOf(second), editor, "each Neovim has its own program");
  t.notOk(existsSync(unused), "what was not used for a week is deleted");
  t.notOk(existsSync(`${editor}.socket`));
  t.ok(existsSync(editor), "a program that was used stays");

  chmodSync(folder, 0o777);
  const third = await startNvim(t, { after: second });
  await programOf(third);
  t.equal(statSync(folder).mode & 0o7777, 0o700);
  renameSync(folder, `${folder}-`);
  symlinkSync(`${folder}-`, folder);
  const linked = await startNvim(t, { after: third });
  const environment = await linked.lua(
    "return require('gemini-bridge.terminal.external_editor').environment({})",
  );
  t.same(environment, [], "a link in place of the folder is not followed");
});

t.test("a floating terminal is hidden while the user edits the CLI's text", async (t) => {
  const { nvim, cli } = await start(t, {
    init: "require('gemini-bridge').setup({ terminal = { position = 'float' } })",
  });
  await nvim.input("one");
  await cli.waitForScreen(/> one/);
  await nvim.input(EDIT);
  await nvim.waitFor(isEditing, "the text");
  t.equal((await windows(nvim)).find(({ hidden }) => hidden)?.name.includes("gemini"), true);
  await nvim.input("Atwo<Esc>ZZ");
  await nvim.waitFor(isTyping, "the focus in the CLI");
  await cli.waitForScreen(/> onetwo/, 20_000);
});

t.test("an editor that the user sets for terminals takes precedence over this Neovim", async (t) => {
  const { nvim, cli } = await start(t, {
    files: { "own-editor": "#!/bin/sh\nprintf 'edited by me' >\"$1\"\n" },
    init: `
      vim.uv.fs_chmod('own-editor', tonumber('755', 8))
      require('gemini-bridge').setup({ terminal = { env = { EDITOR = vim.fn.getcwd() .. '/own-editor' } } })`,
  });
  await nvim.input(EDIT);
  await cli.waitForScreen(/> edited by me/, 20_000);
  t.equal(await nvim.lua("return vim.env.VISUAL"), null, "Neovim's own environment is as it was");
});

t.test(
  "if the CLI's terminal is not focused, opening its external editor does not move the focus",
  async (t) => {
    const { nvim } = await startWithGemini(t, { files: FILES });
    await nvim.command("edit greet.js");
    const editor = await programOf(nvim);
    await nvim.lua(
      "_G.job = vim.fn.jobstart({ ... }, { on_exit = function(_, code) _G.code = code end })",
      ...[editor, "--wait", nvim.path("greet.js.txt")],
    );
    await nvim.waitFor("#vim.api.nvim_tabpage_list_wins(0) == 2", "its window");
    t.equal(await nvim.lua("return vim.fn.expand('%:t')"), "greet.js", "the focus stays");
    t.match(await nvim.messages(), /The CLI has opened a text for you to edit/);
    await nvim.input("<C-w>k:wq<CR>");
    await nvim.waitFor("_G.code == 0", "its end");
  },
);
