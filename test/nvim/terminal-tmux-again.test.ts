/** Panes of tmux: one that a Neovim has left, one in an odd directory, and none. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { writeFiles } from "../support/sandbox.ts";
import { enterTmux } from "../support/tmux.ts";
import {
  opened,
  panes,
  socketOf,
  startEditor,
  startInTmux,
  terminalNames,
  told,
} from "../support/tmux-terminal.ts";

t.test("the next Neovim finds the pane again", async (t) => {
  const { nvim: before, tmux, own } = await startInTmux(t);
  await before.command("Gemini name=my\\ tests");
  const pane = await opened(before, tmux);
  tmux("select-pane", "-t", own);

  const beside = await startEditor(t, { cwd: before.dirs.workspace });
  await enterTmux(beside, socketOf(before), own);
  await beside.command("Gemini");
  await opened(beside, tmux, 3);
  t.same(await terminalNames(beside), ["gemini"], "that of a Neovim that lives is not taken");
  tmux("select-pane", "-t", own);

  before.kill();
  await before.exited;
  t.equal(panes(tmux).length, 3, "a pane stays when Neovim ends");
  const after = await startEditor(t, { cwd: before.dirs.workspace });
  await enterTmux(after, socketOf(before), own);
  await after.command("Gemini");
  t.match(
    panes(tmux).find(({ active }) => active),
    { id: pane.id },
  );
  t.equal(panes(tmux).length, 3, "none is opened");
  t.same(await terminalNames(after), ["my tests"]);
  t.match(
    await after.messages(),
    /my tests was started by an earlier Neovim\. To connect it, type \/ide enable in it/,
  );
  await after.command("Gemini");
  t.equal((await after.messages()).match(/earlier/g)?.length, 1, "said once");

  const elsewhere = await startEditor(t, { cwd: before.dirs.home });
  await enterTmux(elsewhere, socketOf(before), own);
  after.kill();
  await after.exited;
  await elsewhere.command("Gemini");
  await opened(elsewhere, tmux, 4);
});

t.test("the name of a directory is not executed by tmux", async (t) => {
  const cwd = "#(touch pwned) #{pane_id} it's";
  const { nvim, tmux } = await startInTmux(t, { terminal: `cwd = vim.fn.getcwd() .. "/${cwd}"` });
  writeFiles(nvim.path(cwd), { file: "" });
  await nvim.command("Gemini");
  await opened(nvim, tmux);
  t.match(readFileSync(told(nvim), "utf8"), `<${nvim.path(cwd)}>`);
  for (const directory of [nvim.path(cwd), nvim.dirs.workspace, nvim.dirs.home, "/tmp"])
    t.notOk(existsSync(join(directory, "pwned")), directory);
});

t.test("without tmux, a message says so", async (t) => {
  const nvim = await startEditor(t);
  await nvim.lua("vim.env.TMUX, vim.env.TMUX_PANE = nil, nil");
  await nvim.command("Gemini");
  await nvim.waitFor(
    "vim.fn.execute('messages'):find('needs a Neovim that runs in tmux')",
    "the message",
    10_000,
  );
  t.same(await terminalNames(nvim), []);
  await enterTmux(nvim, "/no/such/socket", "%0");
  await nvim.command("Gemini");
  await nvim.waitFor("vim.fn.execute('messages'):find('my.cli was not started: tmux: ')", "the message");
  t.same(await terminalNames(nvim), []);
});
