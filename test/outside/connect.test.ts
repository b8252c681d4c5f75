/**
 * Tests that the real CLI in Neovim's terminal connects without a question. Also tests the environment of CLIs of an
 * ordinary user: these CLIs ignore settings that Neovim writes. test/root/connect.test.ts tests CLIs of root.
 */
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import t, { type Test } from "tap";
import { type RunningBridge, startBridge } from "../support/bridge.ts";
import type { Cli } from "../support/cli.ts";
import { examine } from "../support/doctor.ts";
import { linkExtension } from "../support/extension.ts";
import { geminiIn } from "../support/gemini.ts";
import { type Model, startModel } from "../support/model.ts";
import { type Nvim, root, startNvim } from "../support/nvim.ts";

/** Settings as after the CLI's first start: with an API key, and without settings for editors. */
const SETTINGS = {
  security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
  general: { enableAutoUpdate: false },
  privacy: { usageStatisticsEnabled: false },
};

const QUESTION = /Do you want to connect/;

/**
 * Starts a Neovim with a terminal UI and a new home. The new home is below the user's own home, where no other user can
 * write.
 */
async function start(t: Test, init = ""): Promise<{ nvim: Nvim; model: Model }> {
  const below = join(homedir(), ".cache");
  mkdirSync(below, { recursive: true });
  const model = await startModel(t);
  const nvim = await startNvim(t, {
    below,
    tui: { columns: 160, lines: 40 },
    init,
    files: {
      "../home/.gemini/settings.json": JSON.stringify(SETTINGS),
      "greet.js": "const greeting = 'Hello';\nconsole.log(greeting);\n",
    },
    env: {
      PATH: [join(root, "node_modules/.bin"), dirname(process.execPath), process.env["PATH"]].join(delimiter),
      GEMINI_API_KEY: "any",
      GOOGLE_GEMINI_BASE_URL: model.url,
      GEMINI_CLI_NO_RELAUNCH: "true", // one Node process fewer
    },
  });
  linkExtension(nvim.dirs.home);
  return { nvim, model };
}

/** Types `:Gemini`. Returns the CLI in the terminal. */
async function open(nvim: Nvim, command = "Gemini"): Promise<Cli> {
  await nvim.type(`:${command}\r`);
  return geminiIn(nvim);
}

/** Returns all output of the CLI. */
const shown = (nvim: Nvim, cli: Cli) =>
  nvim.lua("return table.concat(vim.api.nvim_buf_get_lines(..., 0, -1, false), '\\n')", cli.place.buf);

const isConnected = "#require('gemini-bridge').status().clients > 0";

/** Ends a CLI. Waits until its terminal has closed. */
async function end(nvim: Nvim, cli: Cli): Promise<void> {
  await nvim.lua("vim.api.nvim_buf_delete(..., { force = true })", cli.place.buf);
  await nvim.waitFor("not require('gemini-bridge.terminal.terminals').last()", "the CLI to be gone");
  await nvim.waitFor(`not (${isConnected})`, "its connection to end");
}

const userSettings = (nvim: Nvim) =>
  JSON.parse(readFileSync(join(nvim.dirs.home, ".gemini/settings.json"), "utf8"));

t.test("the CLI in Neovim's terminal connects immediately", async (t) => {
  const { nvim, model } = await start(t);
  await nvim.type(":edit greet.js\r");
  const cli = await open(nvim);
  await cli.waitForScreen(/Type your message/, 30_000);
  await nvim.waitFor(isConnected, "the CLI to connect");
  t.match(await cli.slash("/ide status"), /Connected to Neovim/);
  t.notMatch(await nvim.messages(), /ide enable/);

  model.say([{ text: "It greets." }]);
  await cli.type("Say what it does.");
  await cli.waitForScreen(/It greets\./);
  t.match(
    model.editorContexts(),
    [{ activeFile: { path: nvim.path("greet.js") } }],
    "the model has the context",
  );

  await t.test("/ide disable takes precedence, even after a restart", async (t) => {
    await cli.slash("/ide disable");
    await nvim.waitFor(`not (${isConnected})`, "the CLI to leave");
    await end(nvim, cli);
    const again = await open(nvim);
    // The bridge does not answer the CLI's question again after the user has typed /ide disable.
    await again.waitForScreen(QUESTION, 30_000);
    t.equal(userSettings(nvim).ide.enabled, false);
    t.equal(await nvim.lua(`return ${isConnected}`), false);
    t.notMatch(await shown(nvim, again), /ide enable/);
    await end(nvim, again);
  });

  await t.test("the variable and the file with the settings are removed when the bridge stops", async (t) => {
    const value = () => nvim.lua("return vim.env.GEMINI_CLI_SYSTEM_DEFAULTS_PATH");
    const path = String(await value());
    await nvim.stopBridge();
    t.equal(await value(), null);
    t.throws(() => readFileSync(path));
  });
});

t.test("/ide enable is typed into a CLI that would ignore the file with the settings", async (t) => {
  const { nvim } = await start(t);
  chmodSync(nvim.dirs.base, 0o775);
  const cli = await open(nvim);
  await nvim.waitFor(isConnected, "the CLI to connect", 60_000);
  t.notMatch(await shown(nvim, cli), /Security Warning/);
  t.equal(userSettings(nvim).ide.enabled, true, "by the CLI itself");
  t.notMatch(await nvim.messages(), /ide enable/, "and nobody is asked to");
  await cli.waitForScreen(/Type your message/);
  t.match(await cli.slash("/ide status"), /Connected to Neovim/);
  await end(nvim, cli);

  await t.test("the next CLI of an ordinary user connects by itself", async (t) => {
    const again = await open(nvim);
    await nvim.waitFor(isConnected, "the CLI to connect", 30_000);
    t.notMatch(await shown(nvim, again), /ide enable|Do you want/);
  });
});

t.test("a CLI that terminal.cmd starts by Node connects, and the doctor recognizes it", async (t) => {
  const script = join(root, "node_modules/@google/gemini-cli/bundle/gemini.js");
  const words = [process.execPath, script].map((word) => JSON.stringify(word));
  const { nvim } = await start(
    t,
    `require('gemini-bridge').setup({ terminal = { cmd = { ${words.join(", ")} } } })`,
  );
  await open(nvim);
  await nvim.waitFor(isConnected, "the CLI to connect", 60_000);
  const report = await examine(nvim);
  t.match(report["Running CLIs"], /OK process \d+: .*gemini\.js, connected to this Neovim/);
  t.notMatch(report["Running CLIs"], /rplugin/, "the host also runs in Node, but is not a CLI");
});

const variable = ({ nvim }: RunningBridge) => nvim.lua("return vim.env.GEMINI_CLI_SYSTEM_DEFAULTS_PATH");
const obstacle = ({ nvim }: RunningBridge) =>
  nvim.lua("return require('gemini-bridge.bridge.status').get().obstacles.gemini");
const directory = ({ nvim }: RunningBridge) => join(nvim.dirs.state, "nvim/gemini-bridge");

t.test("no settings are written for an ordinary user", async (t) => {
  const { bridge } = await startBridge(t);
  t.equal(await variable(bridge), null, "the variable is left out");
  t.same(readdirSync(directory(bridge)), []);
  t.match(await obstacle(bridge), /does not belong to root/);
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

t.test("a variable that is already set stays in effect", async (t) => {
  const { bridge } = await startBridge(t, {
    files: { "../home/theirs.json": '{ "ui": { "theme": "GitHub" } }' },
    init: "vim.env.GEMINI_CLI_SYSTEM_DEFAULTS_PATH = vim.env.HOME .. '/theirs.json'",
  });
  const theirs = join(bridge.nvim.dirs.home, "theirs.json");
  t.equal(await variable(bridge), theirs);
  await bridge.nvim.stopBridge();
  t.equal(await variable(bridge), theirs);
});

t.test("with terminal.connect = false, the CLI is not connected automatically", async (t) => {
  const { bridge } = await startBridge(t, {
    init: "require('gemini-bridge').setup({ terminal = { connect = false } })",
  });
  t.equal(await variable(bridge), null);
  t.notOk(existsSync(directory(bridge)));
  t.equal(await obstacle(bridge), "the option terminal.connect is off");
});
