import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { ATTACHED } from "../support/attached.ts";
import { startBridge } from "../support/bridge.ts";
import { AGENT, received, receives, startWithEcho as start } from "../support/echo.ts";
import { root, startNvim } from "../support/nvim.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);

t.test("prompts reach the CLI with references to files, lists and diagnostics", async (t) => {
  const nvim = await start(t);

  await t.test("a message explains why a prompt cannot be sent", async (t) => {
    await nvim.input(":GeminiSend<CR>");
    t.match(await nvim.messages(), /This buffer has no file/);
    await nvim.input(":edit new.txt<CR>:GeminiSend<CR>");
    t.match(await nvim.messages(), /not on disk yet/);
    t.equal(
      await nvim.lua("return require('gemini-bridge').status().state"),
      "stopped",
      "nothing was started",
    );
    await nvim.input(":edit a.txt<CR>onew<Esc>:GeminiSend<CR>");
    await receives(nvim, "<@a.txt >");
    t.match(await nvim.messages(), /without your unsaved changes/);
  });

  await t.test(":GeminiSend refers to the file, with lines and a text", async (t) => {
    await nvim.input(":GeminiSend --text begin<CR>");
    await receives(nvim, "<begin >");
    await nvim.command("edit! a.txt");
    await nvim.input(":GeminiSend<CR>");
    await receives(nvim, "<@a.txt >");
    t.equal(await nvim.lua("return vim.fn.expand('%:t')"), "a.txt", "the focus stays");
    t.equal(await nvim.lua("return vim.api.nvim_get_mode().mode"), "n");
    await nvim.input(":GeminiSend what is this?<CR>");
    await receives(nvim, "<@a.txt what is this? >");
    await nvim.input(":2GeminiSend<CR>");
    await receives(nvim, "<@a.txt (line 2) >");
    await nvim.input(':2,3GeminiSend and "this" | too<CR>');
    await receives(nvim, '<@a.txt (lines 2-3) and "this" | too >');
    await nvim.input("2GVj:GeminiSend<CR>");
    await receives(nvim, "<@a.txt (lines 2-3) >");
    await nvim.input("3Gvk<Plug>(GeminiSend)");
    await receives(nvim, "<@a.txt (lines 2-3) >");
    await nvim.input("<Esc>:GeminiSend --text just text<CR>");
    await receives(nvim, "<just text >");
    await nvim.command("enew");
    await nvim.input(":GeminiSend no file here<CR>");
    await receives(nvim, "<no file here >");
  });

  await t.test(":GeminiAdd refers to files", async (t) => {
    await nvim.command("messages clear");
    await nvim.command("edit a.txt");
    await nvim.input(":GeminiAdd<CR>");
    await receives(nvim, "<@a.txt >");
    await nvim.input(":GeminiAdd sub/b\\ c.txt sub/d,e. a.txt sub<CR>");
    await receives(nvim, "<@sub/b\\ c.txt @sub/d\\,e\\. @a.txt @sub >");
    await nvim.input(":GeminiAdd /etc/passwd<CR>");
    await receives(nvim, "<@/etc/passwd >");
    t.same(await nvim.lua("return vim.fn.getcompletion('GeminiAdd sub/b', 'cmdline')"), ["sub/b\\ c.txt"]);
    const before = received(nvim);
    await nvim.input(":GeminiAdd a.txt nowhere<CR>");
    t.match(await nvim.messages(), /There is no file nowhere/);
    t.equal(received(nvim), before, "nothing was sent");
  });

  await t.test(":GeminiSend refers to quickfix and location lists", async (t) => {
    await nvim.command("messages clear");
    await nvim.lua(`vim.fn.setqflist({
      { filename = 'a.txt', lnum = 2, text = 'is\\twrong' },
      { filename = 'sub/b c.txt', lnum = 1, text = 'too' },
      { filename = 'a.txt', lnum = 3, end_lnum = 4, text = 'and here' },
    })`);
    await nvim.input(":GeminiSend --quickfix fix these<CR>");
    await receives(
      nvim,
      "<@a.txt\nline 2: is wrong\nlines 3-4: and here\n@sub/b\\ c.txt\nline 1: too\nfix these >",
    );
    await nvim.input(":copen<CR>2G:GeminiSend<CR>");
    await receives(nvim, "<@sub/b\\ c.txt\nline 1: too >");
    await nvim.input(":cclose<CR>:edit a.txt<CR>");
    await nvim.lua("vim.fn.setloclist(0, { { filename = 'a.txt', lnum = 1, text = '' } })");
    await nvim.input(":lopen<CR>:%GeminiSend<CR>");
    await receives(nvim, "<@a.txt (line 1) >");
    await nvim.input(":lclose<CR>:call setqflist([])<CR>:GeminiSend --quickfix<CR>");
    t.match(await nvim.messages(), /The quickfix list has no entries/);
  });

  await t.test(":GeminiSend refers to diagnostics", async (t) => {
    await nvim.command("messages clear");
    await nvim.command("edit a.txt");
    await nvim.input(":GeminiSend --diagnostics<CR>");
    t.match(await nvim.messages(), /There are no diagnostics here/);
    await nvim.lua(`vim.diagnostic.set(vim.api.nvim_create_namespace('test'), 0, {
      { lnum = 2, col = 0, severity = 2, message = 'odd\\nindeed', source = 'lint' },
      { lnum = 0, col = 0, end_lnum = 1, severity = 1, message = 'broken' },
    })`);
    await nvim.input(":GeminiSend --diagnostics fix<CR>");
    await receives(nvim, "<@a.txt\nlines 1-2: error: broken\nline 3: warning: odd indeed (lint)\nfix >");
    await nvim.input(":3GeminiSend --diagnostics<CR>");
    await receives(nvim, "<@a.txt\nline 3: warning: odd indeed (lint) >");
    await nvim.input(":GeminiSend --diagnostic<CR>");
    t.match(await nvim.messages(), /Unknown option --diagnostic\. Known: --diagnostics, --quickfix, --text/);
    t.same(await nvim.lua("return vim.fn.getcompletion('GeminiSend --d', 'cmdline')"), ["--diagnostics"]);
  });

  await t.test("control characters in a prompt are not sent", async () => {
    await nvim.command("enew!");
    // Ctrl-C, Ctrl-D, Ctrl-U, Enter and CSI would act as keys.
    await nvim.lua(
      "require('gemini-bridge').send({ text = ... })",
      "a\x1b[201~b\x07\tc\x03\x04\x15\r\n\u009b201~d\x7f",
    );
    await receives(nvim, "<a[201~b c\n201~d >");
  });
});

t.test("with :GeminiSend!, Enter is pressed only after the CLI shows the text", async (t) => {
  const nvim = await start(t);
  await nvim.command("edit a.txt");
  await nvim.input(":GeminiSend! go<CR>");
  await receives(nvim, "<@a.txt go >\r");

  const deaf = await start(t, "", {
    files: { "agent.sh": `${ATTACHED}; stty raw -echo; echo 'Apply this change?'; exec cat >keys\n` },
  });
  await deaf.command("edit a.txt");
  await deaf.input(":GeminiSend! go<CR>");
  await deaf.says(/Enter was not pressed/);
  t.notMatch(await deaf.lua("return table.concat(vim.fn.readfile('keys', 'b'), '\\n')"), /\r/);
});

t.test("a suggestion of the CLI in its prompt is replaced, and a text of the user is not sent", async (t) => {
  const cli = join(root, "test/outside/fixtures/suggesting-cli.mjs");
  const nvim = await startNvim(t, {
    tui: true,
    files: { "a.txt": "one\n" },
    args: ["a.txt"],
    init: `require('gemini-bridge').setup({ clis = { qwen = { cmd = { '${process.execPath}', '${cli}' }, args = {} } } })`,
  });
  const sent = () => (existsSync(nvim.path("sent")) ? readFileSync(nvim.path("sent"), "utf8") : "");
  const send = (text: string) =>
    nvim.lua("require('gemini-bridge').send({ source = 'nothing', text = ..., submit = true })", text);
  const sends = (text: string) => nvim.waitFor(() => sent() === text, `${text} in ${sent()}`);
  const shows = (pattern: RegExp) =>
    nvim.waitFor(async () => pattern.test((await nvim.screen()).join("\n")), `${pattern}`);
  await nvim.command("Gemini cli=qwen");
  await shows(/ ➜ workspace/);
  await send("first");
  await sends("first \n");
  await shows(/> run the tests/);
  await send("second");
  await sends("first \nsecond \n");

  await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "Terminal mode");
  await shows(/> run the tests/);
  await nvim.lua("vim.api.nvim_paste('mine', true, -1)");
  await shows(/> mine/);
  const waits = async () => {
    await send("not now");
    await nvim.says("The prompt waits until you send or delete your text");
    await nvim.lua("require('gemini-bridge.prompt.outbox').cancel()");
    await nvim.command("messages clear");
  };
  await waits();
  await nvim.input("<CR>");
  await sends("first \nsecond \nmine\n");

  await shows(/> run the tests/);
  await nvim.input("two\\<CR>");
  await shows(/> two\s*$/m);
  await waits();
  await nvim.input("lines<CR>");
  await sends("first \nsecond \nmine\ntwo\r\n  lines\n");

  await shows(/> run the tests/);
  await nvim.input("mine");
  await shows(/> mine/);
  await send("third");
  await shows(/> mine/);
  t.equal(sent(), "first \nsecond \nmine\ntwo\r\n  lines\n", "the prompt waits");
  await nvim.input("<BS><BS><BS><BS>");
  if ((await nvim.lua("return vim.fn.has('nvim-0.11')")) === 1)
    await sends("first \nsecond \nmine\ntwo\r\n  lines\nthird \n"); // the suggestion is recognized by its colours
  else {
    await nvim.input("go<CR>");
    await sends("first \nsecond \nmine\ntwo\r\n  lines\ngo\nthird \n");
  }
});

for (const style of [0, 1, 2, 3]) {
  t.test(`prompts refer to entries of netrw, list style ${style}`, async (t) => {
    const nvim = await start(t, "", {
      init: `vim.g.netrw_liststyle, vim.g.netrw_banner = ${style}, 0`,
      own: true,
    });
    await nvim.command("edit .");
    await nvim.waitFor("vim.bo.filetype == 'netrw'", "netrw");
    await nvim.input("/a\\.txt<CR>");
    const where = await nvim.lua('return { vim.fn.getpos("."), vim.fn.getline(1, "$") }');
    await nvim.input(":GeminiSend<CR>");
    await receives(nvim, "<@a.txt >");
    t.same(
      await nvim.lua('return { vim.fn.getpos("."), vim.fn.getline(1, "$") }'),
      where,
      "the listing stays",
    );
    if (style === 3) {
      await nvim.input("/sub<CR><CR>/b c<CR>:GeminiSend<CR>");
    } else {
      await nvim.input(":edit sub<CR>");
      await nvim.input("/b c<CR>:GeminiAdd<CR>");
    }
    await receives(nvim, "<@sub/b\\ c.txt >");
    if (style < 2) {
      await nvim.input("/b c<CR>Vj:GeminiSend<CR>");
      await receives(nvim, "<@sub/b\\ c.txt @sub/d\\,e\\. >");
    }
  });
}

t.test("prompts reach a CLI that the user has started in :terminal", async (t) => {
  const nvim = await start(t, "terminal = { cmd = { 'my-cli' } }", {
    files: { "my-cli": AGENT.replace("exec ", "") },
  });
  await nvim.command("edit a.txt");
  await nvim.input(":split | terminal<CR>i");
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "the shell");
  await nvim.input("sh ./my-cli<CR>");
  await nvim.waitFor(
    "table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false)):find('ready', 1, true)",
    "the CLI",
  );
  await nvim.input("<C-\\><C-n><C-w>p:GeminiSend found<CR>");
  await receives(nvim, "<@a.txt found >");
  t.equal(
    await nvim.lua("return #require('gemini-bridge.terminal.terminals').list()"),
    0,
    "none was started",
  );
});

t.test("the reason of a rejection reaches no other CLI than that of the proposal", async (t) => {
  const { bridge, nvim } = await startBridge(t, {
    files: { "a.txt": "one\n", "my-qwen": AGENT.replace("exec ", "") },
    args: ["a.txt"],
    init: "require('gemini-bridge').setup({ clis = { qwen = { cmd = { 'my-qwen' } } } })",
  });
  await nvim.input(":botright new | terminal sh ./my-qwen<CR>");
  await nvim.waitFor(() => existsSync(nvim.path("received")), "the other CLI");
  await nvim.input("<C-w>p");
  const gemini = await bridge.client("gemini");
  const rejects = async () => {
    await gemini.openDiff(nvim.path("a.txt"), "two\n");
    await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the proposal");
    return () => nvim.input(":GeminiReject use three<CR>");
  };
  await (await rejects())();
  await nvim.says("The reason was not sent, because no terminal with the CLI was found.");

  await nvim.command("messages clear");
  const reject = await rejects();
  await bridge.client("another");
  await gemini.close();
  await nvim.waitFor(async () => (await bridge.status()).clients.length === 1, "the end of the connection");
  await reject();
  await nvim.says("The reason was not sent, because the terminal of the CLI is unknown.");
  t.equal(received(nvim), "");
});

for (const [moment, enter, leave] of [
  ["text lock", "<F2>", "x"],
  ["the command-line window", "q:", ":q<CR>"],
] as const) {
  t.test(`${moment}: prompts are delivered later, and a CLI is started for them`, async (t) => {
    const nvim = await start(t);
    await nvim.lua(
      `vim.keymap.set('n', '<F2>', function() vim.fn.getcharstr() return '' end, { expr = true })
      function send(text) require('gemini-bridge').send({ source = 'nothing', text = text }) end`,
    );
    for (const text of ["to a new CLI", "to one that runs"]) {
      await nvim.input(enter);
      await nvim.lua("send(...)", text);
      await nvim.lua("vim.wait(100)"); // so that Neovim does everything that is possible now
      t.notOk(received(nvim).includes(text), "not now");
      await nvim.input(leave);
      await receives(nvim, `<${text} >`);
      t.equal(await nvim.lua("return vim.bo.buftype"), "", "the focus stays");
    }
    t.notMatch(await nvim.messages(), /E\d+:|stack traceback/);
  });
}
