/** Tests the real Claude Code with a scripted model. CLAUDE_CODE contains the path of the program. */
import { existsSync, readFileSync } from "node:fs";
import t, { type Test } from "tap";
import { RunningBridge } from "../support/bridge.ts";
import { startWithClaude } from "../support/claude.ts";
import { PROPOSAL } from "../support/claude-bridge.ts";
import { geminiIn } from "../support/gemini.ts";
import type { Turn } from "../support/model.ts";
import type { Nvim } from "../support/nvim.ts";
import { readLocks } from "../support/socket-client.ts";

/** Waits until the given number of reviews are pending. */
const diffs = (nvim: Nvim, count: number) =>
  nvim.waitFor(`#require('gemini-bridge').diffs() == ${count}`, `${count} reviews`, 30_000);

/** Waits until the client is connected and the turn has ended. */
const idle = (nvim: Nvim) =>
  nvim.waitFor(
    "(require('gemini-bridge').status().clients[1] or {}).activity == 'idle'",
    "the end of the turn",
    30_000,
  );

const changes = (nvim: Nvim) =>
  nvim.lua(`local list = vim.tbl_map(function(change)
      return ('%s %s %s'):format(vim.fs.basename(change.path), change.status, change.cli)
    end, require('gemini-bridge').changes())
    return table.concat(list, ', ')`);

t.test("Claude Code asks for a review of each edit", async (t: Test) => {
  const { nvim, model } = await startWithClaude(t, {
    files: { "a.txt": "one\ntwo\nthree\n", "with blank.txt": "in a file with a blank\n" },
  });
  const path = nvim.path("a.txt");
  const onDisk = () => readFileSync(path, "utf8");
  await nvim.command("edit a.txt");
  await nvim.command("Gemini cli=claude");
  await idle(nvim);
  const cli = await geminiIn(nvim);
  const says = (sentence: string) => cli.waitForScreen(new RegExp(sentence), 20_000);
  const edits = (old_string: string, new_string: string): Turn[] => [
    [{ functionCall: { name: "Read", args: { file_path: path } } }],
    [{ functionCall: { name: "Edit", args: { file_path: path, old_string, new_string } } }],
    [{ text: `It is ${new_string}.` }],
  ];

  await t.test("the context is in Claude Code's request, and an accepted edit is written", async (t) => {
    await says("In a.txt");
    model.say(...edits("two", "zwei"));
    await nvim.command("GeminiSend! --text Change it.");
    await diffs(nvim, 1);
    t.match(model.promptText(), /The user opened the file .*a\.txt in the IDE/);
    await nvim.lua(`vim.api.nvim_buf_set_lines(${PROPOSAL}, -1, -1, true, { 'mine' })`);
    await nvim.command("GeminiAccept");
    await says("It is zwei");
    t.equal(onDisk(), "one\nzwei\nthree\nmine\n");
    await idle(nvim);
    t.match(model.promptText(), /The user modified your proposed/);
    t.equal(await changes(nvim), "", "an accepted edit is not a change");
  });

  await t.test("a rejected edit of Claude Code is not written, and the turn ends", async (t) => {
    model.say(...edits("three", "drei").slice(0, 2));
    await nvim.command("GeminiSend! --text Again.");
    await diffs(nvim, 1);
    await nvim.command("GeminiReject");
    await diffs(nvim, 0);
    await idle(nvim);
    t.equal(onDisk(), "one\nzwei\nthree\nmine\n");
  });

  await t.test(
    "an answer in Claude Code's terminal closes the review and keeps the user's edits",
    async (t) => {
      model.say(...edits("three", "drei"));
      await nvim.command("GeminiSend! --text Once more.");
      await diffs(nvim, 1);
      await nvim.lua(`vim.api.nvim_buf_set_lines(${PROPOSAL}, -1, -1, true, { 'kept' })`);
      await says("Do you want to make this edit");
      // The CLI ignores the first keys.
      await nvim.waitFor(
        async () => {
          await cli.press("\r");
          return (await nvim.lua("return #require('gemini-bridge').diffs()")) === 0;
        },
        "the answer",
        10_000,
      );
      await says("It is drei");
      t.equal(onDisk(), "one\nzwei\ndrei\nmine\n");
      t.match(await nvim.messages(), /Open your edits with/);
      await idle(nvim);
      t.equal(await changes(nvim), "");
    },
  );

  await t.test("the selected lines and a reference are in Claude Code's request", async (t) => {
    await nvim.lua("vim.api.nvim_set_current_win(vim.fn.win_findbuf(vim.fn.bufnr('a.txt'))[1])");
    await nvim.input("<C-\\><C-n>ggjVj:GeminiSelect<CR>");
    await says("2 lines selected");
    model.say([{ text: "I see them." }]);
    await nvim.command("GeminiSend! What is this?");
    await says("I see them");
    t.match(model.promptText(), /The user selected the lines 2 to 3 from/);
    t.match(model.promptText(), "@a.txt What is this?");
    await nvim.command("GeminiSelect!");
    await idle(nvim);
  });

  await t.test(
    "Claude Code inserts references itself, and Neovim types references that Claude Code cannot insert",
    async (t) => {
      await nvim.lua("vim.api.nvim_set_current_win(vim.fn.win_findbuf(vim.fn.bufnr('a.txt'))[1])");
      await nvim.input("<C-\\><C-n><Esc>");
      model.say([{ text: "All are read." }]);
      await nvim.command("2,3GeminiAdd");
      await says("@a.txt#L2-3");
      await nvim.command("GeminiAdd with\\ blank.txt");
      await says('@"with blank.txt"');
      await nvim.command("GeminiSend! --text Compare.");
      await says("All are read");
      t.match(model.promptText(), '@a.txt#L2-3 @\\"with blank.txt\\" Compare.');
      t.match(model.promptText(), "1\\tin a file with a blank");
      await idle(nvim);
    },
  );

  await t.test(
    "a tool of Neovim answers with unsaved text after the user has allowed the call",
    async (t) => {
      await nvim.lua("vim.api.nvim_set_current_win(vim.fn.win_findbuf(vim.fn.bufnr('a.txt'))[1])");
      await nvim.input("<C-\\><C-n><Esc>Gounsaved<Esc>");
      model.say(
        [{ functionCall: { name: "mcp__neovim__read_buffer", args: { path: "a.txt" } } }],
        [{ text: "I have read it." }],
      );
      await nvim.command("GeminiSend! --text Read it.");
      await says("Do you want to proceed\\?");
      await nvim.command("GeminiSend! --text This waits.");
      await nvim.waitFor(
        async () => {
          await cli.press("\r");
          return /modified\\+":true/.test(model.promptText());
        },
        "the answer of the tool",
        10_000,
      );
      await says("I have read it");
      t.match(model.promptText(), /mine\\+nunsaved/);
      // Waits for the prompt that the question of the CLI has delayed. The prompt may become part of the same turn.
      await nvim.waitFor(async () => /This waits/.test(model.promptText()), "the waiting prompt");
      await nvim.command("silent! undo");
      await idle(nvim);
    },
  );

  await t.test("Claude Code reconnects by itself after a crash of the host", async (t) => {
    const [lock] = readLocks(nvim.dirs.home);
    await new RunningBridge(t, nvim).replaceHost();
    await nvim.waitFor("#require('gemini-bridge').status().clients == 1", "its return");
    t.same(readLocks(nvim.dirs.home), [lock]);
    model.say(...edits("drei", "three"));
    await nvim.command("GeminiSend! --text And back.");
    await diffs(nvim, 1);
    await nvim.command("GeminiAccept!");
    await says("It is three");
    t.match(onDisk(), /three/);
    const version = await nvim.lua("return require('gemini-bridge').status().clients[1].version");
    t.comment(
      `| Claude Code ${version}, the program itself | yes | active file, selection | yes | yes | yes |`,
    );
    await nvim.stopBridge();
    t.same(readLocks(nvim.dirs.home), []);
  });
});

for (const mode of ["acceptEdits", "bypassPermissions"]) {
  t.test(
    `in mode ${mode}, changes of Claude Code are listed, and the gate makes Claude Code ask`,
    async (t: Test) => {
      const { nvim, model } = await startWithClaude(t, { files: { "a.txt": "one\ntwo\nthree\n" } });
      const path = nvim.path("a.txt");
      const onDisk = () => readFileSync(path, "utf8");
      const writes = (word: string, ...more: Turn[]): Turn[] => [
        [{ functionCall: { name: "Read", args: { file_path: path } } }],
        [{ functionCall: { name: "Write", args: { file_path: path, content: `${word}\n` } } }],
        ...more,
        [{ text: `It is ${word}.` }],
      ];
      const command = "echo new > new.txt";
      await nvim.command("edit a.txt");
      await nvim.command(`Gemini cli=claude --permission-mode ${mode}`);
      await idle(nvim);
      const cli = await geminiIn(nvim);
      model.say(
        ...writes("first", [{ functionCall: { name: "Bash", args: { command, description: "x" } } }]),
      );
      await nvim.command("GeminiSend! --text Write.");
      await cli.waitForScreen(/It is first/, 20_000);
      await idle(nvim);
      t.match(onDisk(), /^first/);
      t.equal(await changes(nvim), "a.txt modified claude, new.txt added claude");
      await nvim.command("GeminiUndo! all");
      await nvim.waitFor("#require('gemini-bridge').changes() == 0", "no changes");
      t.equal(onDisk(), "one\ntwo\nthree\n");
      t.notOk(existsSync(nvim.path("new.txt")));

      await nvim.command("GeminiGate on");
      model.say(...writes("second"));
      await nvim.command("GeminiSend! --text Once more.");
      await diffs(nvim, 1);
      t.match(model.promptText(), /The user undid your changes/);
      await nvim.command("GeminiAccept");
      await cli.waitForScreen(/It is second/, 20_000);
      await idle(nvim);
      t.match(onDisk(), /^second/);
      t.equal(await changes(nvim), "", "a reviewed edit is not a change");
    },
  );
}
