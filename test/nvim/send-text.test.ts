import t from "tap";
import { received, receives, startWithEcho as start } from "../support/echo.ts";
import type { Nvim } from "../support/nvim.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);

/** Opens a shell with the prompt "$ " in a terminal, and types a command. */
async function shell(nvim: Nvim, command: string, output: RegExp): Promise<void> {
  await nvim.lua("vim.env.PS1, vim.env.ENV = '$ ', ''");
  await nvim.input(":terminal sh<CR>i");
  const text = "return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')";
  const shows = (what: RegExp) =>
    nvim.waitFor(async () => what.test(String(await nvim.lua(text))), "the shell");
  // Waits for the prompt. Text that is typed before the prompt appears would be echoed twice.
  await shows(/^\$ /m);
  await nvim.input(`${command}<CR>`);
  await shows(output);
  await nvim.input("<C-\\><C-n>");
}

t.test(":GeminiSend sends the text of a buffer without a file", async (t) => {
  const nvim = await start(t);
  await nvim.command("enew");
  await nvim.lua("vim.bo.filetype = 'lua'");
  await nvim.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'local a = 1', '', '\\treturn a' })");
  await nvim.input(":GeminiSend<CR>");
  await receives(nvim, "<```lua\nlocal a = 1\n\n    return a\n``` >");
  await nvim.input(":3GeminiSend what is this?<CR>");
  await receives(nvim, "<```lua\n    return a\n```\nwhat is this? >");
  await nvim.input("ggV<Plug>(GeminiSend)");
  await receives(nvim, "<```lua\nlocal a = 1\n``` >");
  await nvim.input("<Esc>:GeminiSend only the text<CR>");
  await receives(nvim, "<only the text >");
  await nvim.input(":edit later.txt<CR>inot yet written<Esc>:GeminiSend<CR>");
  await receives(nvim, "<later.txt:\n```text\nnot yet written\n``` >");
});

t.test(":GeminiSend sends the text of a buffer as a code block of limited length", async (t) => {
  const nvim = await start(t);
  await nvim.command("enew");
  const lines = ["```", "@a.txt and user@host \\@b", "````js"];
  await nvim.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, ...)", lines);
  await nvim.input(":GeminiSend<CR>");
  await receives(nvim, "<`````\n```\n\\@a.txt and user\\@host \\\\@b\n````js\n````` >");

  await nvim.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.fn['repeat']({ 'x' }, 1500))");
  await nvim.input(":GeminiSend<CR>");
  await receives(nvim, `<\`\`\`\n${"x\n".repeat(1000)}\`\`\`\n(500 lines left out) >`);
  await nvim.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { ('y'):rep(70000), 'z' })");
  await nvim.input(":GeminiSend<CR>");
  await nvim.says(/This buffer has no file/);
  t.notMatch(received(nvim), /yyy/, "a line that is too long is no text");
});

t.test(":GeminiSend sends the last output of a terminal", async (t) => {
  const nvim = await start(t);
  await nvim.command("edit a.txt");
  await nvim.input(":GeminiSend --output<CR>");
  t.match(await nvim.messages(), /There is no terminal output/);
  await nvim.input(":GeminiSend<CR>");
  await receives(nvim, "<@a.txt >");
  await shell(nvim, "echo one; echo two", /^two\n\$/m);

  await t.test(":GeminiSend sends the output of a terminal from any window, also with a text", async () => {
    const output = "Output of a terminal:\n```\n$ echo one; echo two\none\ntwo\n$\n```";
    await nvim.input(":GeminiSend<CR>");
    await receives(nvim, `<${output} >`);
    await nvim.input(":1GeminiSend<CR>");
    await receives(nvim, "\n```\n$ echo one; echo two\n``` >");
    await nvim.input(":edit a.txt<CR>:GeminiSend --output why?<CR>");
    await receives(nvim, `<${output}\nwhy? >`);
  });

  await t.test(":GeminiSend sends at most one screen of output", async () => {
    await nvim.input(":terminal seq 300<CR>");
    await nvim.waitFor("vim.fn.getline('$'):find('exited') or vim.fn.search('^300$', 'n') > 0", "the end");
    await nvim.input(":GeminiSend<CR>");
    await receives(nvim, /\n299\n300\n[^>]*``` >$/);
    const sent = received(nvim).slice(received(nvim).lastIndexOf("Output of"));
    const rows = Number(await nvim.lua("return vim.api.nvim_win_get_height(0)"));
    const numbers = sent.match(/^\d+$/gm)?.length ?? 0;
    t.ok(numbers > rows / 2 && numbers <= rows, `${numbers} of ${rows} lines`);
  });

  await t.test(":GeminiSend does not send output of the CLI's own terminal", async () => {
    await nvim.input(":Gemini<CR>");
    await nvim.waitFor("vim.b.gemini_terminal == 'gemini'", "the CLI");
    await nvim.command("messages clear");
    await nvim.input("<C-\\><C-n>:GeminiSend<CR>");
    t.match(await nvim.messages(), /This buffer has no file/);
  });
});

t.test(":GeminiSend sends the last command and its output if the shell marks its prompts", async (t) => {
  const nvim = await start(t);
  if (!(await nvim.lua("return vim.fn.has('nvim-0.11') == 1"))) {
    const marks = "return vim.api.nvim_get_namespaces()['nvim.terminal.prompt']";
    return t.equal(await nvim.lua(marks), null, "Neovim 0.10 marks no prompts: the whole screen is sent");
  }
  await nvim.input(":GeminiSend --text begin<CR>");
  await receives(nvim, "<begin >");
  await nvim.lua("vim.env.PS1, vim.env.ENV = '\\27]133;A\\7$ ', ''");
  await nvim.input(":terminal sh<CR>i");
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "the shell");
  const marks = async (count: number) =>
    nvim.waitFor(
      `#vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_create_namespace('nvim.terminal.prompt'), 0, -1, {}) == ${count}`,
      `${count} marks`,
    );
  await marks(1);
  await nvim.input("echo first<CR>");
  await marks(2);
  await nvim.input("seq 100<CR>");
  await marks(3);
  await nvim.input("<C-\\><C-n>:GeminiSend<CR>");
  const numbers = Array.from({ length: 100 }, (_, index) => index + 1).join("\n");
  await receives(nvim, `<Output of a terminal:\n\`\`\`\n$ seq 100\n${numbers}\n\`\`\` >`);
  await nvim.input("iseq 201 207; cat<CR>");
  await nvim.waitFor("vim.fn.search('^207$', 'n') > 0", "the output so far");
  await nvim.input("<C-\\><C-n>:GeminiSend<CR>");
  await receives(
    nvim,
    "<Output of a terminal:\n```\n$ seq 201 207; cat\n201\n202\n203\n204\n205\n206\n207\n``` >",
  );
});
