/** Tests that the real CLI uses a tool, a resource and a prompt of the extension. */
import { mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { INSTRUCTIONS } from "../../src/model/register.ts";
import { startBridge } from "../support/bridge.ts";
import { startCliInNvim } from "../support/cli.ts";
import { languageServer } from "../support/editor-client.ts";
import { linkExtension } from "../support/extension.ts";
import { startModel } from "../support/model.ts";
import { root } from "../support/nvim.ts";

const below = join(homedir(), ".cache");
mkdirSync(below, { recursive: true });

t.test("Gemini CLI in Neovim's terminal has the tools", async (t) => {
  const { nvim } = await startBridge(t, {
    below,
    files: { "main.js": "const x = BAD;\n" },
    args: ["main.js"],
    init: languageServer(),
  });
  linkExtension(nvim.dirs.home);
  const model = await startModel(t);
  const settings = { policyPaths: [join(root, "extension/read-only.toml")] };
  const cli = await startCliInNvim(t, nvim, { model, settings });
  // The CLI uses the server's instructions and prompts only if the server answers during the CLI's start.
  await cli.slash("/mcp reload");
  await cli.waitForScreen(/neovim .*Ready/, 20_000);

  await t.test("Gemini CLI calls read-only tools without asking", async (t) => {
    model.say(
      [{ functionCall: { name: "mcp_neovim_diagnostics", args: { path: "main.js", settle: true } } }],
      [{ text: "There is one." }],
    );
    await cli.type("Look at it.");
    await cli.waitForScreen(/There is one\./, 20_000);
    const told = model.promptText();
    t.match(told, "main.js:1:11 error this is BAD [E1]");
    t.match(told, /main\.js \(file:\/\/|file:\/\/\S+\/main\.js/, "the link to the file is there, too");
  });

  await t.test("a tool's answer to Gemini CLI contains unsaved text", async (t) => {
    await nvim.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('main.js'), 0, -1, false, { 'unsaved text' })");
    model.say(
      [{ functionCall: { name: "mcp_neovim_read_buffer", args: { path: "main.js" } } }],
      [{ text: "I have read it." }],
    );
    await cli.type("Read it.");
    await cli.waitForScreen(/I have read it\./, 20_000);
    t.match(model.promptText(), "unsaved text");
  });

  await t.test("a resource can be inserted into a prompt of Gemini CLI", async (t) => {
    await nvim.command("call setqflist([{'filename': 'main.js', 'lnum': 1, 'text': 'look here'}])");
    model.say([{ text: "It is a list." }]);
    await cli.type("What is @neovim:nvim://quickfix now.");
    await cli.waitForScreen(/It is a list\./, 20_000);
    t.match(model.promptText(), "main.js:1 look here");
  });

  await t.test("prompts of the MCP server are slash commands of Gemini CLI", async (t) => {
    await nvim.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('main.js'), 0, -1, false, { 'const x = BAD;' })");
    await nvim.waitFor("#vim.diagnostic.get(0) > 0", "the diagnostic");
    model.say([{ text: "I shall fix it." }]);
    await cli.press("/fix");
    await cli.waitForScreen(/Fix the problems that language servers report/);
    await cli.press("\x1b[F\r"); // the first Enter may only choose the entry of the menu
    await cli.waitForScreen(/I shall fix it\./, 3000).catch(() => cli.press("\x1b[F\r"));
    await cli.waitForScreen(/I shall fix it\./, 20_000);
    t.match(model.promptText(), "Fix these problems.");
  });
});

t.test("the instructions of the MCP server reach the model", async (t) => {
  const { nvim } = await startBridge(t, { below, files: { "main.js": "1;\n" }, args: ["main.js"] });
  linkExtension(nvim.dirs.home);
  const model = await startModel(t, [[{ text: "It is said." }]]);
  // Without a screen, the CLI waits for its MCP servers before it calls the model. With a screen, the CLI does not wait
  // for a slow server.
  await startCliInNvim(t, nvim, { model, args: "-p 'Say it.'", shows: /^It is said\./m });
  t.match(model.promptText(), INSTRUCTIONS);
});
