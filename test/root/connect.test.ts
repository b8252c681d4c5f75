/** Tests the settings that CLIs of root get in Neovim's terminals, in addition to their own settings. */
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { type RunningBridge, startBridge } from "../support/bridge.ts";
import { examine } from "../support/doctor.ts";
import { type NvimOptions, root } from "../support/nvim.ts";

/** Below root's own home, where nobody else can write. */
const below = join(homedir(), ".cache");

async function start(t: Test, options: NvimOptions = {}) {
  mkdirSync(below, { recursive: true });
  return startBridge(t, { below, ...options });
}

const variable = (bridge: RunningBridge) => bridge.nvim.lua("return vim.env.GEMINI_CLI_SYSTEM_DEFAULTS_PATH");
const obstacle = (bridge: RunningBridge) =>
  bridge.nvim.lua("return require('gemini-bridge.bridge.status').get().obstacles.gemini");
const directory = (bridge: RunningBridge) => join(bridge.nvim.dirs.state, "nvim/gemini-bridge");
const settingsOf = async (bridge: RunningBridge) =>
  JSON.parse(readFileSync(String(await variable(bridge)), "utf8"));
/** Returns the settings that concern the connection. */
const contentOf = async (bridge: RunningBridge) => {
  const { hooks: _, mcpServers: __, ...content } = await settingsOf(bridge);
  return content;
};

t.test("connection settings below a private home apply", async (t) => {
  const { bridge } = await start(t);
  t.equal(await obstacle(bridge), null);
  t.same(await contentOf(bridge), { ide: { enabled: true, hasSeenNudge: true } });
  t.match(
    (await settingsOf(bridge)).hooks.BeforeTool[0].hooks[0].command,
    `. '${root}/extension/hooks/hook.sh' GEMINI_CLI_IDE`,
    "its hooks tell the bridge",
  );
  t.match(
    (await examine(bridge.nvim))["A CLI started in"],
    /OK IDE mode is on in \S+\/gemini-bridge\/system-defaults/,
  );

  const { bridge: other } = await start(t);
  const path = String(await variable(other));
  await bridge.nvim.stopBridge();
  t.equal(await variable(bridge), null);
  t.same(readdirSync(directory(bridge)), []);
  t.ok(existsSync(path), "that of another Neovim stays");

  await other.replaceHost();
  t.equal(readdirSync(directory(other)).length, 1, "that of a killed host goes");
  t.match(await contentOf(other), { ide: { enabled: true } });
  await other.nvim.close();
  t.notOk(existsSync(path));
});

t.test("the variable for default settings is not changed if the user has set it", async (t) => {
  const file = "vim.env.GEMINI_CLI_SYSTEM_DEFAULTS_PATH = vim.env.HOME .. '/theirs.json'";

  await t.test("the user's settings take precedence over the connection settings", async (t) => {
    const { bridge } = await start(t, {
      files: { "../home/theirs.json": '{ "ide": { "enabled": false }, "ui": { "theme": "GitHub" } }' },
      init: file,
    });
    t.same(await contentOf(bridge), {
      ide: { enabled: false, hasSeenNudge: true },
      ui: { theme: "GitHub" },
    });
    await bridge.nvim.stopBridge();
    t.equal(await variable(bridge), join(bridge.nvim.dirs.home, "theirs.json"), "and comes back");
  });

  await t.test(
    "no file is written if the system's file cannot be read, and the doctor says so",
    async (t) => {
      const { bridge } = await start(t, { files: { "../home/theirs.json": "{ no json" }, init: file });
      const theirs = join(bridge.nvim.dirs.home, "theirs.json");
      t.equal(await variable(bridge), theirs);
      t.match(await obstacle(bridge), `${theirs}, is not a JSON object`);
      t.match(
        (await examine(bridge.nvim))["A CLI started in"],
        /cannot turn on IDE mode before the CLI starts, because .*theirs\.json/,
      );
    },
  );
});

t.test("system settings of Qwen Code do not keep Gemini CLI from connecting", async (t) => {
  const { bridge, nvim } = await start(t, {
    files: { "../home/qwen.json": "{ no json", "../home/.qwen/settings.json": "{}" },
    init: "vim.env.QWEN_CODE_SYSTEM_DEFAULTS_PATH = vim.env.HOME .. '/qwen.json'",
  });
  const qwen = "return require('gemini-bridge.bridge.status').get().obstacles.qwen";
  t.match(await nvim.lua(qwen), "qwen.json, is not a JSON object");
  t.equal(await obstacle(bridge), null);
  t.match(await contentOf(bridge), { ide: { enabled: true } });
  t.match((await examine(nvim))["A CLI started in"], /OK IDE mode is on in/);
});

t.test("no connection settings are written below a directory that others can write to", async (t) => {
  const { bridge } = await start(t);
  await bridge.nvim.stopBridge();
  await bridge.nvim.command("messages clear");
  chmodSync(bridge.nvim.dirs.base, 0o775);
  await bridge.nvim.startBridge();
  t.equal(await variable(bridge), null, "the variable is left out");
  const files = readdirSync(directory(bridge)).filter((name) => name !== "store"); // what a later host needs
  t.same(files, []);
  t.match(await obstacle(bridge), /is writable by others than root/);
  t.match(
    (await bridge.nvim.messages()).trim(),
    /^gemini-bridge: The bridge is running on port \d+$/,
    "nothing is said of it",
  );
  const { "A CLI started in": report } = await examine(bridge.nvim);
  t.match(
    report,
    /cannot turn on IDE mode before the CLI starts, because the CLI uses default settings only from/,
  );
  t.match(
    report,
    /ERROR IDE mode is off \(default\) -> answer No .* type `\/ide enable` in the CLI\. :Gemini does both/,
  );
});
