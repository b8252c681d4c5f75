/** Tests the doctor's report about Qwen Code, which has its own settings and discovery files. */
import { chmodSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { z } from "zod";
import { examine } from "../support/doctor.ts";
import { startNvim } from "../support/nvim.ts";

const SETTINGS = ".qwen/settings.json";

async function start(t: Test, settings: object, files: Record<string, string> = {}, init = "") {
  const nvim = await startNvim(t, {
    files: { [`../home/${SETTINGS}`]: JSON.stringify(settings), ...files },
    init: `vim.env.PATH = vim.env.HOME .. '/bin:' .. vim.env.PATH ${init}`,
  });
  mkdirSync(join(nvim.dirs.home, "bin"));
  writeFileSync(join(nvim.dirs.home, "bin/qwen"), "#!/usr/bin/env node\nprocess.stdin.resume();\n");
  chmodSync(join(nvim.dirs.home, "bin/qwen"), 0o755);
  await nvim.startBridge();
  const report = async (pid?: number) => Object.values(await examine(nvim, pid)).join("\n");
  return { nvim, report };
}

t.test("the doctor examines the Qwen Code that :Gemini would start", async (t) => {
  const { nvim, report } = await start(t, { tools: { approvalMode: "yolo" } });
  const said = await report();
  t.match(said, /Qwen Code started by :Gemini cli=qwen/);
  t.match(said, /OK.*IDE mode is on in .*-qwen\.json/, "it connects without a question");
  t.match(said, /OK.*asks before it writes/, "whatever its settings say");
  const directory = join(nvim.dirs.home, ".qwen/ide");
  t.match(said, new RegExp(`OK.*finds this Neovim by ${directory}/\\d+\\.lock`));
  writeFileSync(join(nvim.dirs.home, SETTINGS), '{ "ide": { "enabled": false } // off\n}');
  t.match(await report(), /ERROR.*IDE mode is off in .*\.qwen\/settings\.json.*\n?.*\/ide enable/);
  writeFileSync(join(nvim.dirs.home, SETTINGS), "{ broken");
  t.match(await report(), /ERROR.*settings\.json is not a JSON object/);
  for (const name of readdirSync(directory)) {
    rmSync(join(directory, name));
    mkdirSync(join(directory, name)); // so that the host cannot restore the file
  }
});

t.test("the doctor names the CLI whose settings keep the plugin from turning on IDE mode", async (t) => {
  const files = { "../home/system.json": "{ no json", "../home/.gemini/settings.json": "{}" };
  const init = "vim.env.QWEN_CODE_SYSTEM_DEFAULTS_PATH = vim.env.HOME .. '/system.json'";
  const { nvim } = await start(t, {}, files, init);
  const sections = await examine(nvim);
  const because = "cannot turn on IDE mode before the CLI starts, because the CLI";
  const ofQwen = `${because}'s file with system-wide default settings, ${nvim.dirs.home}/system.json, is not a JSON`;
  t.match(sections["Qwen Code started by"], ofQwen);
  t.notMatch(sections["A CLI started in"], "system.json");
  t.match(sections["A CLI started in"], `${because} uses default settings only from a regular file`);
});

t.test("the doctor examines a Qwen Code that the user has started", async (t) => {
  const { nvim, report } = await start(t, { ide: { enabled: true }, tools: { approvalMode: "auto-edit" } });
  const run = "return vim.fn.jobpid(vim.fn.jobstart({ 'qwen' }))";
  const pid = z.int().parse(await nvim.lua(run));
  const listed = `vim.list_contains(require('gemini-bridge.report.doctor').running(), '${pid}')`;
  await nvim.waitFor(listed, "it to be Node", 10_000);
  const said = await report(pid);
  t.match(said, /Qwen Code, process \d+/);
  t.match(said, /is not connected to this Neovim/);
  t.match(said, /OK.*IDE mode is on in .*\.qwen\/settings\.json/);
  t.match(said, /WARNING.*writes without asking in mode auto-edit \(.*settings\.json\)/);
});
