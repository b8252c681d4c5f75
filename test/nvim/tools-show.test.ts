import { writeFileSync } from "node:fs";
import {
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import t from "tap";
import { startBridge } from "../support/bridge.ts";
import { connectEditorClient, languageServer } from "../support/editor-client.ts";
import { startNvim } from "../support/nvim.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);

const FILES = {
  "main.js": "greet('Ada');\nconst x = BAD;\n",
  "long.txt": "line\n".repeat(200),
  "notes.md": "# Notes\n",
  ".env": "SECRET\n",
};
const PROMPTS =
  "require('gemini-bridge').setup({ prompts = { haiku = { description = 'A poem', text = 'On {path}:' }, quote = { description = 'A quote', text = '{path} {selection} {other}' } } })";

t.test("the model can show files and lists, and read resources", async (t) => {
  const init = `${PROMPTS}\n${languageServer()}`;
  const { bridge, nvim } = await startBridge(t, { files: FILES, args: ["main.js"], init });
  const client = await connectEditorClient(t, bridge);
  const { mcp, text, refusal } = client;
  const where = () =>
    nvim.lua("return { vim.api.nvim_get_current_win(), vim.api.nvim_get_mode().mode, vim.fn.col('.') }");

  await t.test("the tool open_file does not move the focus", async (t) => {
    await nvim.input("A!");
    const before = await where();
    t.equal(await text("open_file", { path: "long.txt", line: 100 }), "long.txt:100 is shown.");
    t.same(await where(), before);
    const shown = `(function()
      local win = vim.fn.bufwinid('long.txt')
      return win > 0 and { vim.api.nvim_win_get_cursor(win)[1], vim.bo[vim.api.nvim_win_get_buf(win)].buflisted }
    end)()`;
    t.same(await nvim.lua(`return ${shown}`), [100, true]);
    t.equal(
      await nvim.lua("return vim.api.nvim_get_current_line()"),
      "greet('Ada');!",
      "what was typed is there",
    );
    await text("open_file", { path: "notes.md" });
    t.equal(
      await nvim.lua("return #vim.api.nvim_list_wins()"),
      2,
      "the window that was opened is used again",
    );
    t.equal(await text("open_file", { path: "notes.md", line: 99 }), "notes.md:1 is shown. It has 1 line.");
    t.equal(
      await text("open_file", { path: "main.js", line: 2 }),
      "main.js is shown, and the user is in it: their cursor stays.",
    );
    t.match(await refusal("open_file", { path: ".env" }), "is excluded");
    t.match(await refusal("open_file", { path: "/etc/passwd" }), "is outside");
    await nvim.input("<Esc>:silent undo<CR>");
  });

  await t.test("the tool quickfix fills the quickfix list", async (t) => {
    const items = [
      { path: "main.js", line: 2, text: "look\nhere" },
      { path: ".env", line: 1, text: "no" },
    ];
    t.match(
      await text("quickfix", { title: "To do", items }),
      /^1 entry in the quickfix list\.\n\.env is excluded/,
    );
    t.match(await nvim.lua("return vim.fn.getqflist({ title = true, items = true })"), {
      title: "To do",
      items: [{ lnum: 2, text: "look here" }],
    });
    t.match(await refusal("quickfix", { title: "x", items: items.slice(1) }), "is excluded");

    await nvim.lua(`for _, title in ipairs({ "mine", "mine, too" }) do
      vim.fn.setqflist({}, " ", { title = title, items = {} })
    end
    vim.cmd.colder()`);
    const stack = `return vim.tbl_map(function(nr) return vim.fn.getqflist({ nr = nr, title = 1 }).title end,
      vim.fn.range(1, vim.fn.getqflist({ nr = "$" }).nr))`;
    for (let call = 1; call <= 12; call++) {
      await text("quickfix", { title: `call ${call}`, items: [{ path: "main.js", line: 1, text: "x" }] });
      t.equal(await nvim.lua("return vim.fn.getqflist({ title = 1 }).title"), `call ${call}`);
    }
    t.same(await nvim.lua(stack), ["To do", "mine", "mine, too", "call 12"], "the user's lists stay");
    await nvim.command("colder");
    await text("quickfix", { title: "To do", items });
    t.equal(await nvim.lua("return vim.fn.getqflist({ title = 1 }).title"), "To do", "and it is shown again");
  });

  await t.test("resources of the MCP server are listed and read", async (t) => {
    const read = async (uri: string) => {
      const [content] = (await mcp.readResource({ uri })).contents;
      return content && "text" in content ? content.text : undefined;
    };
    await text("diagnostics", { path: "main.js", settle: true });
    const { resources } = await mcp.listResources();
    const uris = resources.map(({ uri }) => uri);
    for (const name of ["diagnostics", "quickfix", "buffers", "selection", "buffer/main.js"])
      t.ok(uris.includes(`nvim://${name}`), name);
    t.equal(await read("nvim://quickfix"), "To do: 1 entry\nmain.js:2 look here");
    t.match(await read("nvim://diagnostics"), "main.js:2:11 error this is BAD [E1]");
    t.equal(await read("nvim://buffer/main.js"), "greet('Ada');\nconst x = BAD;");
    t.match(await read("nvim://buffers"), "main.js, 2 lines");
    await t.rejects(mcp.readResource({ uri: "nvim://buffer/.env" }), /is excluded/);
    await t.rejects(mcp.readResource({ uri: "nvim://buffer/%" }), /There is no such file/);
    await nvim.lua(
      "vim.fn.writefile({ 'odd' }, ...) vim.cmd.edit({ ..., magic = { file = false } })",
      "a#b?c%20.js",
    );
    const listed = (await mcp.listResources()).resources.map(({ uri }) => uri);
    t.ok(listed.includes("nvim://buffer/a%23b%3Fc%2520.js"), "names are encoded");
    t.equal(await read("nvim://buffer/a%23b%3Fc%2520.js"), "odd");
    await nvim.command("bwipeout | edit main.js");
  });

  await t.test("clients are notified of changed resources", async (t) => {
    const updated: string[] = [];
    let listed = 0;
    mcp.setNotificationHandler(
      ResourceUpdatedNotificationSchema,
      ({ params }) => void updated.push(params.uri),
    );
    mcp.setNotificationHandler(ResourceListChangedNotificationSchema, () => void listed++);
    await mcp.subscribeResource({ uri: "nvim://diagnostics" });
    writeFileSync(nvim.path("more.js"), "BAD\n");
    await nvim.command("edit more.js");
    await nvim.waitFor(() => listed > 0 && updated.includes("nvim://diagnostics"), "both notifications");
    t.notOk(updated.includes("nvim://quickfix"), "nothing that was not subscribed to");
    const follows =
      "#vim.api.nvim_get_autocmds({ group = 'gemini-bridge.model.resource_updates', event = 'CursorMoved' })";
    t.equal(
      await nvim.lua(`return ${follows}`),
      0,
      "no key costs anything for a selection that nobody follows",
    );
    await mcp.subscribeResource({ uri: "nvim://selection" });
    await nvim.waitFor(`${follows} == 1`, "the selection to be followed");
    await nvim.input("v");
    await nvim.waitFor(() => updated.includes("nvim://selection"), "the selection's notification");
    await nvim.input("<Esc>");
    await mcp.unsubscribeResource({ uri: "nvim://selection" });
    await nvim.waitFor(`${follows} == 0`, "the selection to be left alone");
  });

  await t.test("prompts of the MCP server are listed, and their placeholders are replaced", async (t) => {
    const { prompts } = await mcp.listPrompts();
    t.same(prompts.map(({ name }) => name).sort(), ["explain", "fix", "haiku", "quote", "review", "test"]);
    const say = async (name: string, args: Record<string, string> = {}) => {
      const { messages } = await mcp.getPrompt({ name, arguments: args });
      t.equal(messages.length, 1);
      const [message] = messages;
      return message?.content.type === "text" ? message.content.text : "";
    };
    t.match(await say("fix", { path: "main.js" }), /Fix these problems[\s\S]*main\.js:2:11 error/);
    t.equal(await say("haiku", { path: "$& main.js" }), "On $& main.js:");
    await nvim.input("ggO{path} {diagnostics}<Esc>V");
    await nvim.waitFor("vim.fn.mode() == 'V'", "the selection");
    t.equal(
      await say("quote", { path: "{selection}" }),
      "{selection} The cursor is at more.js:1:20; selected:\n{path} {diagnostics} {other}",
      "inserted text is not replaced again",
    );
    await nvim.input("<Esc>u");
    t.match(await say("explain"), "The cursor is at more.js:1:1");
    await t.rejects(mcp.getPrompt({ name: "fix", arguments: { path: ".env" } }), /is excluded/);
    await t.rejects(
      mcp.getPrompt({ name: "fix", arguments: { path: "notes.md" } }),
      /no diagnostics here: there is nothing to fix/,
      "the model is not asked to fix nothing",
    );
    t.match(await say("review", { path: "notes.md" }), /Review notes\.md[\s\S]*no diagnostics/);
  });
});

t.test(
  "the tool open_file shows a file that another Neovim has open, and a message tells the user",
  async (t) => {
    const { bridge, nvim } = await startBridge(t, {
      files: FILES,
      args: ["main.js"],
      init: languageServer(),
    });
    const client = await connectEditorClient(t, bridge);
    const swap = `vim.o.swapfile, vim.o.directory = true, ${JSON.stringify(nvim.dirs.workspace)}`;
    await nvim.lua(swap);
    await startNvim(t, { cwd: nvim.dirs.workspace, args: ["long.txt", "notes.md", "-O"], init: swap });
    t.equal(await client.text("open_file", { path: "long.txt" }), "long.txt is shown.");
    await nvim.says("long.txt has a swap file");
    await client.text("symbols", { path: "notes.md" });
    await nvim.input(":edit notes.md<CR>");
    t.equal(await nvim.lua("return vim.fn.getline(1)"), "# Notes");
    await nvim.says("notes.md has a swap file");
    t.ok(await nvim.lua("return vim.fn.swapname('%') ~= ''"), "with a swap file of its own");
    t.notMatch(await nvim.messages(), /E\d+:/);
  },
);

t.test(
  "the tool quickfix keeps focus and mode although an autocommand opens the quickfix window",
  async (t) => {
    const init = "vim.api.nvim_create_autocmd('QuickFixCmdPost', { nested = true, command = 'cwindow' })";
    const { bridge, nvim } = await startBridge(t, { files: FILES, args: ["notes.md"], init });
    const { text } = await connectEditorClient(t, bridge);
    const where = () =>
      nvim.lua("return { vim.api.nvim_get_current_win(), vim.api.nvim_get_mode().mode, vim.fn.bufname() }");
    const fill = (title: string) =>
      text("quickfix", { title, items: [{ path: "main.js", line: 1, text: "here" }] });

    for (const keys of ["A", "v", "gh", "V", ":echo", ":terminal<CR>i"]) {
      await nvim.command("cclose");
      await nvim.input(keys);
      const before = await where();
      t.equal(await fill(keys), "1 entry in the quickfix list.");
      t.same(await where(), before, keys);
      t.ok(await nvim.lua("return vim.fn.getqflist({ winid = true }).winid > 0"), "the window is open");
      await nvim.input(keys.startsWith(":t") ? "<C-\\><C-n>" : "<Esc>");
    }
    await nvim.command("cclose | autocmd QuickFixCmdPost * echoerr 'oops'");
    t.equal(await fill("with an error"), "1 entry in the quickfix list.");
    await nvim.says("oops");
  },
);

t.test("the tool open_file leaves the windows of a review and of a comparison as they are", async (t) => {
  const { bridge, nvim } = await startBridge(t, { files: FILES, args: ["notes.md"] });
  const { text } = await connectEditorClient(t, bridge);
  const cli = await bridge.client();
  const compared = () =>
    nvim.lua(`return vim.iter(vim.api.nvim_list_wins()):filter(function(win) return vim.wo[win].diff end)
      :map(function(win) return vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)):match("[^/]*$") end):totable()`);
  const shows = (name: string) => nvim.lua("return vim.fn.bufwinid(...) > 0", name);

  for (const place of ["beside the review", "in the proposal", "in a terminal"]) {
    await nvim.command("%bwipeout! | edit notes.md");
    if (place !== "in a terminal") await nvim.command("vsplit main.js | wincmd p");
    else await nvim.command("terminal");
    await cli.openDiff(nvim.path("main.js"), "greet('Bob');\nconst x = BAD;\n");
    await nvim.waitFor(async () => ((await compared()) as unknown[]).length === 2, "the review");
    if (place === "in the proposal") await nvim.command("GeminiReview");
    t.same(await compared(), ["main.js", "main.js"]);
    await text("open_file", { path: "long.txt", line: 100 });
    t.same(await compared(), ["main.js", "main.js"], place);
    t.ok(await shows("long.txt"));
    await nvim.command("GeminiReject");
    await cli.waitForNotification("ide/diffRejected");
    cli.received["ide/diffRejected"].length = 0;
    await nvim.waitFor(async () => ((await compared()) as unknown[]).length === 0, "the end of the review");
    t.equal(await shows("main.js"), place !== "in a terminal", "the user's window of the file stays");
  }
  await nvim.command("%bwipeout! | edit notes.md | diffthis | vsplit main.js | diffthis");
  await text("open_file", { path: "long.txt" });
  t.same(await compared(), ["main.js", "notes.md"], "the user's own comparison");
  t.ok(await shows("long.txt"));
});
