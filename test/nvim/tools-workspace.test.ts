/** Tests diagnostics of files that are not open: published diagnostics, and diagnostics of workspace reports. */
import { writeFileSync } from "node:fs";
import t from "tap";
import { startBridge } from "../support/bridge.ts";
import { connectEditorClient, workspaceServer } from "../support/editor-client.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);

const FILES = {
  "main.js": "main();\n",
  "published.js": "é published();\n",
  "pulled.js": "const é = 1;\n2;\n",
  "same.js": "3;\n",
  "private.key": "x\n",
};
const PUBLISHED = "published.js:1:3 error published [W1]";
const HIDDEN = "(1 file more, outside the workspace or not shared by the user)";

async function start(
  t: Parameters<typeof startBridge>[0],
  mode: string,
  limits = "language_server_ms = 30000",
) {
  const init = `require('gemini-bridge.host.boot').limits.${limits}\n${workspaceServer(mode)}`;
  const { bridge } = await startBridge(t, { files: FILES, args: ["main.js"], init });
  const client = await connectEditorClient(t, bridge);
  await bridge.nvim.waitFor("next(vim.diagnostic.count()) ~= nil", "the server to publish");
  return { bridge, client, nvim: bridge.nvim };
}

t.test("the diagnostics of a complete workspace report are listed", async (t) => {
  const { client, nvim } = await start(t, "whole");
  t.equal(
    await client.text("diagnostics"),
    [
      "2 errors, 1 warning in 2 files",
      PUBLISHED,
      "pulled.js:1:7 error first [W1]",
      "pulled.js:2:1 warning second [W1]",
      HIDDEN,
    ].join("\n"),
  );
  const { structuredContent, content } = await client.call("diagnostics", { severity: "error" });
  t.match(structuredContent, { total: 2, counts: { error: 2, warning: 1 } });
  t.same(
    content.flatMap((block) => (block.type === "resource_link" ? [block.name] : [])),
    ["published.js", "pulled.js"],
  );
  const [all] = (await client.mcp.readResource({ uri: "nvim://diagnostics" })).contents;
  t.match(all && "text" in all && all.text, /^2 errors, 1 warning in 2 files\n/);
  const { messages } = await client.mcp.getPrompt({ name: "fix" });
  t.match(JSON.stringify(messages), "pulled.js:2:1 warning second");
  const all100 = await Promise.all(Array.from({ length: 100 }, () => client.text("diagnostics")));
  t.equal(new Set(all100).size, 1, "whoever asks meanwhile gets the same answer");
  t.same(
    await nvim.lua("return vim.tbl_map(vim.api.nvim_buf_get_name, vim.api.nvim_list_bufs())"),
    [nvim.path("main.js"), nvim.path("published.js")],
    "no buffer is made for them",
  );

  t.match(await client.text("diagnostics", { path: "published.js" }), PUBLISHED, "also when it is named");
  await nvim.command("edit pulled.js");
  t.notMatch(await client.text("diagnostics"), "pulled.js:", "what is open its server tells of itself");
  await nvim.lua("for _, client in ipairs(vim.lsp.get_clients()) do client.stop(client, true) end");
  await nvim.waitFor("#vim.lsp.get_clients() == 0", "the server to be gone");
  await nvim.command("bwipeout pulled.js | bwipeout published.js");
  t.equal(await client.text("diagnostics"), "no diagnostics", "and what it has said is forgotten");
});

t.test(
  "the diagnostics of a partial workspace report are listed, even if the report does not end",
  async (t) => {
    const { client } = await start(t, "parts", "language_server_ms = 3000");
    t.equal(
      await client.text("diagnostics"),
      [
        "2 errors, 1 warning in 2 files",
        PUBLISHED,
        "pulled.js:1:7 error first [W1]",
        "pulled.js:2:1 warning second [W1]",
        "(the language server workspace did not answer in 3000 ms.)",
        HIDDEN,
      ].join("\n"),
    );
  },
);

t.test("the answer names a language server that is silent or fails", async (t) => {
  const silent = await start(t, "silent", "language_server_ms = 1500");
  t.equal(
    await silent.client.text("diagnostics"),
    `1 error in 1 file\n${PUBLISHED}\n(the language server workspace did not answer in 1500 ms.)`,
  );
  const failing = await start(t, "failing");
  t.equal(
    await failing.client.text("diagnostics"),
    `1 error in 1 file\n${PUBLISHED}\n(workspace: it is broken.)`,
  );
});

t.test("an invalid workspace report is ignored", async (t) => {
  const { client, nvim } = await start(t, "lying");
  t.equal(
    await client.text("diagnostics"),
    [
      "2 errors in 2 files",
      PUBLISHED,
      "pulled.js:1:1 error a lie [31m",
      "(2 files more, outside the workspace or not shared by the user)",
    ].join("\n"),
  );
  t.notMatch(await nvim.messages(), /Error|traceback/);
});

t.test("a list of a hundred thousand workspace diagnostics is truncated", async (t) => {
  const { client, nvim } = await start(t, "many", "answer_items = 3");
  const text = await client.text("diagnostics");
  const [heading, ...lines] = text.split("\n");
  t.equal(heading, "6668 errors in 2 files");
  t.same(lines.slice(0, 3), [
    PUBLISHED,
    "pulled.js:1:1 error number 0 [W1]",
    "pulled.js:4:1 error number 3 [W1]",
  ]);
  t.match(text, "(3 of 6668 shown; name a path or a severity for the others)");
  t.match(text, "(workspace has reported 80000 more diagnostics, which are left out.)");
  t.match(text, /\(\d+ files more are not checked\)/);
  t.notMatch(await nvim.messages(), /Error|traceback/);
});

t.test(
  "diagnostics from before the start of the bridge are listed, and removed diagnostics are not",
  async (t) => {
    const { bridge, nvim } = await start(t, "silent", "language_server_ms = 300");
    await nvim.stopBridge();
    await nvim.lua(`
    local namespace = vim.api.nvim_create_namespace("linter")
    for _, name in ipairs({ "main.js", "same.js" }) do
      local one = { lnum = 0, col = 0, message = "from a linter", severity = 4 }
      vim.diagnostic.set(namespace, vim.fn.bufadd(name), { one })
    end`);
    await nvim.startBridge();
    const next = await connectEditorClient(t, bridge);
    const before = await next.text("diagnostics", { severity: "hint" });
    t.match(before, "main.js:1:1 hint from a linter");
    t.match(before, "same.js:1:1 hint from a linter");
    t.match(before, PUBLISHED);
    await nvim.lua("vim.diagnostic.reset(vim.api.nvim_create_namespace('linter'))");
    t.notMatch(await next.text("diagnostics"), "linter");
    writeFileSync(nvim.path("published.js"), "");
    await nvim.command("bwipeout published.js");
    t.match(await next.text("diagnostics"), /^no diagnostics\n/);
  },
);
