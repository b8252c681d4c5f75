import { existsSync } from "node:fs";
import t from "tap";
import { received, receives, startWithEcho as start } from "../support/echo.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);

const ODD = ["%", "#", "a*b", "x[1].txt", "it's", "{a,b}", "`touch ran`", "$HOME", "<cfile>", "b\\c"];

t.test(":GeminiAdd expands names of files", async (t) => {
  const nvim = await start(t, "", {
    files: { "src/a.js": "", "src/b.js": "", "src/c.ts": "", "src/deep/d.js": "", "note.md": "see c.ts\n" },
  });
  await nvim.command("edit src/a.js");
  await nvim.command("edit src/b.js");
  await nvim.input(":GeminiAdd %<CR>");
  await receives(nvim, "<@src/b.js >");
  await nvim.input(":GeminiAdd % # %:h<CR>");
  await receives(nvim, "<@src/b.js @src/a.js @src >");
  await nvim.input(":GeminiAdd src/*.js a.t?t<CR>");
  await receives(nvim, "<@src/a.js @src/b.js @a.txt >");
  await nvim.input(":GeminiAdd src/**/*.js<CR>");
  await receives(nvim, "<@src/a.js @src/b.js @src/deep/d.js >");
  await nvim.command("edit note.md");
  await nvim.input("$:GeminiAdd <lt>cfile><CR>");
  await nvim.says(/There is no file c\.ts/);
  await nvim.command("edit src/c.ts | call setline(1, 'from a.js')");
  await nvim.input("$:GeminiAdd <lt>cfile><CR>");
  await receives(nvim, "<@src/a.js >");
  const before = received(nvim);
  await nvim.input(":GeminiAdd *.py<CR>");
  t.match(await nvim.messages(), /No file matches \*\.py/);
  await nvim.input(":enew<CR>:GeminiAdd %<CR>");
  t.match(await nvim.messages(), /There is no file name to substitute for %/);
  t.equal(received(nvim), before);
});

t.test(":GeminiAdd takes unusual file names literally, and runs no command", async (t) => {
  const nvim = await start(t, "", { files: Object.fromEntries(ODD.map((name) => [name, ""])) });
  await nvim.command("edit a.txt");
  for (const name of ODD) {
    const spelled = name.replace(/[%#<*?[\]{}`'"$\\]/g, "\\$&").replace(/ /g, "\\ ");
    await nvim.lua("vim.cmd('GeminiAdd ' .. ...)", spelled);
    await receives(nvim, `<@${name.replace(/[ (){}[\];|*?$`'"#&<>!~\\,]/g, "\\$&")} >`);
  }
  // The names as completion writes them.
  const offered = await nvim.lua("return require('gemini-bridge.prompt.expand').complete('')");
  t.match(offered, ["\\#", "\\$HOME", "\\%", "\\<cfile>", "\\`touch\\ ran\\`"]);

  for (const hostile of [
    "`touch ran`",
    "{a,`touch ran`}*",
    "$(touch ran)*",
    "x'`touch ran`'*",
    "%`touch ran`",
  ]) {
    await nvim.input(`:GeminiAdd ${hostile.replaceAll(" ", "\\ ").replaceAll("<", "<lt>")}<CR>`);
    await nvim.input(`:GeminiAdd ${hostile.replaceAll(" ", "\\ ").replaceAll("<", "<lt>")}<Tab><C-c>`);
  }
  await nvim.lua("vim.fn.setline(1, ...)", "see `touch$IFS$9ran`x");
  await nvim.input("$:GeminiAdd <lt>cfile><CR>");
  t.notOk(existsSync(nvim.path("ran")));
});

t.test(":GeminiAdd refuses too many files", async (t) => {
  const names = Array.from({ length: 101 }, (_, index) => [`many/${index}`, ""] as const);
  const nvim = await start(t, "", { files: Object.fromEntries(names) });
  await nvim.input(":GeminiAdd many/*<CR>");
  t.match(await nvim.messages(), /101 files match, but at most 100 can be sent/);
});

t.test(":GeminiAdd refers to entries of explorers", async (t) => {
  const nvim = await start(t, "", {
    // What the functions of fern and NERDTree return.
    init: `
      vim.opt.runtimepath:prepend(vim.fn.getcwd() .. '/plugins')
      vim.cmd([[
        let g:NERDTreeFileNode = {}
        function! g:NERDTreeFileNode.GetSelected() abort
          let path = getcwd() .. '/' .. trim(getline('.'))
          return path =~ '"' ? {} : { 'path': { 'str': { -> path } } }
        endfunction]])`,
    files: {
      "plugins/autoload/fern/helper.vim": `
        function! fern#helper#call(act) abort
          let path = getcwd() .. '/' .. trim(getline('.'))
          return a:act({ 'sync': { 'get_cursor_node': { -> { '_path': path } } } })
        endfunction`,
      "sub/#%.txt": "",
    },
  });
  const open = async (filetype: string, lines: string[], name = "") => {
    await nvim.lua(
      "local ft, lines, name = ... vim.cmd.enew() vim.bo.buftype = 'nofile' vim.api.nvim_buf_set_name(0, name) vim.fn.setline(1, lines) vim.bo.filetype = ft",
      filetype,
      lines,
      name,
    );
  };
  await open("dirvish", [nvim.path("sub/"), "a.txt"]);
  await nvim.input("gg:GeminiAdd<CR>");
  await receives(nvim, "<@sub >");
  await nvim.input("G:GeminiAdd<CR>");
  await receives(nvim, "<@a.txt >");
  await open("directory", ["#%.txt", "b c.txt"], nvim.path("sub/"));
  await nvim.input(":%GeminiSend these<CR>");
  await receives(nvim, "<@sub/\\#%.txt @sub/b\\ c.txt these >");
  await open("fern", ["a.txt", "  sub/b c.txt"]);
  await nvim.input(":%GeminiAdd<CR>");
  await receives(nvim, "<@a.txt @sub/b\\ c.txt >");
  await open("nerdtree", ['" Press ? for help', "  sub/"]);
  await nvim.input("gg:GeminiAdd<CR>");
  await nvim.says("There is no file on this line");
  await nvim.input("G:GeminiAdd<CR>");
  await receives(nvim, "<@sub >");
  await open("fyler", ["/1 a.txt"]);
  await nvim.input(":GeminiAdd<CR>");
  await nvim.says("fyler does not tell other plugins which file is on a line");
});

const snacks = process.env["SNACKS_NVIM"];
if (!snacks) t.comment("snacks.nvim: not tried, SNACKS_NVIM does not name its source");
else
  t.test(":GeminiAdd refers to entries of the explorer of snacks.nvim", async (t) => {
    const nvim = await start(t, "", {
      init: `
        vim.opt.runtimepath:prepend(${JSON.stringify(snacks)})
        require('snacks').setup({ explorer = { enabled = true }, picker = { enabled = true } })`,
      files: { "sub/b c.txt": "b\n", "zz.txt": "" },
    });
    await nvim.command("lua Snacks.explorer()");
    const listed = "vim.bo.filetype == 'snacks_picker_list' and vim.fn.search('zz.txt', 'n') == 5";
    await nvim.waitFor(listed, "the explorer");
    await nvim.input("G:GeminiSend<CR>");
    await receives(nvim, "<@zz.txt >");
    await nvim.input(":3,4GeminiSend these<CR>");
    await receives(nvim, "<@a.txt @agent.sh these >");
    await nvim.input("ggj:GeminiAdd<CR>");
    await receives(nvim, "<@sub >");
  });
