import { chmodSync, existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import t from "tap";
import { startBridge } from "../support/bridge.ts";
import { connectEditorClient, languageServer } from "../support/editor-client.ts";
import { startNvim } from "../support/nvim.ts";
import { startPage } from "../support/page.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);

const FILES = {
  "greet.js": "function greet(name) {\n  return name;   \n}\n",
  "main.js": "greet('Ada');\r\nconst x = BAD;\r\n",
  "other.js": "greet('Bob');\n",
};

t.test("tools for the model edit files in the editor", async (t) => {
  const page = await startPage(t, { files: FILES, args: ["main.js", "greet.js"], init: languageServer() });
  const { bridge, nvim, agent, read: onDisk, changes, changed } = page;
  const client = await connectEditorClient(t, bridge);
  const { text, refusal } = client;
  const lines = (name: string) =>
    nvim.lua("return vim.api.nvim_buf_get_lines(vim.fn.bufnr(...), 0, -1, true)", name);
  const undoAll = async () => {
    await nvim.command("GeminiUndo! all");
    await changed(0);
  };
  const rename = { path: "main.js", line: 1, symbol: "greet", new_name: "welcome" };

  await t.test(
    "the tool rename changes several files, each in one undo step, and is listed as a change",
    async (t) => {
      await nvim.lua(`
      vim.g.written = {}
      vim.api.nvim_create_autocmd("BufWritePost", { callback = function(args)
        vim.g.written = vim.list_extend(vim.g.written, { vim.fs.basename(args.match) })
      end })`);
      t.match(
        await text("rename", rename),
        /^3 files changed and written\.\n(greet|main|other)\.js: 1 edit\n.*: 1 edit\n.*: 1 edit$/,
      );
      t.equal(onDisk("greet.js"), FILES["greet.js"].replace("greet", "welcome"));
      t.equal(onDisk("main.js"), FILES["main.js"].replace("greet", "welcome"), "line ends stay");
      t.equal(onDisk("other.js"), "welcome('Bob');\n", "a file that is not open, too");
      await changed(3);
      t.ok((await changes()).every(({ cli }) => cli === "gemini"));
      t.same(
        await nvim.lua("local names = vim.g.written table.sort(names) return names"),
        ["greet.js", "main.js", "other.js"],
        "plugins are told that the files were written",
      );
      t.equal(await nvim.lua("return vim.bo.modified"), false);
      const [told] = (await client.mcp.readResource({ uri: "nvim://changes" })).contents;
      t.match(
        told && "text" in told && told.text,
        /^3 files changed and not kept yet\n.*main\.js modified \+1 -1/s,
      );
      await nvim.command("silent undo");
      t.same(await lines("main.js"), ["greet('Ada');", "const x = BAD;"], "one undo takes it back");
      await nvim.command("silent redo");
      await undoAll();
      for (const [name, content] of Object.entries(FILES)) t.equal(onDisk(name), content, name);
    },
  );

  await t.test("deleted files are among the changes, unless their names are excluded", async (t) => {
    writeFileSync(nvim.path(".geminiignore"), "*.key\n");
    for (const name of ["gone.js", "gone.key"]) {
      writeFileSync(nvim.path(name), "old\n");
      await agent.write(name, undefined);
    }
    await changed(2);
    const [told] = (await client.mcp.readResource({ uri: "nvim://changes" })).contents;
    t.equal(told && "text" in told && told.text, "1 file changed and not kept yet\ngone.js deleted +0 -1");
    await undoAll();
    for (const name of ["gone.js", "gone.key", ".geminiignore"]) rmSync(nvim.path(name));
  });

  await t.test("the tool format changes the text of the buffer", async (t) => {
    t.match(await text("format", { path: "greet.js" }), "1 file changed and written.\ngreet.js: 1 edit");
    t.equal(onDisk("greet.js"), FILES["greet.js"].replace("   \n", "\n"));
    t.equal(await text("format", { path: "greet.js" }), "There is nothing to change.");
    await undoAll();
  });

  await t.test("a file of the build is reviewed first, although the gate is off", async (t) => {
    const name = "Dockerfile.js";
    const hasReview = () => nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the review");
    writeFileSync(nvim.path(name), "greet('Eve');  \n");
    symlinkSync(name, nvim.path("harmless.js"));
    for (const path of [name, "harmless.js"]) {
      const format = text("format", { path });
      await hasReview();
      await nvim.command("GeminiReject");
      t.match(await format, `${path}: rejected: leave the file as it is`);
    }
    rmSync(nvim.path("harmless.js"));
    const answer = text("rename", rename);
    await hasReview();
    t.equal(onDisk(name), "greet('Eve');  \n");
    await nvim.command("GeminiAccept");
    t.match(
      await answer,
      /^3 files changed and written\.\n[^D]*\nChanged and written: 1 of 1 file\. .*\nDockerfile\.js: accepted$/,
    );
    t.equal(onDisk(name), "welcome('Eve');  \n");
    await undoAll();
    rmSync(nvim.path(name));
  });

  await t.test("an empty file is edited, and is empty again after undo", async (t) => {
    for (const open of [false, true]) {
      writeFileSync(nvim.path("empty.js"), "");
      if (open) await nvim.command("split empty.js");
      for (let round = 0; round < 2; round++) {
        await text("format", { path: "empty.js" });
        t.equal(onDisk("empty.js"), "// empty\n");
        await undoAll();
        t.equal(onDisk("empty.js"), "");
      }
    }
    await nvim.command("bwipeout empty.js");
    rmSync(nvim.path("empty.js"));
  });

  await t.test("two simultaneous edits by tools are undone separately", async (t) => {
    for (const name of ["one.js", "two.js"]) writeFileSync(nvim.path(name), "const a = 1;  \n".repeat(300));
    await Promise.all(["one.js", "two.js"].map((path) => text("format", { path })));
    for (const name of ["one.js", "two.js"]) t.equal(onDisk(name), "const a = 1;\n".repeat(300));
    await changed(2);
    await undoAll();
    for (const name of ["one.js", "two.js"]) t.equal(onDisk(name), "const a = 1;  \n".repeat(300));
    for (const name of ["one.js", "two.js"]) rmSync(nvim.path(name));
  });

  await t.test("code actions are offered and applied", async (t) => {
    await text("diagnostics", { path: "main.js", settle: true });
    const listed = await text("code_actions", { path: "main.js", line: 2 });
    t.match(listed, /^1 code action\n\d+: Make it good \[quickfix\]$/);
    const id = Number(/^(\d+):/m.exec(listed)?.[1]);
    t.match(await text("apply_code_action", { id }), "main.js: 1 edit");
    t.equal(onDisk("main.js"), FILES["main.js"].replace("BAD", "GOOD"));
    t.notOk(existsSync(nvim.path("ran")), "the command of an action is not run");
    t.match(
      await refusal("apply_code_action", { id }),
      "has changed since the edits were computed: request the edits again",
    );
    t.match(await refusal("apply_code_action", { id: id + 1 }), "There is no code action");
    await undoAll();
  });

  await t.test("the id of a code action from an earlier host is refused", async (t) => {
    const listInNextHost = async () => {
      await bridge.replaceHost();
      await text("diagnostics", { path: "main.js", settle: true });
      const listed = await text("code_actions", { path: "main.js", line: 2 });
      return Number(/^(\d+):/m.exec(listed)?.[1]);
    };
    const id = await listInNextHost();
    t.not(await listInNextHost(), id);
    t.match(await refusal("apply_code_action", { id }), "There is no code action");
    t.equal(onDisk("main.js"), FILES["main.js"]);
  });

  await t.test("an edit of many places in a file is made completely or not at all", async (t) => {
    const uses = (name: string, count: number) => `${name}();\n`.repeat(count);
    for (const file of ["many1.js", "many2.js"]) writeFileSync(nvim.path(file), uses("old", 600));
    await nvim.command("edit many1.js");
    const many = { path: "many1.js", line: 1, symbol: "old", new_name: "fresh" };
    t.match(await text("rename", many), "many1.js: 600 edits");
    for (const file of ["many1.js", "many2.js"]) t.equal(onDisk(file), uses("fresh", 600), file);
    writeFileSync(nvim.path("many2.js"), uses("fresh", 20_000));
    await text("diagnostics", { path: "many2.js", settle: true });
    const again = { ...many, symbol: "fresh", new_name: "stale" };
    t.match(await refusal("rename", again), "test proposes 20600 edits, more than the limit of 20000");
    t.equal(onDisk("many1.js"), uses("fresh", 600), "nothing of it was done");
    await nvim.command("GeminiKeep! all");
    await changed(0);
    for (const file of ["many1.js", "many2.js"]) rmSync(nvim.path(file));
    await nvim.command("bwipeout! many1.js | edit main.js");
  });

  await t.test(
    "an edit of several files is made completely or not at all, and loses no text of the user",
    async (t) => {
      await nvim.input(":buffer greet.js<CR>ggOunsaved<Esc>");
      t.match(await refusal("rename", rename), "greet.js has unsaved changes: ask the user");
      t.equal(onDisk("main.js"), FILES["main.js"]);
      t.equal(onDisk("greet.js"), FILES["greet.js"]);
      await nvim.input(":edit!<CR>");
      writeFileSync(nvim.path(".geminiignore"), "other.js\n");
      t.match(await refusal("rename", rename), "other.js is excluded");
      t.equal(onDisk("main.js"), FILES["main.js"]);
      writeFileSync(nvim.path(".geminiignore"), "");
    },
  );
});

t.test("an edit for an earlier version of the text is refused", async (t) => {
  const { bridge, nvim } = await startBridge(t, {
    files: FILES,
    args: ["main.js", "greet.js"],
    init: languageServer("late"),
  });
  const { refusal, text } = await connectEditorClient(t, bridge);
  const onDisk = (name: string) => readFileSync(nvim.path(name), "utf8");
  const rename = { path: "main.js", line: 1, symbol: "greet", new_name: "welcome" };
  await nvim.command("buffer greet.js");
  await nvim.command("buffer main.js");
  await text("symbols", { path: "other.js" });
  const asked = () =>
    nvim.waitFor(
      "vim.iter(vim.lsp.get_clients()):any(function(client) return next(client.requests) ~= nil end)",
      "the server to be asked",
    );

  for (const name of ["main.js", "greet.js"]) {
    const answer = refusal("rename", rename);
    await asked();
    await nvim.input(`:buffer ${name}<CR>ggO// mine<Esc>:write<CR>`);
    t.match(await answer, `${name} has changed since the edits were computed: request the edits again`);
    t.equal(onDisk(name), `// mine${name === "main.js" ? "\r" : ""}\n${FILES[name as "main.js"]}`);
    t.equal(onDisk("other.js"), FILES["other.js"], "no other file was changed");
    await nvim.input(":1delete<CR>:write<CR>");
    await nvim.waitFor(() => !onDisk(name).includes("mine"), "the text as it was");
  }

  const answer = refusal("format", { path: "greet.js" });
  await asked();
  await nvim.input(":buffer greet.js<CR>ggO// mine<Esc>:write<CR>");
  t.match(await answer, "greet.js has changed since the edits were computed: request the edits again");

  const third = refusal("rename", rename);
  await asked();
  writeFileSync(nvim.path("other.js"), "greet('Eve');\n");
  await nvim.input(":buffer main.js<CR>:write<CR>");
  t.match(
    await third,
    "other.js has changed since the edits were computed: request the edits again",
    "of a file that is not open, too",
  );
});

t.test("files that tools edit keep their encoding and their final line break", async (t) => {
  const files = {
    "old.js": Buffer.from("greet('J\xfcrg');\n", "latin1"),
    "main.js": "greet('Ada');",
    "wide.js": Buffer.from("\uFEFFgreet('Zo\u00eb');\n", "utf16le"),
  };
  const { bridge, nvim } = await startBridge(t, { args: ["main.js"], init: languageServer() });
  for (const [name, bytes] of Object.entries(files)) writeFileSync(nvim.path(name), bytes);
  await nvim.command("edit! main.js | edit wide.js | edit main.js");
  const { refusal, text } = await connectEditorClient(t, bridge);
  const rename = { path: "main.js", line: 1, symbol: "greet", new_name: "名前" };
  const onDisk = (name: string) => readFileSync(nvim.path(name));
  t.match(
    await refusal("rename", rename),
    "old.js has the encoding latin1, which lacks characters of the new text",
  );
  for (const [name, bytes] of Object.entries(files)) t.ok(onDisk(name).equals(Buffer.from(bytes)), name);
  t.equal(await nvim.lua("return vim.bo.modified"), false);

  await text("rename", { ...rename, new_name: "gr\u00fc\u00df" });
  t.equal(onDisk("old.js").toString("latin1"), "gr\xfc\xdf('J\xfcrg');\n");
  t.equal(onDisk("main.js").toString(), "gr\u00fc\u00df('Ada');", "no line break is added");
  const wide = onDisk("wide.js").toString("utf16le");
  t.equal(wide, "\uFEFFgr\u00fc\u00df('Zo\u00eb');\n");
});

t.test("no file is changed if one of the files cannot be written, or differs from its buffer", async (t) => {
  const { bridge, nvim } = await startBridge(t, {
    files: { ...FILES, "old.js": "greet();\r\n\x1a" },
    args: ["main.js", "greet.js"],
    init: languageServer(),
  });
  const { refusal, text } = await connectEditorClient(t, bridge);
  const rename = { path: "main.js", line: 1, symbol: "greet", new_name: "welcome" };
  const onDisk = (name: string) => readFileSync(nvim.path(name), "utf8");
  const state = () =>
    nvim.lua(
      "return { vim.fn.getline(1, '$'), vim.fn.line('.'), vim.bo.modified, vim.fn.undotree().seq_last }",
    );
  await nvim.command("edit other.js | edit greet.js | normal! G");
  await text("symbols", { path: "other.js" });
  const before = await state();

  chmodSync(nvim.path("greet.js"), 0o444);
  t.match(await refusal("rename", rename), "greet.js is read-only on disk");
  t.same(await state(), before, "the buffer was not touched");
  chmodSync(nvim.path("greet.js"), 0o644);
  await nvim.lua(
    "vim.bo[vim.fn.bufnr('other.js')].bomb = true vim.bo[vim.fn.bufnr('other.js')].modified = false",
  );
  t.match(await refusal("rename", rename), "other.js differs on disk from its text in Neovim");
  for (const [name, content] of Object.entries(FILES)) t.equal(onDisk(name), content, name);
  await nvim.command("edit other.js | edit!");
  t.match(await text("rename", rename), "4 files changed and written.");
  t.equal(onDisk("old.js"), "welcome();\r\n\x1a", "CTRL-Z at the end stays");
});

t.test("more files than Neovim keeps for tools can be edited again and again", async (t) => {
  const names = Array.from({ length: 105 }, (_, index) => `file${index}.js`);
  const files = Object.fromEntries(names.map((name) => [name, "greet();\n"]));
  const { bridge, nvim } = await startBridge(t, { files, args: ["file0.js"], init: languageServer() });
  const { text } = await connectEditorClient(t, bridge);
  for (const [symbol, newName] of [
    ["greet", "welcome"],
    ["welcome", "hail"],
  ] as const) {
    const rename = { path: "file0.js", line: 1, symbol, new_name: newName };
    t.match(await text("rename", rename), "105 files changed and written.");
    for (const name of names) t.equal(readFileSync(nvim.path(name), "utf8"), `${newName}();\n`, name);
  }
});

t.test("an edit of many files is checked even if plugins load each file slowly", async (t) => {
  const names = Array.from({ length: 90 }, (_, index) => `file${index}.js`);
  const files = Object.fromEntries(names.map((name) => [name, "greet();\n"]));
  const slow = `require('gemini-bridge.host.boot').limits.language_server_ms = 4000
    vim.api.nvim_create_autocmd("BufReadPost", { callback = function() vim.uv.sleep(70) end })`;
  const init = `${slow}\n${languageServer()}`;
  const { bridge, nvim } = await startBridge(t, { files, args: ["file0.js"], init });
  const { text } = await connectEditorClient(t, bridge);
  const rename = { path: "file0.js", line: 1, symbol: "greet", new_name: "welcome" };
  t.match(await text("rename", rename), "90 files changed and written.");
  for (const name of names) t.equal(readFileSync(nvim.path(name), "utf8"), "welcome();\n", name);
});

t.test("invalid edits of a language server are refused", async (t) => {
  const { bridge } = await startBridge(t, { files: FILES, args: ["main.js"], init: languageServer("lying") });
  const client = await connectEditorClient(t, bridge);
  const rename = { path: "main.js", line: 1, symbol: "greet", new_name: "x" };
  t.match(await client.refusal("rename", rename), "returned something other than text edits");
  t.match(await client.refusal("format", { path: "main.js" }), "returned no valid edits");
  t.match(await client.text("code_actions", { path: "main.js", line: 1 }), "0 code actions");
  t.equal(readFileSync(bridge.nvim.path("main.js"), "utf8"), FILES["main.js"]);
});

t.test("an edit that is not written is undone, or stays as an unsaved change without undo", async (t) => {
  const nvim = await startNvim(t, { files: { "a.txt": "one\n" }, args: ["a.txt"] });
  const edit = `local path = ...
    local edits, at, tick = require("gemini-bridge.model.edits"), { line = 0, character = 0 }
    local steps = { { { range = { start = at, ["end"] = at }, newText = "x" } } }
    edits.apply({ file = { path = path, steps = steps }, encoding = "utf-8" }, function(done) tick = done.tick end)
    edits.finish({ path = path, tick = tick, written = false }, function() end)
    return { vim.api.nvim_get_current_line(), vim.bo.modified }`;
  t.same(await nvim.lua(edit, nvim.path("a.txt")), ["one", false]);
  await nvim.command("set undolevels=-1");
  t.same(await nvim.lua(edit, nvim.path("a.txt")), ["xone", true]);
});

t.test("several edits of one document are applied one after the other", async (t) => {
  const files = { "main.js": "greet();\ngreet();\n" };
  const { bridge } = await startBridge(t, { files, args: ["main.js"], init: languageServer("stepwise") });
  const client = await connectEditorClient(t, bridge);
  await client.text("rename", { path: "main.js", line: 1, symbol: "greet", new_name: "welcome" });
  t.equal(readFileSync(bridge.nvim.path("main.js"), "utf8"), "// renamed\nwelcome();\ngreet();\n");
  await bridge.nvim.command("undo");
  t.equal(await bridge.nvim.lua("return vim.api.nvim_buf_get_lines(0, 0, 1, true)[1]"), "greet();");
});

t.test("edits that move files are refused", async (t) => {
  const { bridge } = await startBridge(t, {
    files: FILES,
    args: ["main.js"],
    init: languageServer("moving"),
  });
  const client = await connectEditorClient(t, bridge);
  const rename = { path: "main.js", line: 1, symbol: "greet", new_name: "x" };
  t.match(
    await client.refusal("rename", rename),
    "returned something other than text edits, for example a file to create, move or delete",
  );
  t.ok(existsSync(bridge.nvim.path("main.js")));
});

t.test("code actions are requested for the whole line in the encoding of the language server", async (t) => {
  // A server within Neovim, which keeps the range of the request.
  const init = `
    local function server()
      local answers = {
        initialize = { capabilities = { positionEncoding = "utf-8", codeActionProvider = true } },
        ["textDocument/codeAction"] = {},
      }
      return {
        request = function(method, params, callback)
          asked = params.range or asked
          callback(nil, answers[method])
          return true, 1
        end,
        notify = function() end,
        is_closing = function() return false end,
        terminate = function() end,
      }
    end
    vim.api.nvim_create_autocmd("FileType", { pattern = "javascript", callback = function(args)
      vim.lsp.start({ name = "utf-8", cmd = server }, { bufnr = args.buf })
    end })`;
  const line = "const 名前 = '𝄞é';";
  const { bridge, nvim } = await startBridge(t, {
    files: { "a.js": `${line}\n` },
    args: ["a.js"],
    init,
    own: true,
  });
  const { text } = await connectEditorClient(t, bridge);
  t.equal(await text("code_actions", { path: "a.js", line: 1 }), "0 code actions");
  t.same(await nvim.lua("return asked"), {
    start: { line: 0, character: 0 },
    end: { line: 0, character: Buffer.byteLength(line) },
  });
});
