/** Tests unreviewed changes as the user sees them. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import t, { type Test } from "tap";
import { sharePage, startPage } from "../support/page.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);
const open = sharePage(t);

/** Lua that returns the number of autocommands that watch writes, and the loaded modules of the page. */
const WATCHED = `local ok, found = pcall(vim.api.nvim_get_autocmds, { group = 'gemini-bridge.changes' })
return ok and #found or 0`;
const LOADED = `return vim.tbl_filter(function(name)
  return vim.startswith(name, 'gemini-bridge.changes.page.')
end, vim.tbl_keys(package.loaded))`;

t.test("changes are marked, listed, kept and undone by hunk", async (t) => {
  const { nvim, agent, read, lines, changes, signs } = await startPage(t, {
    files: { "a.txt": "1\n2\n3\n4\n5\n6\n" },
    args: ["a.txt"],
  });
  t.same(await nvim.lua(LOADED), [], "without changes, the page is not loaded");
  t.equal(await nvim.lua(WATCHED), 0, "and writes are not watched");
  await nvim.lua(`vim.g.seen = {}
    vim.api.nvim_create_autocmd('User', { pattern = 'GeminiChanged', callback = function(args)
      vim.g.seen = vim.list_extend(vim.g.seen, { args.data.cli .. ' ' .. args.data.path }) end })`);
  await agent.prompt("count in words");
  await agent.write("a.txt", "one\n2\n3\n4\n6\n");
  await agent.write("a.txt", "one\n2\n3\n3a\n3b\n4\n6\n");
  await signs(t, "1-1 ┃, 4-5 ┃, 6-6 ▁", "signs");
  t.not(await nvim.lua(WATCHED), 0);
  t.equal(await lines(), "one 2 3 3a 3b 4 6", "the buffer has followed");
  const ranges = [
    { first: 1, last: 1, conflict: false },
    { first: 4, last: 5, conflict: false },
    { first: 6, last: 6, conflict: false },
  ];
  t.strictSame(await changes(), [
    { path: nvim.path("a.txt"), status: "modified", added: 3, removed: 2, hunks: 3, ranges, cli: "gemini" },
  ]);
  t.same(await nvim.lua("return vim.g.seen"), Array(2).fill(`gemini ${nvim.path("a.txt")}`));
  await agent.done();
  await nvim.says(/gemini changed 1 file \(\+3 -2\): see :GeminiChanges$/m);

  await nvim.input("ggO0<Esc>");
  await signs(t, "2-2 ┃, 5-6 ┃, 7-7 ▁", "they move with the text");
  await nvim.command("w");
  await nvim.input(":5GeminiKeep<CR>");
  await signs(t, "2-2 ┃, 7-7 ▁", "the hunk in the range is kept");
  await nvim.says(/^gemini-bridge: Kept 1 hunk in a\.txt\.$/m);
  t.equal(read("a.txt"), "0\none\n2\n3\n3a\n3b\n4\n6\n");
  await nvim.input("gg:GeminiUndo<CR>");
  await nvim.says(/No unreviewed changes here: :GeminiChanges/);
  await nvim.command("let g:tick = b:changedtick | let g:seq = undotree().seq_cur");
  await nvim.lua("vim.keymap.set('n', ']g', '<Plug>(gemini-next-change)')");
  await nvim.lua("vim.keymap.set('n', '[g', '<Plug>(gemini-prev-change)')");
  await nvim.input("]g:GeminiUndo<CR>");
  await signs(t, "7-7 ▁", "the hunk at the cursor is undone");
  await nvim.says(/^gemini-bridge: Undid 1 hunk in a\.txt\.$/m);
  t.equal(read("a.txt"), "0\n1\n2\n3\n3a\n3b\n4\n6\n");
  t.equal(await lines(), "0 1 2 3 3a 3b 4 6");
  t.equal(await nvim.lua("return vim.bo.modified"), false);
  t.equal(await nvim.lua("return vim.fn.undotree().seq_cur - vim.g.seq"), 1, "in one undo step");
  await nvim.input("u");
  t.equal(await lines(), "0 one 2 3 3a 3b 4 6", "which u takes back");
  await nvim.input("<C-r>gg[g");
  t.equal(await nvim.lua("return vim.fn.line('.')"), 7, "round the beginning to the last one");
  await nvim.input(":GeminiUndo! a.txt<CR>");
  await signs(t, "", "all of the file");
  t.equal(read("a.txt"), "0\n1\n2\n3\n3a\n3b\n4\n5\n6\n");
  t.strictSame(await changes(), []);
  t.equal(await nvim.lua(WATCHED), 0, "nothing is listened to any more");
});

t.test(
  "the list of changes is grouped by turn, shows old lines on demand, and can be decided as a whole",
  async (t) => {
    const latin1 = Buffer.from("caf\xe9\r\nna\xefve\r\n", "latin1");
    const bom = Buffer.from("\uFEFFx\ny");
    const { nvim, agent, read, signs, changed } = await startPage(t, {
      files: { "a.txt": latin1, "b.txt": bom, "gone.txt": "old\n" },
      args: ["a.txt"],
    });
    await agent.prompt("first");
    await agent.write(
      "a.txt",
      Buffer.concat([Buffer.from("top\r\n"), latin1.subarray(0, 6), Buffer.from("new\r\n")]),
    );
    await agent.write("new.txt", "a\n");
    await agent.prompt("second");
    await agent.write("b.txt", "\uFEFFx\ny\nz\n");
    await agent.write("gone.txt", undefined);
    await signs(t, "1-1 ┃, 3-3 ┃", "signs");
    await nvim.lua("vim.keymap.set('n', 'go', '<Plug>(gemini-old-lines)')");
    await nvim.input("go");
    const old = `(function()
    local namespace = vim.api.nvim_get_namespaces()['gemini-bridge.old_lines']
    local marks = vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true })
    return vim.iter(marks):map(function(mark) return mark[4].virt_lines and mark[4].virt_lines[1][1][1] end):next()
  end)()`;
    t.equal(await nvim.waitFor(old, "the old lines"), "naïve");
    await nvim.input("go");
    t.equal(await nvim.lua(`return ${old}`), null, "and away");

    await nvim.command("GeminiChanges!");
    t.same(
      await nvim.lua(`return vim.tbl_map(function(item)
      return vim.fn.fnamemodify(vim.fn.bufname(item.bufnr), ':t') .. ':' .. item.lnum .. ' ' .. item.text
    end, vim.fn.getqflist())`),
      [
        "a.txt:1 modified, +1 -0 | gemini: first",
        "a.txt:3 modified, +1 -1 | gemini: first",
        "new.txt:1 added, +1 -0 | gemini: first",
        "b.txt:2 modified, +2 -1 | gemini: second",
        "gone.txt:1 deleted, +0 -1 | gemini: second",
      ],
    );
    await nvim.command("cclose");
    await nvim.command("GeminiUndo all");
    await changed(0);
    await nvim.says(
      /^gemini-bridge: Undid 5 hunks in 4 files\. No unreviewed changes are left\. To revert the undo, press u in the tree of :GeminiChanges\.$/m,
    );
    t.ok(readFileSync(nvim.path("a.txt")).equals(latin1));
    t.ok(readFileSync(nvim.path("b.txt")).equals(bom));
    t.equal(read("gone.txt"), "old\n");
    t.notOk(existsSync(nvim.path("new.txt")));
    await nvim.input(":GeminiChanges<CR>u");
    await changed(4);
    t.equal(read("new.txt"), "a\n", "the page without changes reverts the undo");
    t.notMatch(await nvim.messages(), /E\d+|conflict|cannot/);
    await nvim.input("q");
    await nvim.command("GeminiUndo all");
    await changed(0);
    await nvim.command("GeminiStop");
    await nvim.waitFor("require('gemini-bridge').status().state == 'stopped'", "the end of the bridge");
    await nvim.command("GeminiChanges");
    await nvim.says(/No unreviewed changes\. The bridge is stopped: run :GeminiStart/);
  },
);

t.test(
  "a deleted file opens from the list of changes with its old text, and can be restored there",
  async (t) => {
    const { nvim, agent, read, lines, changes, changed } = await open(t, {
      files: { "src/gone.txt": "caf\u00e9\nold\n", "a.txt": "1\n", "kept.txt": "x\n" },
      args: ["a.txt"],
    });
    await agent.write("src/gone.txt", undefined);
    await agent.write("kept.txt", undefined);
    await changed(2);
    await nvim.command("GeminiChanges!");
    await nvim.command("cc 1");
    await nvim.waitFor("vim.api.nvim_buf_line_count(0) == 2", "the old text");
    t.equal(await lines(), "caf\u00e9 old");
    t.equal(await nvim.lua("return vim.fn.bufname()"), "gemini-deleted://src/gone.txt");
    t.same(await nvim.lua("return { vim.bo.modifiable, vim.bo.readonly, vim.bo.modified }"), [
      false,
      true,
      false,
    ]);
    await nvim.says(/gemini deleted src\/gone\.txt\. :GeminiUndo restores the file/);
    await nvim.command("bdelete");
    await nvim.command("cc 1");
    await nvim.command("GeminiUndo");
    await nvim.waitFor("vim.fn.expand('%:.') == 'src/gone.txt'", "the window to show the file");
    t.equal(read("src/gone.txt"), "caf\u00e9\nold\n");
    t.equal(await lines(), "caf\u00e9 old");
    t.same(
      await nvim.lua("return { vim.bo.modifiable, vim.bo.readonly, vim.bo.filetype }"),
      [true, false, "text"],
      "an ordinary buffer",
    );

    await nvim.command("cc 2");
    await nvim.waitFor("vim.api.nvim_buf_get_lines(0, 0, -1, true)[1] == 'x'", "the old text");
    await nvim.command("GeminiKeep");
    await nvim.says(/Kept 1 hunk in kept\.txt/);
    t.same(await changes(), []);
    t.notOk(existsSync(nvim.path("kept.txt")));
    await nvim.command("buffer a.txt");
    t.equal(await nvim.lua("return vim.fn.bufnr('gemini-deleted://')"), -1, "the old text is gone");

    await agent.write("a.txt", undefined);
    await changed(1);
    await nvim.command("silent! write!");
    await nvim.says(/gemini had moved or deleted a\.txt, and you write it again: see :GeminiChanges/);
    await nvim.command("messages clear");
    await nvim.command("silent! write!");
    t.notMatch(await nvim.messages(), /moved or deleted/, "said once");
  },
);

t.test("two deleted files whose relative paths are equal have their own buffers", async (t) => {
  const page = await open(t, { files: { "d/a.txt": "d\n", "e/a.txt": "e\n" } });
  const { nvim, agent } = page;
  for (const [name, count] of [
    ["d", 1],
    ["e", 2],
  ] as const) {
    await agent.write(`${name}/a.txt`, undefined);
    await page.changed(count);
    await nvim.command(`tabnew | tcd ${nvim.path(name)}`);
    await nvim.command("GeminiChanges!");
    await nvim.command("clast");
    await nvim.waitFor(async () => (await page.lines()) === name, "the old text");
  }
  await nvim.command("tabprevious");
  t.equal(await page.lines(), "d");
  await nvim.command("GeminiUndo");
  await page.changed(1);
  t.same(await page.states(), ["e/a.txt deleted"], "the file of the current buffer was restored");
});

t.test("undoing several files reports the result in one message", async (t) => {
  const { nvim, agent, read, signs, changed } = await startPage(t, {
    files: { "a.txt": "1\n", "b.txt": "1\n" },
    args: ["a.txt"],
  });
  await agent.write("a.txt", "2\n");
  await agent.write("b.txt", "2\n");
  await signs(t, "1-1 ┃", "the mark");
  await changed(2);
  await nvim.input("Omine<Esc>");
  await nvim.command("messages clear");
  await nvim.command("GeminiUndo all");
  await nvim.says(/gemini-bridge: /);
  t.equal(
    (await nvim.messages()).trim(),
    "gemini-bridge: Undid 1 hunk in b.txt. a.txt has unsaved changes: save or discard them first",
  );
  t.equal(read("a.txt"), "2\n");
  t.equal(read("b.txt"), "1\n");
  await nvim.command("GeminiKeep all");
  await nvim.says(/Kept 1 hunk in a\.txt\./);
  await agent.done();
  await nvim.waitFor(async () => (await nvim.lua(WATCHED)) === 0, "the end of watching writes");
  await nvim.command("GeminiKeep all");
  await nvim.says(/No unreviewed changes\./);
});

t.test(
  "undo never affects text of the user: unsaved, saved after the change, or accepted in a review",
  async (t) => {
    const { bridge, nvim, agent, read, lines, changes, signs } = await open(t, {
      files: { "a.txt": "1\n2\n3\n4\n", "b.txt": "1\n" },
      args: ["a.txt"],
    });
    await nvim.input("ggOmine<Esc>");
    await agent.write("a.txt", "1\n2\n3\nagent\n");
    await signs(t, "5-5 ┃", "where the line is in the buffer that has unsaved changes");
    await nvim.command("GeminiUndo!");
    await nvim.says(/a\.txt has unsaved changes: save or discard them first/);
    t.equal(await lines(), "mine 1 2 3 4", "which is not touched");
    t.equal(read("a.txt"), "1\n2\n3\nagent\n");
    await nvim.command("silent w!");
    await signs(t, "", "what the user has written over is no change");

    const client = await bridge.client();
    await agent.starts("b.txt");
    await client.openDiff(nvim.path("b.txt"), "1\nreviewed\n");
    await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the review");
    await nvim.command("GeminiAccept");
    await client.waitForNotification("ide/diffAccepted");
    writeFileSync(nvim.path("b.txt"), "1\nreviewed\n");
    await agent.ended("b.txt");
    await agent.write("a.txt", "mine\n1\n2\n3\nfour\n");
    await signs(t, "5-5 ┃", "the next change");
    t.strictSame(
      (await changes()).map(({ path }) => path),
      [nvim.path("a.txt")],
      "what was reviewed is none",
    );

    await nvim.input("GAs<Esc>");
    await nvim.command("w");
    await signs(t, "5-5 !", "the user's edit of the agent's line is a conflict");
    await nvim.command("GeminiUndo!");
    await nvim.says(/1 hunk in \S+ was not undone, because you have edited it since/);
    await nvim.command("GeminiKeep!");
    await signs(t, "", "which can be kept");
    t.equal(read("a.txt"), "mine\n1\n2\n3\nfours\n");
  },
);

t.test(
  "files that the user writes during a command are not attributed to the agent, whatever their names",
  async (t) => {
    const { nvim, agent, read, changes, changed } = await open(t, {
      files: { "a.txt": "1\n2\n" },
      args: ["a.txt"],
    });
    writeFileSync(nvim.path("log.txt"), "old\n");
    const command = { tool_name: "run_shell_command", tool_input: { command: "sleep 5" } };
    await agent.hook("BeforeTool", command);
    for (const write of ["write", "write copy.txt", "1write part.txt", "1write >> log.txt"])
      await nvim.command(`call setline(1, 'mine') | silent ${write}`);
    await nvim.command("silent saveas saved.txt");
    await nvim.command("new | setlocal buftype=nofile | call setline(1, 'mine') | silent write scratch.txt");
    writeFileSync(nvim.path("theirs.txt"), "theirs\n");
    await agent.hook("AfterTool", { ...command, tool_response: { llmContent: "ok" } });
    await nvim.waitFor(async () => (await changes()).length > 0, "the agent's change");
    t.strictSame(
      (await changes()).map(({ path }) => path),
      [nvim.path("theirs.txt")],
    );
    await nvim.command("GeminiUndo all");
    await changed(0);
    for (const name of ["a.txt", "copy.txt", "saved.txt"]) t.equal(read(name), "mine\n2\n", name);
    for (const name of ["part.txt", "scratch.txt"]) t.equal(read(name), "mine\n", name);
    t.equal(read("log.txt"), "old\nmine\n");
  },
);

for (const reads of ["checktime", "edit"])
  t.test(`a user's write does not hide that a running command has changed the file: :${reads}`, async (t) => {
    const { nvim, agent, read, changes, changed } = await open(t, {
      files: { "a.txt": "1\n2\n3\n" },
      args: ["a.txt"],
    });
    const command = { tool_name: "run_shell_command", tool_input: { command: "sleep 5" } };
    await agent.hook("BeforeTool", command);
    writeFileSync(nvim.path("a.txt"), "one\n2\n3\n");
    await nvim.command(reads);
    // The host must read the file before the user writes it. Waits for another answer of the host.
    await agent.hook("BeforeTool", { tool_name: "read_file", tool_input: {} });
    await nvim.input("Gomine<Esc>:w<CR>");
    await nvim.waitFor(async () => read("a.txt") === "one\n2\n3\nmine\n", "the write");
    await agent.hook("AfterTool", { ...command, tool_response: { llmContent: "ok" } });
    await agent.hook("AfterAgent", {});
    await changed(1);
    t.match(await changes(), [{ path: nvim.path("a.txt"), added: 2, removed: 1, cli: "gemini" }]);
    await nvim.command("GeminiUndo a.txt");
    await changed(0);
    t.equal(read("a.txt"), "1\n2\n3\n");
  });

const COMMAND = { tool_name: "run_shell_command", tool_input: { command: "sleep 5" } };

/** Ends the command as if it had created a file. Checks that no other file is listed as a change of the agent. */
async function listsOnlyTheirs(t: Test, { nvim, agent, changes }: Awaited<ReturnType<typeof startPage>>) {
  writeFileSync(nvim.path("theirs.txt"), "theirs\n");
  await agent.hook("AfterTool", { ...COMMAND, tool_response: { llmContent: "ok" } });
  const isListed = async () => (await changes()).some(({ path }) => path === nvim.path("theirs.txt"));
  await nvim.waitFor(isListed, "the agent's change");
  t.strictSame(
    (await changes()).map(({ path }) => path),
    [nvim.path("theirs.txt")],
  );
}

t.test("backups that Neovim writes during a command are not attributed to the agent", async (t) => {
  const page = await open(t, {
    files: { "a.txt": "1\n", "backups/b.txt": "1\n" },
    args: ["a.txt"],
  });
  const { nvim, agent, read, changed } = page;
  await nvim.command("set backup backupskip= backupext=.bak");
  await agent.hook("BeforeTool", COMMAND);
  for (const directory of [".", "./backups", "backups"])
    await nvim.command(`set backupdir=${directory} | call setline(1, '${directory}') | silent write`);
  await nvim.command("set patchmode=.orig | silent write");
  await listsOnlyTheirs(t, page);
  await nvim.command("GeminiUndo all");
  await changed(0);
  t.equal(read("a.txt.bak"), "1\n");
  t.equal(read("a.txt.orig"), "backups\n");
});

t.test("swap, undo and session files of Neovim are not attributed to the agent", async (t) => {
  const page = await startPage(t, {
    files: { "a.txt": "1\n", "b.txt": "1\n", "c.txt": "1\n" },
    init: "vim.opt.directory, vim.opt.undodir, vim.o.undofile, vim.o.updatecount = '.', '.', true, 1",
    args: ["a.txt", "b.txt"],
  });
  const { nvim, agent } = page;
  await nvim.waitFor(() => existsSync(nvim.path(".a.txt.swp")), "a swap file");
  await agent.hook("BeforeTool", COMMAND);
  await nvim.command("call setline(1, 'mine') | silent write | preserve | edit c.txt | call setline(1, '2')");
  await nvim.command("preserve | bwipeout a.txt | mksession");
  for (const name of [".c.txt.swp", ".a.txt.un~", "Session.vim"]) t.ok(existsSync(nvim.path(name)), name);
  t.notOk(existsSync(nvim.path(".a.txt.swp")));
  await listsOnlyTheirs(t, page);
});

t.test("old lines above the first line of a file are scrolled into view", async (t) => {
  const { nvim, agent, signs } = await open(t, { files: { "a.txt": "1\n2\n3\n" }, args: ["a.txt"] });
  await agent.write("a.txt", "one\n3\n");
  await signs(t, "1-1 ┃", "signs");
  await nvim.lua("vim.keymap.set('n', 'go', '<Plug>(gemini-old-lines)')");
  await nvim.input("go");
  await nvim.waitFor("vim.fn.winsaveview().topfill == 2", "both of them to be seen");
  await nvim.input("go");
  await nvim.waitFor("vim.fn.winsaveview().topfill == 0", "them to be hidden");
  // Neovim 0.10 would hang if the lines were shown above a closed fold of a window without focus.
  await nvim.input("zfG:vsplit<CR>zRgo");
  await nvim.waitFor("vim.fn.winsaveview().topfill == 2", "them in the window without closed folds");
});

t.test("killing the host during a turn loses no listed change, and says what may be missing", async (t) => {
  const { bridge, nvim, agent, read, changes, changed, storedLists, signs } = await startPage(t, {
    files: { "a.txt": "1\n2\n3\n", "b.txt": "1\n" },
    args: ["a.txt"],
  });
  await agent.prompt("go on");
  await agent.write("a.txt", "1\ntwo\n3\n");
  await agent.starts("b.txt");
  await signs(t, "2-2 ┃", "signs");
  const before = await changes();
  await nvim.waitFor(() => /"touched":true/.test(storedLists()), "the change to be stored");
  const host = await bridge.host();
  process.kill(host, "SIGKILL");
  writeFileSync(nvim.path("b.txt"), "1\n2\n");
  await bridge.nextHost(host);
  await signs(t, "2-2 ┃", "the same");
  t.strictSame(await changes(), before);
  await agent.done();
  await nvim.says(
    "Some changes by gemini may be missing from :GeminiChanges: the bridge was restarted during the turn.",
  );
  await nvim.command("GeminiUndo all");
  await changed(0);
  t.equal(read("a.txt"), "1\n2\n3\n");
  t.equal(read("b.txt"), "1\n2\n");
});
