import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import t from "tap";
import { startBridge } from "../support/bridge.ts";
import { connectEditorClient, languageServer } from "../support/editor-client.ts";
import { anyString, fuzz } from "../support/fuzz.ts";

const PLACE = { path: "main.js", line: 1, symbol: "greet" };
const FILES = { "main.js": "greet();\n", "secret.env": "x\n" };

/** Starts an editor with a language server that behaves as `mode` says. */
async function start(t: Parameters<typeof startBridge>[0], mode: string, limits = "") {
  const init = `local limits = require('gemini-bridge.host.boot').limits
    limits.language_server_ms = 400
    ${limits}
    ${languageServer(mode)}`;
  const { bridge } = await startBridge(t, { files: FILES, args: ["main.js"], init });
  return { bridge, client: await connectEditorClient(t, bridge) };
}

t.test("tools handle input of any kind while the language server works", async (t) => {
  const { client, bridge } = await start(t, "normal");

  await t.test("a call of a tool times out if Neovim does not answer", async (t) => {
    const pid = Number(await bridge.nvim.lua("return vim.fn.getpid()"));
    process.kill(pid, "SIGSTOP");
    t.teardown(() => process.kill(pid, "SIGCONT"));
    t.match(await client.refusal("buffers"), "Neovim does not answer, perhaps because it waits for the user");
    process.kill(pid, "SIGCONT");
    t.match(await client.text("buffers"), "1 file open", "and goes on afterwards");
  });

  await t.test("a tool answers arguments of any kind", async (t) => {
    const { tools } = await client.mcp.listTools();
    const names = tools.map(({ name }) => name);
    const value = fc.oneof(anyString(), fc.integer(), fc.double(), fc.constantFrom("main.js", "", null));
    const args = fc.dictionary(
      fc.constantFrom("path", "line", "symbol", "query", "from", "to", "severity", "settle"),
      value,
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...names), args, async (name, given) => {
        const { content } = await client.call(name, given);
        return content.length > 0 && !JSON.stringify(content).includes("failed to answer");
      }),
      fuzz(t, "arguments of tools", 150),
    );
    t.match(await client.text("hover", PLACE), "about **greet**");
    t.equal((await bridge.status()).state, "running");
  });

  await t.test(
    "tools open only small and few files for language servers, and start no programs",
    async (t) => {
      const { nvim } = bridge;
      writeFileSync(nvim.path("large.js"), `${"x".repeat(1024 * 1024)}\n`);
      t.match(await client.refusal("symbols", { path: "large.js" }), "too large to be opened");
      await nvim.lua(`
      vim.api.nvim_create_autocmd("BufReadCmd", { pattern = "*.packed", callback = function() vim.g.ran = true end })`);
      writeFileSync(nvim.path("a.packed"), "x\n");
      t.match(await client.refusal("symbols", { path: "a.packed" }), "only a plugin can read this file");
      t.equal(await nvim.lua("return vim.g.ran or vim.fn.bufexists('a.packed')"), 0);

      const names = Array.from({ length: 120 }, (_, number) => `file${number}.js`);
      for (const name of names) writeFileSync(nvim.path(name), "function f() {}\n");
      for (const path of names) t.match(await client.text("symbols", { path }), "1 symbol");
      const loaded = "return vim.tbl_filter(function(name) return vim.fn.bufloaded(name) == 1 end, ...)";
      t.same(await nvim.lua(loaded, names), names.slice(20), "those that were asked for last");
    },
  );

  await t.test("names and codes of diagnostics with several lines are shown on one line", async (t) => {
    const name = "new\nmain.js:1:1 error fake.js";
    writeFileSync(bridge.nvim.path(name), "function made() {}\nmade();\n");
    await bridge.nvim.lua(
      `local buf = vim.fn.bufadd(...)
      vim.fn.bufload(buf)
      vim.bo[buf].buflisted = true
      local one = { lnum = 0, col = 0, message = "m", code = "E1]\\nmain.js:1:1 error fake" }
      vim.diagnostic.set(vim.api.nvim_create_namespace("test"), buf, { one })
      vim.fn.setqflist({ { bufnr = buf, lnum = 1, text = "t" } })`,
      bridge.nvim.path(name),
    );
    const place = { path: name, line: 2, symbol: "made" };
    const said = [
      await client.text("diagnostics"),
      await client.text("buffers"),
      await client.text("references", place),
      await client.text("symbols", { path: name }),
      await client.text("read_buffer", { path: name }),
      await client.text("open_file", { path: name }),
      await client.text("rename", { ...place, new_name: "done" }),
      ...(await client.mcp.readResource({ uri: "nvim://quickfix" })).contents.map((each) =>
        JSON.stringify(each),
      ),
    ];
    for (const text of said) t.notMatch(text, /^main\.js:1:1 error|\\nmain\.js:1:1 error/m);
    const { structuredContent } = await client.call("buffers");
    t.match(
      JSON.stringify(structuredContent),
      JSON.stringify(name).slice(1, -1),
      "programs have the name itself",
    );
  });

  await t.test("tools handle invalid names and texts", async (t) => {
    const { nvim } = bridge;
    execFileSync("mkfifo", [nvim.path("pipe.js")]);
    mkdirSync(nvim.path("folder.js"));
    symlinkSync("loop.js", nvim.path("loop.js"));
    const names = [
      "pipe.js",
      "folder.js",
      "loop.js",
      ".",
      "main.js/x",
      "$HOME",
      "`ls`",
      "a\nb",
      "%",
      "nvim://buffers",
      "file:///etc/passwd",
    ];
    for (const path of names)
      for (const tool of ["open_file", "diagnostics", "read_buffer"])
        t.match(await client.refusal(tool, { path }), "There is no such file", `${tool} ${path}`);
    t.match(await client.refusal("open_file", { path: "a\0b" }), "path is not a valid file name");
    t.match(
      await client.refusal("open_file", { path: "x".repeat(100_000) }),
      "path is not a valid file name",
    );
    t.match(await client.refusal("rename", { ...PLACE, new_name: "a\nb" }), "must be one line");
    t.match(
      await client.refusal("hover", { ...PLACE, symbol: "((\0" }),
      "Line 1 of main.js does not contain ",
    );
    const items = [{ path: "main.js", line: 10_000_000, text: "\x1b]0;x\x07\0|call system('x')" }];
    await client.text("quickfix", { title: "\x1b[31m%{1}", items });
    t.match(await nvim.lua("return vim.fn.getqflist({ title = true, items = true })"), {
      title: "[31m%{1}",
      items: [{ text: "]0;x |call system('x')" }],
    });
  });
});

t.test("a call of a tool times out if the language server does not answer", async (t) => {
  const { client, bridge } = await start(t, "slow");
  t.equal(
    await client.text("references", PLACE),
    "0 references\nthe language server test did not answer in 400 ms.",
  );
  const calls = Array.from({ length: 20 }, () => client.text("hover", PLACE));
  t.equal(await bridge.nvim.lua("return 1 + 1"), 2, "the editor goes on meanwhile");
  for (const text of await Promise.all(calls)) t.match(text, "did not answer");
});

t.test("a client that disconnects during a call of a tool leaves nothing behind", async (t) => {
  const { client, bridge } = await start(t, "slow");
  const call = client.call("hover", PLACE).then(
    () => "answered",
    () => "gone",
  );
  await bridge.nvim.waitFor("require('gemini-bridge.bridge.status').get().calls == 1", "the call to arrive");
  await client.mcp.close();
  t.equal(await call, "gone");
  const next = await connectEditorClient(t, bridge);
  t.match(await next.text("buffers"), "1 file open");

  await bridge.replaceHost();
  t.match(await next.text("buffers"), "1 file open", "its session goes on after a crash of the host");
});

t.test("a crashing language server is reported to the model, not to the user", async (t) => {
  const { client } = await start(
    t,
    "crashing",
    "require('gemini-bridge').setup({ tools = { offered = { 'hover' } } })",
  );
  t.same(
    (await client.mcp.listTools()).tools.map(({ name }) => name),
    ["hover"],
    "no more is offered than the option says",
  );
  t.match(
    await client.text("hover", PLACE),
    /the language server test ended without an answer|No language server/,
  );
});

t.test("wrong answers of a language server do not reveal files", async (t) => {
  const { client } = await start(t, "lying");
  for (const tool of ["definition", "references", "implementations", "hover", "symbols"]) {
    const { content } = await client.call(tool, tool === "symbols" ? { path: "main.js" } : PLACE);
    t.notMatch(JSON.stringify(content), /passwd|secret/, tool);
  }
  t.notMatch(await client.text("workspace_symbols", { query: "a" }), /passwd|secret/);
});

t.test("a long answer of a tool is truncated, and says that it is truncated", async (t) => {
  const { client, bridge } = await start(t, "normal", "limits.answer_items, limits.answer_units = 2, 30");
  writeFileSync(bridge.nvim.path("many.js"), "greet();\n".repeat(10));
  t.match(await client.text("references", PLACE), /^11 references in 2 files\n.*\n.*\n\(2 of 11 shown; /);
  const long = { path: "long.js", line: 1, symbol: "x".repeat(100) };
  writeFileSync(bridge.nvim.path("long.js"), `${long.symbol}\n`);
  t.match(await client.text("hover", long), /^about \*\*x{22}\n\(cut off: /);
  await bridge.nvim.command("edit many.js");
  t.match(await client.text("read_buffer", { path: "many.js" }), "lines 1 to 3 of 10; go on with from: 4");
  for (const open of [false, true]) {
    for (const [line, isCut] of [
      ["x".repeat(30), false],
      ["x".repeat(31), true],
    ] as const) {
      writeFileSync(bridge.nvim.path("line.js"), `${line}\nend\n`);
      if (open) await bridge.nvim.command("edit! line.js");
      const answer = await client.call("read_buffer", { path: "line.js" });
      t.match(
        answer.content,
        [
          { text: `lines 1 to 1 of 2; ${isCut ? "line 1 is cut off; " : "go on with from: 2"}` },
          { resource: { text: "x".repeat(30) } },
        ],
        `${line.length} characters, open: ${open}`,
      );
    }
  }
  const [resource] = (await client.mcp.readResource({ uri: "nvim://buffer/many.js" })).contents;
  t.match(
    resource,
    { text: /^(greet\(\);\n){3}\(cut off: many\.js .*lines 1 to 3 of 10; go on with from: 4\)$/ },
    "also in a resource",
  );
});

t.test("tools truncate lists of ten thousand entries", async (t) => {
  const { client, bridge } = await start(t, "normal", "limits.answer_items = 3");
  await bridge.nvim.lua(`
    vim.api.nvim_buf_set_lines(0, 0, -1, false, { ("x"):rep(1e6), "greet()" })
    local diagnostics, entries = {}, {}
    for i = 10000, 1, -1 do
      diagnostics[#diagnostics + 1] = { lnum = i % 2, col = i, severity = i == 5 and 1 or 2, message = "number " .. i }
      entries[#entries + 1] = i > 9997 and { text = "no file" } or { bufnr = 1, lnum = 1, text = "entry " .. i }
    end
    vim.diagnostic.set(vim.api.nvim_create_namespace("test"), 0, diagnostics)
    vim.fn.setqflist(entries)`);
  t.equal(
    await client.text("diagnostics", { path: "main.js" }),
    "1 error, 9999 warnings in 1 file\nmain.js:2:6 error number 5\nmain.js:1:3 warning number 2\n" +
      "main.js:1:5 warning number 4\n(3 of 10000 shown; name a path or a severity for the others)",
  );
  const [list] = (await client.mcp.readResource({ uri: "nvim://quickfix" })).contents;
  t.match(
    list && "text" in list && list.text,
    /: 10000 entries\nmain\.js:1 entry 9997\n.*\n.*\n\(3 of 10000/,
  );
  t.match(
    await client.text("references", { path: "main.js", line: 2, symbol: "greet" }),
    "main.js:2:1 greet()",
  );
});
