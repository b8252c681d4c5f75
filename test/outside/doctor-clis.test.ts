/** Tests the doctor with LLxprt Code, with a derived CLI, and without Gemini CLI. */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import t, { type Test } from "tap";
import { z } from "zod";
import { examine, runDoctor, START } from "../support/doctor.ts";
import { type Nvim, startNvim } from "../support/nvim.ts";

// `make` puts the programs of node_modules on PATH, such as Gemini CLI, which is not installed in these tests.
const directories = (process.env["PATH"] ?? "").split(delimiter);
process.env["PATH"] = directories.filter((each) => !each.endsWith("node_modules/.bin")).join(delimiter);

/** Starts a Neovim with a running bridge. The programs of the CLIs do nothing. */
async function start(
  t: Test,
  options: string,
  files: Record<string, string>,
  programs = ["llxprt", "ola", "claude"],
): Promise<Nvim> {
  const nvim = await startNvim(t, {
    files,
    init: `vim.env.PATH = vim.env.HOME .. '/bin:' .. vim.env.PATH
      require('gemini-bridge').setup({ ${options} })`,
  });
  mkdirSync(join(nvim.dirs.home, "bin"));
  for (const name of programs) {
    const program = join(nvim.dirs.home, "bin", name);
    writeFileSync(program, "#!/usr/bin/env node\nprocess.stdin.resume();\n");
    chmodSync(program, 0o755);
  }
  await nvim.startBridge();
  return nvim;
}

const report = async (nvim: Nvim, pid?: number) => Object.values(await examine(nvim, pid)).join("\n");

/** Returns the process id of a program after the program was replaced by Node. */
async function running(nvim: Nvim, pid: unknown): Promise<number> {
  const doctor = "require('gemini-bridge.report.doctor').running()";
  let found: string[] = [];
  await nvim.waitFor(async () => {
    const table = z.array(z.int()).parse(await nvim.lua(TREE, z.int().parse(pid)));
    const listed = z.array(z.string()).parse(await nvim.lua(`return ${doctor}`));
    found = listed.filter((each) => table.includes(Number(each)));
    return found.length > 0;
  }, "the program");
  return Number(found[0]);
}

const TREE = "return require('gemini-bridge.terminal.process_tree').tree(...)";

t.test("the doctor reports how LLxprt Code finds its editor", async (t) => {
  const nvim = await start(t, "", { "../home/.llxprt/settings.json": '{ "ui": { "ideMode": true } }' });
  const said = await report(nvim);
  t.match(said, /LLxprt Code started by :Gemini cli=llxprt/);
  t.match(said, /OK.*IDE mode is on in .*\.llxprt\/settings\.json/);
  t.match(said, /OK.*finds this Neovim by .*llxprt-ide-server-\d+-\d+\.json/);
  t.match(said, /OK.*New terminals get the variables LLXPRT_CODE_IDE_\*/);
});

t.test("the doctor reports a derived CLI with its own settings, files and names", async (t) => {
  const ola = 'ola = { like = "qwen", directory = "~/.ola/ide", env = "OLA_CODE_IDE_", args = {} }';
  const nvim = await start(t, `terminal = { cli = "ola" }, clis = { gemini = false, ${ola} }`, {
    "../home/.ola/settings.json": '{ "ide": { "enabled": false } }',
  });
  const said = await report(nvim);
  t.match(said, /ola started by :Gemini cli=ola/);
  t.match(said, /ERROR.*IDE mode is off in .*\.ola\/settings\.json/);
  t.match(said, /OK.*ola finds this Neovim by .*\.ola\/ide\/\d+\.lock/);
  t.match(said, /OK.*New terminals get the variables OLA_CODE_IDE_\*/);
  t.notMatch(said, /GEMINI_CLI_IDE|A CLI started|in Gemini CLI/, "nothing of one that is switched off");
  const pid = await running(nvim, await nvim.lua(START, "ola", {}));
  t.match(await report(nvim, pid), /ola, process \d+[\s\S]*ERROR.*IDE mode is off in .*\.ola/);
});

t.test("in a shell, the doctor reports each installed CLI", async (t) => {
  const nvim = await startNvim(t, { files: { "../home/.qwen/settings.json": "{}" } });
  const { output } = await runDoctor(nvim, []);
  t.match(output, /Qwen Code started here/);
  t.match(output, /ERROR.*finds no editor in .*\.qwen\/ide/);
  t.match(
    output,
    /IDE mode is off \(default\)\n +-> answer Yes if the CLI asks whether to connect; in any case, type `\/ide enable`/,
  );
  t.notMatch(output, /LLxprt/);
  await nvim.startBridge();
  t.match((await runDoctor(nvim, [])).output, /ok .*finds editors in .*\.qwen\/ide/);
});

t.test("the doctor checks the variable of Claude Code", async (t) => {
  const nvim = await start(t, "", { "../home/.claude/settings.json": "{}" });
  const said = await report(nvim);
  t.match(said, /Claude Code started by :Gemini cli=claude/);
  t.match(said, /OK.*finds this Neovim by .*\.claude\/ide\/\d+\.lock/);
  t.match(said, /OK.* is in the workspace/);
  t.match(said, /OK.*connects by itself, because CLAUDE_CODE_SSE_PORT names the port/);

  const pid = await running(nvim, await nvim.lua(START, "claude", {}));
  const advice =
    /WARNING.*not connected to this Neovim.*type `\/ide` in the CLI; if it still cannot connect, .*:GeminiStop/;
  t.match(await report(nvim, pid), advice, "it has given up");
});

t.test("the doctor reports no errors of other CLIs if only opencode is installed", async (t) => {
  const nvim = await start(t, "", { "../config/opencode/opencode.json": "{}" }, ["opencode"]);
  const said = await report(nvim);
  t.match(said, /opencode started by :Gemini cli=opencode/);
  t.match(said, /OK.*finds this Neovim by .*\.claude\/ide\/\d+\.lock/);
  t.match(said, /opens no reviews\. It gets only the active file, the selection and the tools/);
  t.notMatch(said, /ERROR|Claude Code|A CLI started in/);
  const { output } = await runDoctor(nvim, []);
  t.match(output, /ok .*The CLI finds editors in .*\.claude\/ide/);
  t.notMatch(output, /ERROR|Claude Code|A CLI started here/);
});
