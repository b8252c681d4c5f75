/** Tests the plugin with the changes of Neovim 0.13, which an init.lua mimics in the Neovims of today. */
import { appendFileSync, writeFileSync } from "node:fs";
import t from "tap";
import { startPage } from "../support/page.ts";

/**
 * What is new in Neovim 0.13: OptionSet in place of BufModifiedSet, another `vim.notify`, other names of keys, a
 * command-line window that stays open, and a watcher that runs `:checktime` 100 ms after each write.
 */
const NEXT_NEOVIM = `
vim.g.maplocalleader = "\\\\"
local create, exists = vim.api.nvim_create_autocmd, vim.fn.exists
create("BufModifiedSet", { callback = function(args)
  vim.schedule(function()
    if vim.api.nvim_buf_is_valid(args.buf) then
      vim.api.nvim_buf_call(args.buf, function()
        vim.api.nvim_exec_autocmds("OptionSet", { pattern = "modified" })
      end)
    end
  end)
end })
function vim.api.nvim_create_autocmd(event, options)
  if vim.list_contains(type(event) == "table" and event or { event }, "BufModifiedSet") then
    error("Invalid 'event': 'BufModifiedSet'")
  end
  return create(event, options)
end
function vim.fn.exists(name) return name == "##BufModifiedSet" and 0 or exists(name) end
function vim.fn.getcmdwintype() return ":" end
local keytrans = vim.fn.keytrans
function vim.fn.keytrans(keys) return (keytrans(keys):gsub("\\\\", "<Bslash>"):gsub("|", "<Bar>")) end
vim.notify = loadstring("return function(text) vim.api.nvim_echo({ { text } }, true, {}) end", "@vim/_core/editor")()
vim.opt.undoreload = 100
create("BufReadPost", { callback = function(args)
  local watcher = vim.uv.new_fs_event()
  watcher:start(args.file, {}, function()
    vim.defer_fn(function()
      if vim.api.nvim_buf_is_valid(args.buf) then
        pcall(vim.cmd.checktime, args.buf)
        vim.g.checked = (vim.g.checked or 0) + 1
      end
    end, 100)
  end)
end })
`;

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `${index + 1}\n`).join("");
const LINES = "table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), ' ')";

t.test("in a Neovim with the changes of 0.13", async (t) => {
  const page = await startPage(t, {
    init: NEXT_NEOVIM,
    tui: true,
    files: {
      "a.txt": "one\ntwo\n",
      "b.txt": "one\n",
      "c.txt": "c\n",
      "d.txt": "d\n",
      "long.txt": numbered(300),
      "stored.txt": numbered(300),
    },
    args: ["a.txt"],
  });
  const { nvim, agent, bridge } = page;
  const client = await bridge.client();
  /** Waits until the watcher has run `:checktime` once more. */
  const checked = async (write: () => void) => {
    const before = Number(await nvim.lua("return vim.g.checked or 0"));
    write();
    await nvim.waitFor(`(vim.g.checked or 0) > ${before}`, "the watcher");
  };

  await t.test("a review opens and is accepted, and names the keys as they are typed", async (t) => {
    await client.openDiff(nvim.path("a.txt"), "one\n2\n");
    await nvim.command("GeminiReview");
    await nvim.waitFor("vim.b.gemini_diff ~= nil", "the focus in the proposal");
    await nvim.input("g?");
    await nvim.waitFor(async () => /Accept the/.test((await nvim.screen()).join("\n")), "the list");
    t.match((await nvim.screen()).join("\n"), / \\a +Accept/, "the list of keys");
    await nvim.command("GeminiAccept");
    await client.waitForNotification("ide/diffAccepted");
    writeFileSync(nvim.path("a.txt"), "one\n2\n");
    await nvim.waitFor(`${LINES} == 'one 2'`, "the accepted text");
  });

  await t.test("the page opens, and an edit there is noticed", async (t) => {
    await agent.prompt("work");
    await agent.write("c.txt", "C\n");
    await page.changed(1);
    await nvim.input(":GeminiChanges<CR>");
    await page.shows(t, "▾ work +1 -1 0/1", " ● c.txt +1 -1 0/1");
    await page.is(t, "page:2", "*c.txt:1");
    await nvim.input("omine<Esc>");
    await nvim.waitFor("vim.bo.buflisted", "the edited buffer to be kept");
    await nvim.input("u");
    await nvim.command("GeminiChanges");
    await nvim.input("q");
    await nvim.waitFor("vim.fn.bufwinid('^gemini-page://changes$') < 0", "the end of the page");
    t.notMatch(await nvim.messages(), /E\d+:|traceback/);
  });

  await t.test("a long message does not ask for ENTER", async (t) => {
    await nvim.lua("require('gemini-bridge.notify')(('many words '):rep(100) .. ': the end', 'error')");
    await nvim.says("the end");
    t.equal((await nvim.nvim.mode).blocking, false);
  });

  await t.test("no question takes the keys that the user types while an agent writes the file", async (t) => {
    await nvim.command("edit b.txt");
    await nvim.input("omine");
    await agent.write("b.txt", "one\nagent\n");
    await nvim.says(/b\.txt has changed on disk, but/);
    await checked(() => appendFileSync(nvim.path("b.txt"), "again\n"));
    await nvim.input("alllocal");
    t.equal(await nvim.lua(`return ${LINES}`), "one minealllocal");
    await nvim.input("<Esc>");
    await nvim.command("edit!");
  });

  await t.test("no question takes the keys that the user types during a review", async (t) => {
    await nvim.command("edit a.txt");
    await nvim.input("omine");
    await client.openDiff(nvim.path("a.txt"), "one\nthree\n");
    await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the review");
    await checked(() => appendFileSync(nvim.path("a.txt"), "other\n"));
    await nvim.input("alllocal");
    t.equal(await nvim.lua(`return ${LINES}`), "one minealllocal 2");
    await nvim.input("<Esc>");
    await nvim.command("GeminiReject");
    await client.waitForNotification("ide/diffRejected");
    await nvim.command("edit!");
  });

  await t.test("a file that no agent writes gets Neovim's own question", async () => {
    await nvim.command("edit! d.txt");
    await nvim.input("omine<Esc>");
    writeFileSync(nvim.path("d.txt"), "other\n");
    await nvim.waitFor(async () => /W12/.test((await nvim.screen()).join("\n")), "Neovim's question");
    await nvim.input("o");
    await nvim.command("edit!");
  });

  await t.test("a long buffer keeps its undo history when an agent writes the file", async (t) => {
    await nvim.command("edit long.txt");
    await nvim.input("ggIx<Esc>");
    await nvim.command("write");
    await checked(() => writeFileSync(nvim.path("long.txt"), numbered(301)));
    await nvim.waitFor("vim.api.nvim_buf_line_count(0) == 301", "the new text");
    await nvim.input("uu");
    t.equal(await nvim.lua("return vim.fn.getline(1) .. ' ' .. vim.fn.line('$')"), "1 300");
    await nvim.command("edit! a.txt");
    await nvim.command("GeminiStop");
    await nvim.waitFor("require('gemini-bridge').status().state == 'stopped'", "the end of the bridge");
    t.equal(await nvim.lua("return vim.bo[vim.fn.bufnr('long.txt')].autoread == nil"), true);
  });

  await t.test("an own handler of the user decides alone", async (t) => {
    await nvim.command("GeminiStart");
    await nvim.waitFor("require('gemini-bridge').status().state == 'running'", "the bridge");
    await nvim.lua(`vim.g.asked = 0
      vim.api.nvim_create_autocmd("FileChangedShell", { pattern = "b.txt", callback = function()
        vim.g.asked, vim.v.fcs_choice = vim.g.asked + 1, "reload"
      end })`);
    await nvim.command("edit! b.txt");
    await nvim.input("omore<Esc>");
    await checked(() => writeFileSync(nvim.path("b.txt"), "from outside\n"));
    await nvim.waitFor(`${LINES} == 'from outside'`, "the user's choice");
    t.equal(await nvim.lua("return vim.g.asked"), 1);
  });

  await t.test("a session with the options of buffers does not switch 'autoread' off", async (t) => {
    await nvim.command("set sessionoptions+=localoptions");
    await nvim.command("edit! stored.txt");
    await nvim.command("mksession! session.vim");
    t.notMatch(page.read("session.vim"), /noautoread/);
  });
});
