/** Tests the extension, installed with the real CLI, outside of Neovim's terminals. */
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { startBridge } from "../support/bridge.ts";
import { examine } from "../support/doctor.ts";
import { startModel } from "../support/model.ts";
import { root } from "../support/nvim.ts";
import { makeEnv, withEnv, writeFiles } from "../support/sandbox.ts";

const SETTINGS = {
  security: { auth: { selectedType: "gemini-api-key" } },
  ide: { enabled: false, hasSeenNudge: true },
  general: { enableAutoUpdate: false },
  privacy: { usageStatisticsEnabled: false },
};

/** Starts a Neovim whose home contains the extension, for a CLI outside Neovim. */
async function start(t: Parameters<typeof startBridge>[0]) {
  const model = await startModel(t);
  const cliEnv = {
    PATH: [join(root, "node_modules/.bin"), dirname(process.execPath), process.env["PATH"]].join(delimiter),
    GEMINI_API_KEY: "any",
    GOOGLE_GEMINI_BASE_URL: model.url,
    GEMINI_CLI_NO_RELAUNCH: "true", // starts one Node process fewer
    http_proxy: "http://127.0.0.1:9",
  };
  const { nvim } = await startBridge(t, {
    files: { "notes.md": "# Notes\n", "../home/.gemini/settings.json": JSON.stringify(SETTINGS) },
    args: ["notes.md"],
    env: cliEnv,
  });
  const says = (pattern: RegExp) => nvim.says(pattern, 30_000);
  /** Runs one prompt without a screen. In this mode, the CLI waits for its MCP servers before it calls the model. */
  async function ask(prompt: string): Promise<string> {
    const [file = "", ...args] = withEnv(
      { ...makeEnv(nvim.dirs), ...cliEnv, GEMINI_CLI_TRUST_WORKSPACE: "true", no_proxy: "127.0.0.1" },
      ["gemini", "--yolo", "-p", prompt],
    );
    const { stdout } = await promisify(execFile)(file, args, { cwd: nvim.dirs.workspace, timeout: 60_000 });
    return stdout;
  }
  return { nvim, model, says, ask };
}

t.test(":GeminiExtension installs and removes the extension", async (t) => {
  const { nvim, model, says, ask } = await start(t);
  const record = join(nvim.dirs.home, ".gemini/extensions/gemini-bridge/.gemini-extension-install.json");
  const installation = async () => (await examine(nvim))["Installation"];

  // An ordinary user's Gemini CLI needs the extension in Neovim's terminals, too.
  t.match(
    await installation(),
    "The extension is not installed in Gemini CLI: its model has no tools of Neovim",
  );
  const offered = await nvim.lua("return vim.fn.getcompletion('GeminiExtension install ', 'cmdline')");
  t.same(offered, ["gemini", "qwen"], "CLIs without extensions are not offered");
  // A shell would not pass the arguments that link the extension.
  await nvim.lua("require('gemini-bridge').setup({ terminal = { cmd = { 'bash', '-c', 'gemini' } } })");
  await nvim.command("GeminiExtension install gemini");
  await says(/The extension is linked in Gemini CLI\. Restart the CLI to use the extension\./);
  t.match(JSON.parse(readFileSync(record, "utf8")), { source: join(root, "extension"), type: "link" });
  t.match(await installation(), /OK The extension is installed in Gemini CLI/);
  const trusted = JSON.parse(readFileSync(join(nvim.dirs.home, ".gemini/trustedFolders.json"), "utf8"));
  t.same(Object.keys(trusted), [join(root, "extension")], "no folder of the user's became trusted by it");

  await t.test("a CLI outside of Neovim calls the tools of the extension", async (t) => {
    model.say([{ functionCall: { name: "mcp_neovim_buffers", args: {} } }], [{ text: "One file is open." }]);
    t.match(await ask("What is open"), "One file is open.");
    t.match(model.promptText(), "1 file open\\nnotes.md, 1 line");
    const sent = JSON.stringify(model.requests);
    t.match(sent, "the user works in Neovim, and it knows", "its GEMINI.md");
    t.match(sent, "Neovim is the editor that the user works in.", "the server's instructions");
  });

  await t.test("a resource of the extension can be part of a prompt", async (t) => {
    await nvim.command("call setqflist([{'filename': 'notes.md', 'lnum': 1, 'text': 'look here'}])");
    model.say([{ text: "It is a list." }]);
    t.match(await ask("What is @neovim:nvim://quickfix now"), "It is a list.");
    t.match(model.promptText(), "notes.md:1 look here");
  });

  await t.test("a prompt of the extension is a slash command of the CLI", async (t) => {
    await nvim.lua(`
      local one = { lnum = 0, col = 2, message = 'no such word', severity = 2 }
      vim.diagnostic.set(vim.api.nvim_create_namespace('linter'), 0, { one })`);
    model.say([{ text: "I shall fix it." }]);
    t.match(await ask("/fix"), "I shall fix it.");
    t.match(model.promptText(), /Fix these problems\.[\s\S]*notes\.md:1:3 warning no such word/);
    const requests = model.requests.length;
    await nvim.lua("vim.diagnostic.reset()");
    await t.rejects(ask('/fix --path="notes.md"'), /there is nothing to fix/);
    t.equal(model.requests.length, requests, "the model is not asked");
  });

  await nvim.command("GeminiExtension remove gemini");
  await says(/The extension was removed from Gemini CLI\./);
  t.notOk(existsSync(record));
  await nvim.command("GeminiExtension update");
  await says(/Usage: :GeminiExtension install/);
  await nvim.command("GeminiExtension install nobody");
  await says(/Unknown CLI 'nobody'/);
});

t.test("a link of the extension to a missing folder is replaced", async (t) => {
  const model = await startModel(t);
  const { nvim } = await startBridge(t, {
    files: { "../home/.gemini/settings.json": JSON.stringify(SETTINGS) },
    env: {
      PATH: [join(root, "node_modules/.bin"), dirname(process.execPath), process.env["PATH"]].join(delimiter),
      GOOGLE_GEMINI_BASE_URL: model.url,
      GEMINI_CLI_NO_RELAUNCH: "true",
      http_proxy: "http://127.0.0.1:9",
    },
  });
  const gone = join(nvim.dirs.home, "gone");
  const folder = ".gemini/extensions/gemini-bridge";
  writeFiles(nvim.dirs.home, {
    [`${folder}/.gemini-extension-install.json`]: JSON.stringify({ source: gone, type: "link" }),
  });
  t.match(
    (await examine(nvim))["Installation"],
    `The extension in Gemini CLI is a link to ${gone}, which does not exist`,
  );
  await nvim.command("GeminiExtension remove");
  await nvim.says(/The extension was removed from Gemini CLI\./, 30_000);
  t.notOk(existsSync(join(nvim.dirs.home, folder)));
});
