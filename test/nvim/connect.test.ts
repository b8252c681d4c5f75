/**
 * Tests the environment of CLIs of an ordinary user, which ignore settings of Neovim. See test/root/connect.test.ts.
 */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { type RunningBridge, startBridge } from "../support/bridge.ts";
import { examine } from "../support/doctor.ts";

const variable = ({ nvim }: RunningBridge) => nvim.lua("return vim.env.GEMINI_CLI_SYSTEM_DEFAULTS_PATH");
const obstacle = ({ nvim }: RunningBridge) =>
  nvim.lua("return require('gemini-bridge.bridge.status').get().connection");
const directory = ({ nvim }: RunningBridge) => join(nvim.dirs.state, "nvim/gemini-bridge");

t.test("no settings are written for an ordinary user", async (t) => {
  const bridge = await startBridge(t);
  t.equal(await variable(bridge), null, "the variable is left out");
  t.same(readdirSync(directory(bridge)), []);
  t.match(await obstacle(bridge), /does not belong to root/);
  t.match(
    (await bridge.nvim.messages()).trim(),
    /^gemini-bridge: The bridge is running on port \d+$/,
    "nothing is said of it",
  );
  const { "A CLI started in": report } = await examine(bridge.nvim);
  t.match(report, /asks before it connects: the CLI would ignore/);
  t.match(report, /ERROR IDE mode is off \(default\) -> answer No .* type `\/ide enable`/);
});

t.test("a variable that is already set stays in effect", async (t) => {
  const bridge = await startBridge(t, {
    files: { "../home/theirs.json": '{ "ui": { "theme": "GitHub" } }' },
    init: "vim.env.GEMINI_CLI_SYSTEM_DEFAULTS_PATH = vim.env.HOME .. '/theirs.json'",
  });
  const theirs = join(bridge.nvim.dirs.home, "theirs.json");
  t.equal(await variable(bridge), theirs);
  await bridge.nvim.command("GeminiStop");
  await bridge.is("stopped");
  t.equal(await variable(bridge), theirs);
});

t.test("with terminal.connect = false, the CLI is not connected automatically", async (t) => {
  const bridge = await startBridge(t, {
    init: "require('gemini-bridge').setup({ terminal = { connect = false } })",
  });
  t.equal(await variable(bridge), null);
  t.notOk(existsSync(directory(bridge)));
  t.equal(await obstacle(bridge), "the option terminal.connect is off");
});
