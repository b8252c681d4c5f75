import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { z } from "zod";
import { RunningBridge } from "../support/bridge.ts";
import { received, receives, startWithEcho as start } from "../support/echo.ts";
import type { Nvim } from "../support/nvim.ts";
import { shareNvim } from "../support/reset.ts";
import { fetching } from "../support/shell.ts";

shareNvim(t);

const text = (nvim: Nvim) => nvim.lua("return vim.fn.getline(1, '$')");
const isOpen = "vim.fn.bufname() == 'gemini-bridge://prompt'";
const file = (nvim: Nvim) => join(nvim.dirs.state, "nvim/gemini-bridge-prompts.json");
const past = (nvim: Nvim) =>
  z
    .object({ version: z.literal(1), value: z.array(z.object({ text: z.string(), time: z.number() })) })
    .parse(JSON.parse(readFileSync(file(nvim), "utf8")))
    .value.map((prompt) => prompt.text);

t.test(":GeminiPrompt opens a buffer, and :w sends its text", async (t) => {
  const nvim = await start(t);
  await nvim.command("edit a.txt");
  const before = await nvim.lua("return vim.fn.winlayout()");
  await nvim.input(":GeminiPrompt<CR>");
  t.ok(await nvim.lua(`return ${isOpen} and vim.bo.filetype == 'markdown'`));
  await nvim.input("iexplain<CR>this<Esc>:w<CR>");
  await receives(nvim, "<explain\nthis >\r");
  t.same(await text(nvim), [""]);
  t.equal(await nvim.lua("return vim.bo.modified"), false);
  await nvim.input("u");
  t.same(await text(nvim), ["explain", "this"], "undo brings it back");
  await nvim.input("ggdGimore<Esc>:wq<CR>");
  await receives(nvim, "<more >\r");
  t.equal(await nvim.lua("return vim.fn.expand('%:t')"), "a.txt");
  await nvim.input(":GeminiPrompt and ZZ<CR>ZZ");
  await receives(nvim, "<and ZZ >\r");
  await nvim.waitFor(`not (${isOpen})`, "the window to close");
  await nvim.command("bwipeout! gemini-terminal://*");
  t.same(await nvim.lua("return vim.fn.winlayout()"), before);
});

t.test("the draft of a prompt is kept until the prompt is sent", async (t) => {
  const nvim = await start(t);
  await nvim.input(":edit a.txt<CR>:2GeminiPrompt why?<CR>");
  t.same(await text(nvim), ["@a.txt (line 2) why?"]);
  await nvim.input(":q<CR>");
  t.equal(await nvim.lua("return vim.fn.expand('%:t')"), "a.txt");
  await nvim.input("V<Plug>(GeminiPrompt)");
  t.same(await text(nvim), ["@a.txt (line 2) why?", "@a.txt (line 1)"], "and added to");
  t.equal(await nvim.lua("return vim.api.nvim_get_mode().mode"), "n");

  await t.test("the draft of a prompt is kept when other commands write buffers", async (t) => {
    await nvim.input(":wall<CR>");
    await nvim.lua(`vim.api.nvim_create_autocmd('InsertLeave', {
      nested = true, callback = function() vim.cmd('silent! update') end,
    })`);
    await nvim.input("ofrom an autocommand<Esc>");
    await nvim.lua("vim.keymap.set('n', 'S', function() vim.cmd.write() end)");
    await nvim.input("S");
    t.match(
      await nvim.messages(),
      /The prompt was not sent, because a mapping or command wrote the buffer: type :w to send it/,
    );
    await nvim.input(":1write!<CR>");
    t.match(await nvim.messages(), /Only the whole prompt can be sent/);
    await nvim.input(":write copy.md<CR>");
    t.match(readFileSync(nvim.path("copy.md"), "utf8"), /^@a\.txt \(line 2\) why\?\n/);
    t.same(await text(nvim), ["@a.txt (line 2) why?", "@a.txt (line 1)", "from an autocommand"]);
    t.equal(received(nvim), "", "nothing is sent");
  });

  await t.test("the draft of a prompt is kept when Neovim ends", async (t) => {
    nvim.nvim.notify("nvim_command", ["qa"]);
    t.same(await nvim.exited, { code: 0, signal: null });
    t.match(past(nvim), ["@a.txt (line 2) why?\n@a.txt (line 1)\nfrom an autocommand"]);
  });
});

t.test("the draft of a prompt is kept when a signal ends Neovim", async (t) => {
  const nvim = await start(t);
  await nvim.input(":GeminiPrompt why?<CR>A not");
  nvim.kill("SIGHUP");
  await nvim.exited;
  t.match(past(nvim), ["why? not"]);
});

t.test("after :edit!, the new draft of a prompt is kept when a signal ends Neovim", async (t) => {
  const nvim = await start(t);
  await nvim.input(":GeminiPrompt dropped<CR>:edit!<CR>Akept");
  t.same(await text(nvim), ["kept"]);
  nvim.kill("SIGHUP");
  await nvim.exited;
  t.match(past(nvim), ["kept", "dropped"]);
});

t.test(":GeminiPrompt opens one window in each tab page", async (t) => {
  const nvim = await start(t);
  await nvim.input(":GeminiPrompt why?<CR>:tabnew<CR>:GeminiPrompt<CR>");
  const win = await nvim.lua("return vim.api.nvim_get_current_win()");
  await nvim.input("<C-w>k:GeminiPrompt<CR>");
  t.equal(await nvim.lua("return vim.api.nvim_get_current_win()"), win);
  t.equal(await nvim.lua("return vim.fn.winnr('$')"), 2);
  t.same(await text(nvim), ["why?"]);
});

t.test(
  "after :bdelete, :GeminiPrompt works again, and the deleted text is in the prompt history",
  async (t) => {
    const nvim = await start(t);
    await nvim.command("set nohidden");
    for (const command of ["bdelete!", "bunload!"]) {
      await nvim.input(`:GeminiPrompt before ${command}<CR>:${command}<CR>`);
      t.equal(past(nvim)[0], `before ${command}`);
      await nvim.input(":GeminiPrompt<CR>");
      t.same(await text(nvim), [""]);
      t.same(
        await nvim.lua("return { vim.bo.filetype, vim.bo.buftype, vim.bo.bufhidden, vim.bo.omnifunc ~= '' }"),
        ["markdown", "acwrite", "hide", true],
      );
      await nvim.input(`iafter ${command}<Esc>:q<CR>`);
      t.notOk(await nvim.lua(`return ${isOpen}`), "it closes and stays a draft");
      await nvim.input(":GeminiPrompt<CR>ZZ");
      await receives(nvim, `<after ${command} >\r`);
      await nvim.waitFor(`not (${isOpen})`, "the window to close");
    }
    t.notMatch(await nvim.messages(), /E\d+:/);
  },
);

t.test(":GeminiPrompt! offers the last prompts", async (t) => {
  const nvim = await start(t);
  await nvim.input(":GeminiPrompt!<CR>");
  t.match(await nvim.messages(), /There are no prompts yet/);
  await nvim.input(":GeminiPrompt one<CR>:wq<CR>:GeminiPrompt two<CR>:wq<CR>");
  await receives(nvim, "<two >\r");
  t.same(past(nvim), ["two", "one"]);
  t.equal(statSync(file(nvim)).mode & 0o777, 0o600, "only the user can read them");
  await nvim.input(":GeminiPrompt a draft<CR>:GeminiPrompt!<CR>2<CR>");
  t.same(await text(nvim), ["one"]);
  t.same(past(nvim), ["a draft", "two", "one"], "the draft is one of them now");
  await nvim.input(":wq<CR>");
  await receives(nvim, "<one >\r");
  t.same(past(nvim), ["one", "a draft", "two"]);
  await nvim.lua(`_G.ask = vim.ui.select
    vim.ui.select = function(items, options)
      _G.shown = { options.kind, options.format_item(items[3]) }
    end`);
  await nvim.input(":GeminiPrompt!<CR>");
  t.match(await nvim.lua("return _G.shown"), ["gemini-bridge", /^\d\d \w{3} \d\d:\d\d {2}two$/]);
  await nvim.lua("vim.ui.select = _G.ask");

  await t.test("the prompt history keeps at most fifty prompts", async (t) => {
    await nvim.lua("for i = 1, 60 do require('gemini-bridge.prompt.history').add('prompt ' .. i) end");
    t.equal(past(nvim).length, 50);
    t.same(past(nvim).slice(0, 2), ["prompt 60", "prompt 59"]);
    await nvim.lua("require('gemini-bridge.prompt.history').add(('x'):rep(2000000))");
    t.equal(past(nvim).length, 1, "nor more than a megabyte, but the last");
  });

  await t.test("an invalid file of the prompt history counts as empty", async (t) => {
    for (const content of ["", "{", "3", '{"a":1}', '[{"text":1},null,{"time":2}]']) {
      writeFileSync(file(nvim), content);
      t.same(await nvim.lua("return #require('gemini-bridge.prompt.history').list()"), 0, content);
    }
    writeFileSync(file(nvim), '[{"text":"old","time":1}]');
    const list = await nvim.lua("return require('gemini-bridge.prompt.history').list()");
    t.same(list, [{ text: "old", time: 1 }], "prompts of an earlier version are still found");
  });
});

t.test("prompts arrive in order, also if the first one opens the terminal", async (t) => {
  const nvim = await start(t);
  await nvim.lua("require('gemini-bridge').start()");
  await nvim.waitFor("require('gemini-bridge').status().state == 'running'", "the bridge");
  const count = await nvim.lua(`
    local outbox = require("gemini-bridge.prompt.outbox")
    for i = 1, 5 do outbox.send({ text = "prompt " .. i, source = "nothing", submit = true }) end
    return #outbox.list()`);
  t.equal(count, 5);
  await receives(nvim, [1, 2, 3, 4, 5].map((i) => `<prompt ${i} >\r`).join(""));
  const listed = await nvim.lua("return #require('gemini-bridge.prompt.outbox').places().buffers");
  t.equal(listed, 0, "the terminal is not one that the user has opened");
});

t.test("a prompt is typed if the host reads a refusal and the new screen at the same time", async (t) => {
  const nvim = await start(t);
  await nvim.startBridge();
  await nvim.lua(`
    local calls, uv = require("gemini-bridge.calls"), vim.uv
    local call, was_refused = calls.call, false
    function calls.call(name, params, ...)
      if name ~= "screen_type" or was_refused then
        return call(name, params, ...)
      end
      was_refused = true
      local host = require("gemini-bridge").status().pid
      -- As if the screen had changed after the host has read it, and as if the host were too busy to read the answer.
      params.tick = -1
      uv.kill(host, "sigstop")
      vim.defer_fn(function() uv.kill(host, "sigcont") end, 200)
      return call(name, params, ...)
    end
    require("gemini-bridge.prompt.outbox").send({ text = "hello", source = "nothing", submit = true })`);
  await receives(nvim, "<hello >\r");
});

t.test("completion in a prompt offers files and words", async (t) => {
  const nvim = await start(t, "", {
    files: { ".gitignore": "hidden\n", hidden: "", "src/deep/widget.js": "" },
  });
  execFileSync("git", ["init", "--quiet"], { cwd: nvim.dirs.workspace });
  writeFileSync(nvim.path("hook"), "#!/bin/sh\ntouch ran\n", { mode: 0o755 });
  execFileSync("git", ["config", "core.fsmonitor", nvim.path("hook")], { cwd: nvim.dirs.workspace });
  await nvim.command("edit a.txt");
  await nvim.command("call setline(1, 'antidisestablishment')");
  await nvim.input(":GeminiPrompt<CR>");
  const offered = (base: string) =>
    nvim.lua("return require('gemini-bridge.prompt.completion').omnifunc(0, ...)", base);
  t.same(await offered("@widget"), ["@src/deep/widget.js"]);
  t.same(await offered("@b c"), ["@sub/b\\ c.txt"]);
  t.same(await offered("@hidden"), []);
  t.same(await offered("@`touch ran`"), []);
  t.same(await offered("antidis"), ["antidisestablishment"]);
  await nvim.input("isee @widg<C-x><C-o> and antid<C-x><C-o>.<Esc>");
  t.same(await text(nvim), ["see @src/deep/widget.js and antidisestablishment."]);
  t.notOk(existsSync(nvim.path("ran")), "no program of the repository's ran");
});

t.test("completion in a git repository does not fetch missing objects", async (t) => {
  const nvim = await start(t);
  writeFileSync(nvim.path("fetch"), `#!/bin/sh\ntouch ${nvim.path("ran")}\n`, { mode: 0o755 });
  execFileSync("sh", ["-ec", fetching(nvim.path("fetch"), "folder")], { cwd: nvim.dirs.workspace });
  t.same(await nvim.lua("return require('gemini-bridge.prompt.completion').omnifunc(0, '@open/b')"), [
    "@open/b.txt",
  ]);
  t.notOk(existsSync(nvim.path("ran")));
  execFileSync("git", ["ls-files"], { cwd: nvim.dirs.workspace, stdio: "ignore" });
  t.ok(existsSync(nvim.path("ran")), "git by itself would run the program");
});

t.test("the buffer of :GeminiPrompt is never shared as context", async (t) => {
  const nvim = await start(t);
  const bridge = new RunningBridge(t, nvim);
  await nvim.command("edit a.txt");
  await nvim.startBridge();
  const client = await bridge.client();
  await nvim.input(":GeminiPrompt my secret plan<CR>V");
  await nvim.input("<Esc>:q<CR>:edit sub/b\\ c.txt<CR>");
  const contexts = () => JSON.stringify(client.received["ide/contextUpdate"]);
  await nvim.waitFor(() => /b c\.txt/.test(contexts()), "what came afterwards");
  t.notMatch(contexts(), /secret|prompt/);
});
