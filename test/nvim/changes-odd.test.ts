/** Tests unreviewed changes in unusual situations: special buffers and files, several agents, invalid arguments. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import t from "tap";
import { HookedAgent } from "../support/hooked-agent.ts";
import { sharePage, startPage } from "../support/page.ts";
import { shareNvim } from "../support/reset.ts";
import { startReviewer } from "../support/review.ts";

shareNvim(t);
const open = sharePage(t);

/** Lua that returns the number of marks in the current buffer. */
const MARKS = "#require('gemini-bridge.changes.signs').list(vim.api.nvim_get_current_buf())";

t.test(
  "changes at the first and last line are undone, even in a buffer that is not modifiable",
  async (t) => {
    const { nvim, agent, read, lines, lists } = await open(t, {
      files: { "a.txt": "1\n2\n3" },
      args: ["a.txt"],
    });
    for (const options of ["nomodifiable", "modifiable readonly"]) {
      await nvim.command(`set ${options}`);
      await agent.prompt("a long one ".repeat(100_000));
      await agent.write("a.txt", "one\n2\n3\nfour\n");
      await lists(t, "a.txt modified +3 -2 2");
      await nvim.command("edit!");
      t.equal(await lines(), "one 2 3 four");
      await nvim.input("G:GeminiUndo<CR>");
      await lists(t, "a.txt modified +1 -1 1");
      t.equal(read("a.txt"), "one\n2\n3");
      await nvim.input("gg:GeminiUndo<CR>");
      await lists(t);
      t.equal(read("a.txt"), "1\n2\n3");
      await nvim.command("edit!");
      t.equal(await lines(), "1 2 3");
    }
    t.notMatch(await nvim.messages(), /E\d+:|This error probably comes from/);
  },
);

t.test(
  ":saveas removes the marks from the buffer, and the change of the old file can still be undone",
  async (t) => {
    const { nvim, agent, read, lists } = await open(t, { files: { "a.txt": "1\n" }, args: ["a.txt"] });
    await agent.write("a.txt", "1\n2\n");
    await nvim.waitFor(`${MARKS} == 1`, "the mark");
    await nvim.command("silent saveas b.txt");
    t.equal(await nvim.lua(`return ${MARKS}`), 0);
    await nvim.command("edit a.txt");
    t.equal(await nvim.lua(`return ${MARKS}`), 1);
    await nvim.command("GeminiUndo all");
    await lists(t);
    t.same(["a.txt", "b.txt"].map(read), ["1\n", "1\n2\n"]);
  },
);

t.test(
  "changes of folders, of files outside the workspace, of excluded files, and of modes are handled",
  async (t) => {
    const { nvim, agent, read, lists } = await open(t, {
      files: {
        "a.txt": "1\n",
        "b.txt": "1\n",
        ".geminiignore": "secret*\n",
        "secret.txt": "1\n",
        "../outside.txt": "1\n",
      },
    });
    await agent.write("a.txt", undefined);
    await lists(t, "a.txt deleted +0 -1 1"); // now, the host also watches the file
    mkdirSync(nvim.path("a.txt"));
    await lists(t, "a.txt modified +0 -0 0");
    await nvim.command("GeminiUndo a.txt");
    await nvim.says(/a\.txt cannot be restored: it is not a regular file/);
    await nvim.command("GeminiKeep a.txt");
    await lists(t);
    rmdirSync(nvim.path("a.txt"));

    await agent.write("b.txt", "2\n");
    chmodSync(nvim.path("b.txt"), 0o750);
    await agent.write("secret.txt", "2\n");
    await agent.write("../outside.txt", "2\n");
    await lists(
      t,
      "b.txt modified +1 -1 1",
      "secret.txt modified +1 -1 1",
      "../outside.txt modified +1 -1 1",
    );
    await nvim.command("GeminiUndo all");
    await lists(t);
    t.same(["b.txt", "secret.txt", "../outside.txt"].map(read), ["1\n", "1\n", "1\n"]);
    t.equal(statSync(nvim.path("b.txt")).mode & 0o777, 0o750, "which the user has set");
  },
);

t.test("invalid arguments and missing files of change commands are reported", async (t) => {
  const { nvim, agent, lists } = await open(t, { files: { "a.txt": "1\n2\n" }, args: ["a.txt"] });
  await agent.write("a.txt", "1\ntwo\n");
  await lists(t, "a.txt modified +1 -1 1");
  for (const [command, sentence] of [
    ["GeminiKeep", /No unreviewed changes here: :GeminiChanges lists all changes/],
    ["1GeminiUndo", /No unreviewed changes here: :GeminiChanges/],
    ["GeminiKeep none.txt", /none\.txt has no unreviewed changes/],
    ["GeminiUndo! all of it", /all of it has no unreviewed changes/],
    ["new | GeminiKeep!", /No unreviewed changes in this file/],
    ["GeminiUndo", /No unreviewed changes in this file/],
  ] as const) {
    await nvim.command(command);
    await nvim.says(sentence);
    await nvim.command("messages clear");
  }
  for (const command of ["1,9GeminiKeep", "GeminiHistory now", "GeminiChanges here"])
    await t.rejects(nvim.command(command), /E16|E488/);
  await lists(t, "a.txt modified +1 -1 1");
  await nvim.command("GeminiKeep all");
  await lists(t);
  await nvim.command("GeminiUndo all");
  await nvim.says(/No unreviewed changes\./);
  t.ok(existsSync(nvim.path("a.txt")));
});

t.test(
  "an empty list of changes and the gate name the connected CLIs, and the CLIs without hooks",
  async (t) => {
    const { reviewer, nvim } = await startReviewer(t);
    const common = {
      version: "1",
      connectedAt: 0,
      interrupted: false,
      activity: "idle",
      turn: false,
    } as const;
    const gemini = {
      id: "1",
      cli: "gemini",
      label: "Gemini CLI",
      name: "x",
      terminal: "gemini",
      hooks: true,
    };
    const clients = [
      gemini,
      { id: "2", cli: "gemini", label: "Gemini CLI", name: "x", terminal: "gemini-2", hooks: false },
      { id: "3", cli: "claude", label: "Claude Code", name: "x", terminal: "claude", hooks: false },
      { id: "4", cli: "llxprt", label: "LLxprt Code", name: "x", terminal: "llxprt", hooks: false },
    ];
    const say = (hooks: boolean, connected: typeof clients) =>
      reviewer.call("status", {
        state: "running",
        workspace: [],
        hooks,
        clients: connected.map((client) => ({ ...common, ...client })),
      });
    const told = async (text: string) => {
      await nvim.command("messages clear | GeminiChanges");
      const isTold = async () =>
        (await nvim.messages()).replaceAll("\n", "").endsWith(`gemini-bridge: ${text}`);
      await nvim.waitFor(isTold, text);
    };
    await say(true, clients.slice(0, 1));
    await told("No unreviewed changes.");
    const others =
      "Changes by these CLIs are not listed: gemini-2 (it does not report its edits; run :GeminiExtension install, then restart it); " +
      "claude (it does not report its edits; start it with :Gemini cli=claude); llxprt (it cannot report its edits)";
    await say(true, clients);
    await told(`No unreviewed changes. ${others}`);
    await say(false, clients.slice(1));
    await told(`No changes are listed, because no CLI has reported its edits to Neovim yet. ${others}`);
    await say(false, []);
    await told(
      "No changes are listed, because no CLI has reported its edits to Neovim yet. Run :GeminiExtension install, then start the CLI.",
    );

    await say(
      true,
      ["gemini", "gemini-2"].map((terminal) => ({ ...gemini, id: terminal, terminal })),
    );
    await nvim.command("GeminiGate on");
    t.match(await nvim.messages(), /The gate is on: gemini, gemini-2 ask before each edit\.$/m);
  },
);

t.test("changes of 200 files are listed and undone", async (t) => {
  const { nvim, agent, lists, changed } = await open(t, { files: { "a.txt": "1\n" }, args: ["a.txt"] });
  await agent.prompt("many");
  await agent.run("for i in $(seq 200); do echo $i > $i.txt; done");
  await changed(200);
  await nvim.command("GeminiKeep all");
  await changed(0);
  for (let i = 1; i <= 200; i += 1) await agent.write(`${i}.txt`, `${i}\nmore\n`);
  await changed(200);
  await nvim.command("GeminiChanges!");
  t.equal(await nvim.lua("return #vim.fn.getqflist()"), 200);
  await nvim.command("cclose | GeminiUndo! all");
  await changed(0);
  t.equal(readFileSync(nvim.path("200.txt"), "utf8"), "200\n");
  await lists(t);
});

const EVERYDAY = {
  files: { "a.txt": "1\n2\n3\n", "b.txt": "b\n", "c.txt": "c\n", "gone.txt": "gone\n" },
  args: ["a.txt"],
};

t.test("going to a change opens the folds around it", async (t) => {
  const { nvim, agent } = await open(t, EVERYDAY);
  await agent.write("a.txt", "1\ntwo\n3\n");
  await nvim.waitFor(`${MARKS} == 1`, "the mark");
  await nvim.lua("vim.wo.foldmethod = 'manual' vim.cmd('2,3fold') vim.cmd('2foldclose') vim.cmd('1')");
  await nvim.lua("vim.keymap.set('n', ']g', '<Plug>(gemini-next-change)')");
  await nvim.input("]g");
  t.same(await nvim.lua("return { vim.fn.line('.'), vim.fn.foldclosed(2) }"), [2, -1]);
});

t.test(
  "text that the user types right after :GeminiUndo is kept, and a message says that the file differs",
  async (t) => {
    const { nvim, agent, read, changed } = await open(t, EVERYDAY);
    await agent.write("a.txt", "1\ntwo\n3\n");
    await nvim.waitFor("vim.fn.getline(2) == 'two'", "the agent's text");
    await changed(1);
    const host = Number(await nvim.lua("return require('gemini-bridge').status().pid"));
    process.kill(host, "SIGSTOP"); // the host undoes after the user has typed
    await nvim.input(":GeminiUndo!<CR>Gotyped<Esc>");
    process.kill(host, "SIGCONT");
    await nvim.waitFor(async () => read("a.txt") === "1\n2\n3\n", "the undone file");
    await nvim.says(
      "a.txt has changed on disk, but you have unsaved changes. :e! discards them, :w! overwrites the file.",
    );
    t.same(await nvim.lua("return vim.fn.getline(1, '$')"), ["1", "two", "3", "typed"]);
    await nvim.input(":edit!<CR>");
    t.same(await nvim.lua("return vim.fn.getline(1, '$')"), ["1", "2", "3"]);
  },
);

t.test("each decision removes a hunk from the list", async (t) => {
  const { nvim, agent, changed } = await open(t, EVERYDAY);
  for (const name of ["a.txt", "new.txt", "b.txt"]) await agent.write(name, "by the agent\n");
  await agent.write("gone.txt", undefined);
  await changed(4);
  await nvim.command("GeminiChanges!");
  const listed = `vim.tbl_map(function(item)
    return vim.fs.basename(vim.api.nvim_buf_get_name(item.bufnr)) .. ':' .. item.lnum
  end, vim.fn.getqflist())`;
  const current = async () =>
    nvim.lua(`local list = vim.fn.getqflist({ idx = 0 }) return ${listed}[list.idx]`);
  t.same(await nvim.lua(`return ${listed}`), ["a.txt:1", "new.txt:1", "b.txt:1", "gone.txt:1"]);
  await agent.write("a.txt", "by the agent\n2\n3\n4\nagain by the agent\n");
  await nvim.waitFor(`${listed}[2] == 'a.txt:4'`, "both hunks");
  await nvim.command("cc 2 | 1GeminiKeep");
  await nvim.waitFor(`${listed}[1] == 'a.txt:4'`, "the undecided hunk to be left");
  t.equal(await current(), "a.txt:4", "the current entry stays");
  t.match(await nvim.lua("return vim.fn.getqflist()[1]"), {
    text: "modified, +2 -0 | gemini",
    lnum: 4,
    end_lnum: 5,
  });
  await nvim.command("GeminiKeep");
  await nvim.waitFor(`${listed}[1] == 'new.txt:1'`, "the file to leave the list");
  t.equal(await current(), "new.txt:1", "the next entry follows a decided one");
  rmSync(nvim.path("new.txt"));
  await nvim.command("GeminiKeep gone.txt");
  await nvim.waitFor(`vim.deep_equal(${listed}, { 'b.txt:1' })`, "the entries to go");
  await nvim.command("call setqflist([], ' ', { 'title': 'mine', 'items': [{ 'text': 'mine' }] })");
  await nvim.command("GeminiKeep all");
  await changed(0);
  t.equal(await nvim.lua("return vim.fn.getqflist({ title = 0 }).title"), "mine", "other lists stay");
});

t.test(":GeminiKeep and :GeminiUndo take %, #, <cfile> and paths below ~", async (t) => {
  const { nvim, agent, read, changed, states } = await startPage(t, { ...EVERYDAY, own: true });
  for (const name of ["a.txt", "b.txt", "c.txt", "d.txt"]) await agent.write(name, "c.txt\n");
  await changed(4);
  await nvim.command("GeminiKeep ~/../workspace/d.txt");
  await changed(3);
  await nvim.command("edit! a.txt | edit! b.txt");
  await nvim.input(":GeminiUndo #<CR>");
  await changed(2);
  t.equal(read("a.txt"), "1\n2\n3\n");
  await nvim.input(":GeminiKeep <lt>cfile><CR>");
  await changed(1);
  t.same(await states(), ["b.txt modified"]);
  await nvim.input(":GeminiUndo %:p<CR>");
  await changed(0);
  t.equal(read("b.txt"), "b\n");
});

t.test("the page and the quickfix list say why a change is undone only as a whole", async (t) => {
  const { bridge, nvim, agent, tree, lists } = await open(t, { files: { "a.txt": "1\n" } });
  const other = new HookedAgent(bridge, "another session");
  const tool = { tool_name: "run_shell_command", tool_input: { command: "sleep 1" } };
  await agent.prompt("go");
  await agent.hook("BeforeTool", tool);
  writeFileSync(nvim.path("a.txt"), "1\n2\n");
  await other.write("a.txt", "1\n2\n3\n");
  await agent.hook("AfterTool", { ...tool, tool_response: { llmContent: "" } });
  await lists(t, "a.txt modified +2 -0 1");
  const reason = "others have written the file while a command ran";
  await nvim.waitFor("require('gemini-bridge').changes()[1].cli == 'gemini'", "the change");
  await nvim.command("GeminiChanges!");
  const text = "vim.fn.getqflist()[1].text";
  await nvim.waitFor(
    `${text} == 'modified, +2 -0, ${reason} | gemini: go'`,
    "the reason in the quickfix list",
  );
  await nvim.command("GeminiChanges");
  await nvim.waitFor(async () => (await tree()).some((line) => /! a\.txt/.test(line)), "the file's icon");
  t.match(await nvim.lua("return vim.wo[vim.fn.bufwinid('a.txt')].winbar"), reason);
});
