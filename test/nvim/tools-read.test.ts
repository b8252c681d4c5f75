import { symlinkSync, writeFileSync } from "node:fs";
import t from "tap";
import { startBridge } from "../support/bridge.ts";
import { examine } from "../support/doctor.ts";
import { connectEditorClient, languageServer } from "../support/editor-client.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);

const FILES = {
  "greet.js": "function greet(name) {\n  return name;\n}\n",
  "main.js": "greet('Ada');\nconst x = BAD;\n",
  "unopened.js": "\uFEFFone\r\né\r\nthree\r\n",
  "notes.md": "# Notes\n",
  ".env": "function SECRET() {}\n",
  "private.key": "KEY\n",
  "../outside.js": "function greet() {}\n",
};

t.test("read-only tools answer questions about the editor", async (t) => {
  const { bridge, nvim } = await startBridge(t, {
    files: FILES,
    args: ["main.js", "notes.md", "private.key"],
    init: languageServer("normal", 50),
  });
  symlinkSync(nvim.path("../outside.js"), nvim.path("link.js"));
  symlinkSync(nvim.path(".env"), nvim.path("harmless.js"));
  const client = await connectEditorClient(t, bridge);
  const { text, refusal } = client;

  await t.test("tools for the model are listed with correct annotations", async (t) => {
    const { tools } = await client.mcp.listTools();
    const known = await nvim.lua(
      "return require('gemini-bridge.config').set({ tools = { offered = { '' } } })[1]",
    );
    t.match(known, `Known: ${tools.map(({ name }) => name).join(", ")}`, "the option knows all names");
    t.same(
      tools.filter(({ annotations }) => annotations?.readOnlyHint !== true).map(({ name }) => name),
      ["open_file", "quickfix", "rename", "apply_code_action", "format"],
    );
    for (const { name, annotations } of tools) t.match(annotations, { openWorldHint: false }, name);
    t.match(client.mcp.getServerVersion(), { name: "neovim" });
    t.match(client.mcp.getInstructions(), /settle: true/);
  });

  await t.test("only calls of tools count as calls of the model", async (t) => {
    const shown = async () =>
      String(
        await nvim.lua("return table.concat(require('gemini-bridge.report.status_view').lines(), '\\n')"),
      );
    await client.mcp.listResources();
    await client.mcp.readResource({ uri: "nvim://buffers" });
    await client.mcp.getPrompt({ name: "explain" });
    await text("buffers");
    await nvim.waitFor("require('gemini-bridge.bridge.status').get().calls", "the call");
    t.match(await shown(), /Tools +1 call by the model\n/);
    await text("buffers");
    await nvim.waitFor("require('gemini-bridge.bridge.status').get().calls == 2", "the second call");
    t.match(await shown(), /Tools +2 calls by the model\n/);
  });

  await t.test("diagnostics of a file that is not open are returned by the tool diagnostics", async (t) => {
    writeFileSync(nvim.path("new.js"), "const y = BAD;\n");
    t.equal(
      await text("diagnostics", { path: "new.js" }),
      "1 error in 1 file\nnew.js:1:11 error this is BAD [E1]",
    );
  });

  await t.test("the tool diagnostics waits for new diagnostics after a write", async (t) => {
    await text("diagnostics", { path: "main.js", settle: true });
    writeFileSync(nvim.path("main.js"), "greet('Ada');\n\nconst é = BAD, z = BAD;\n");
    const { structuredContent, content } = await client.call("diagnostics", {
      path: "main.js",
      settle: true,
    });
    t.match(structuredContent, {
      total: 2,
      settled: true,
      diagnostics: [
        { path: "main.js", line: 3, character: 11, severity: "error", code: "E1" },
        { line: 3, character: 20 },
      ],
    });
    t.match(content, [
      { type: "text" },
      { type: "resource_link", name: "main.js", uri: /^file:.*\/main\.js$/ },
    ]);
    writeFileSync(nvim.path("main.js"), "greet('Ada');\n");
    t.match(await text("diagnostics", { path: "main.js", settle: true }), /^no diagnostics/);
  });

  await t.test("a file without a language server gets a clear answer", async (t) => {
    t.match(
      await text("diagnostics", { path: "notes.md" }),
      /No language server is attached to notes\.md\.\nno diagnostics/,
    );
    t.match(
      await text("symbols", { path: "notes.md" }),
      /^0 symbols\nNo language server is attached to notes\.md\./,
    );
  });

  await t.test("symbols, definitions, references and hovers come from the language server", async (t) => {
    const place = { path: "main.js", line: 1, symbol: "greet" };
    t.equal(
      await text("definition", place),
      "1 definition\ngreet.js:1:10 function greet(name) {\n(1 more outside the workspace, or not shared by the user)",
    );
    t.match(
      await text("references", place),
      /^2 references in 2 files\ngreet\.js:1:10 .*\nmain\.js:1:1 greet/,
    );
    writeFileSync(nvim.path("twice.js"), "twice(twice(1));\n");
    t.equal(
      await text("references", { path: "twice.js", line: 1, symbol: "twice" }),
      "2 references\ntwice.js:1:1 twice(twice(1));\ntwice.js:1:7 twice(twice(1));",
      "two places on a line are two",
    );
    t.match(await text("hover", place), /about \*\*greet\*\*/);
    t.equal(await text("hover", { path: "greet.js", line: 1, symbol: "{" }), "No information about {.");
    t.match(
      await text("symbols", { path: "greet.js" }),
      "1 symbol\ngreet.js:1:10 function greet: function greet(name) {",
    );
    t.match(await text("workspace_symbols", { query: "gre" }), /^1 symbol\ngreet\.js:1:10 function greet/);
    t.match(await text("implementations", place), "No language server of main.js supports this request.");
    t.match(
      await refusal("hover", { ...place, symbol: "nothing" }),
      /Line 1 of main\.js does not contain nothing\. The line is: greet/,
    );
    t.match(await refusal("hover", { ...place, line: 99 }), "main.js has no line 99");
  });

  await t.test("a request uses the URI that Neovim has sent to the server", async (t) => {
    for (const name of ["+page.js", "[id].js", "@a:b$,;=&.js"]) {
      writeFileSync(nvim.path(name), "function here() {}\n");
      const place = { path: name, line: 1, symbol: "here" };
      t.match(await text("hover", place), "about **here**", name);
    }
  });

  await t.test("tools read unsaved text and the selection", async (t) => {
    await nvim.waitFor("vim.api.nvim_buf_line_count(0) == 1", "the buffer to be as on disk");
    await nvim.input(":edit main.js<CR>ggOunsaved<Esc>0wviw");
    const { content } = await client.call("read_buffer", { path: nvim.path("main.js"), from: 1, to: 1 });
    t.match(content, [
      { type: "text", text: "main.js has unsaved changes; lines 1 to 1 of 2" },
      { type: "resource", resource: { text: "unsaved" } },
    ]);
    t.match(
      await text("buffers"),
      /^2 files open\nmain\.js, 2 lines, javascript, has unsaved changes, visible/,
    );
    t.match(await text("selection"), /The cursor is at main\.js:2:5; selected:\ngreet$/);
    await nvim.input("<Esc>:edit!<CR>");
    const unopened = await client.call("read_buffer", { path: "unopened.js", from: 2 });
    t.match(unopened.content, [
      { type: "text", text: "unopened.js is not open in Neovim, this is what is on disk; lines 2 to 3 of 3" },
      { type: "resource", resource: { text: "é\nthree" } },
    ]);
    t.match(unopened.structuredContent, { open: false, modified: false, total: 3 });
    t.match(await text("read_buffer", { path: "unopened.js", from: 4 }), "no such lines: there are 3");
    t.equal(await nvim.lua("return vim.fn.bufexists('unopened.js')"), 0, "and no buffer is made for it");
    writeFileSync(nvim.path("large.js"), "x".repeat(11_000_000));
    t.match(await refusal("read_buffer", { path: "large.js" }), "too large to be read");
  });

  /** Returns arguments for every tool. */
  function argumentsFor(path: string): Record<string, Record<string, unknown>> {
    const place = { path, line: 1, symbol: "function" };
    return {
      ...Object.fromEntries(
        ["definition", "references", "implementations", "hover"].map((name) => [name, place]),
      ),
      ...Object.fromEntries(
        ["diagnostics", "symbols", "read_buffer", "open_file", "format"].map((name) => [name, { path }]),
      ),
      rename: { ...place, new_name: "other" },
      code_actions: { path, line: 1 },
      quickfix: { title: "A list", items: [{ path, line: 1, text: "x" }] },
      workspace_symbols: { query: "SECRET" },
      apply_code_action: { id: 1 },
      buffers: {},
      selection: {},
    };
  }

  await t.test("every tool refuses files outside and excluded files", async (t) => {
    const tools = Object.entries(argumentsFor(".env")).filter(([, args]) =>
      JSON.stringify(args).includes(".env"),
    );
    t.equal(tools.length, 12);
    const paths = [
      "../outside.js",
      nvim.path("../outside.js"),
      "link.js",
      "/etc/passwd",
      "a/../../outside.js",
    ];
    for (const [tool] of tools) {
      for (const path of paths)
        t.match(
          await refusal(tool, argumentsFor(path)[tool]),
          "is outside the open directories",
          `${tool} ${path}`,
        );
      for (const path of [".env", "harmless.js", "private.key"])
        t.match(await refusal(tool, argumentsFor(path)[tool]), "is excluded", `${tool} ${path}`);
    }
    t.notMatch(await text("buffers"), /private/);
    t.notMatch(await text("workspace_symbols", { query: "SECRET" }), /SECRET/);
    await nvim.command("buffer private.key");
    t.equal(await text("selection"), "The user is not in a shared file.");
    await nvim.command("buffer main.js");
    t.match(await refusal("symbols", { path: "gone.js" }), "There is no such file");
    t.match(await refusal("symbols", { path: "a\0b" }), "path is not a valid file name");
  });

  await t.test("every tool refuses calls while sharing is paused", async (t) => {
    const { tools } = await client.mcp.listTools();
    t.same(Object.keys(argumentsFor("")).sort(), tools.map(({ name }) => name).sort());
    await nvim.command("GeminiShare off");
    for (const [tool, args] of Object.entries(argumentsFor("main.js")))
      t.match(await refusal(tool, args), "The user has paused sharing", tool);
    t.match((await client.mcp.listResources()).resources, [{ uri: "nvim://diagnostics" }], "what there is");
    await t.rejects(client.mcp.readResource({ uri: "nvim://buffer/main.js" }), /paused sharing/);
    await t.rejects(client.mcp.getPrompt({ name: "explain" }), /paused sharing/);
    await nvim.command("GeminiShare on");
  });

  await t.test("the log and the status show tool calls", async (t) => {
    const lines = await nvim.lua(
      "return table.concat(require('gemini-bridge.report.status_view').lines(), '\\n')",
    );
    t.match(lines, /Tools +\d+ calls by the model\n +test 1\n/);
    t.match((await examine(nvim))["Bridge"], "The model of test 1 can use the tools of Neovim");
    await client.mcp.close();
    await nvim.waitFor(
      "#require('gemini-bridge.bridge.status').get().toolClients == 0",
      "the client to be gone",
    );
    t.match((await examine(nvim))["Bridge"], "No model uses the tools of Neovim now");
  });
});

t.test("files that were loaded for the model are unloaded, except those in a quickfix list", async (t) => {
  const files = { ...FILES, "listed.js": "function listed() {}\n", "later.js": "function later() {}\n" };
  const { bridge, nvim } = await startBridge(t, {
    files,
    args: ["main.js"],
    init: languageServer("normal", 50),
  });
  const client = await connectEditorClient(t, bridge);
  const item = (name: string) => ({ filename: nvim.path(name), lnum: 1, text: "an entry" });
  await nvim.lua("vim.fn.setqflist(...)", [item("listed.js")]);
  for (const name of ["greet.js", "listed.js", "later.js"]) await client.text("symbols", { path: name });
  await nvim.lua("vim.fn.setloclist(0, ...)", [item("later.js")]);
  const loaded = () =>
    nvim.lua(`return vim.tbl_map(function(name) return vim.fn.bufloaded(name) end, ...)`, [
      "greet.js",
      "listed.js",
      "later.js",
    ]);
  t.same(await loaded(), [1, 1, 1]);
  await nvim.stopBridge();
  t.same(await loaded(), [0, 0, 0]);
  t.equal(await nvim.lua("return vim.fn.bufexists('greet.js')"), 0);
  await nvim.command("cc");
  t.equal(await nvim.lua("return vim.fn.getline(1)"), "function listed() {}");
  await nvim.command("ll");
  t.equal(await nvim.lua("return vim.fn.getline(1)"), "function later() {}");
});
