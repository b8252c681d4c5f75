/** What the doctor says of the real CLI, and that the CLI then does so. */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { z } from "zod";
import { type Cli, type CliOptions, startCliInNvim } from "../support/cli.ts";
import { examine, isRunning, runDoctor } from "../support/doctor.ts";
import { startModel } from "../support/model.ts";
import { type Nvim, startNvim } from "../support/nvim.ts";
import { descendants, killAll } from "../support/processes.ts";
import { writeFiles } from "../support/sandbox.ts";

/** Counts the reviews that open from now on. */
const COUNT = `
_G.opened = 0
vim.api.nvim_create_autocmd('User', { pattern = 'GeminiDiffOpened', callback = function() _G.opened = _G.opened + 1 end })
`;

async function start(t: Test): Promise<Nvim> {
  const nvim = await startNvim(t, { files: { "a.txt": "one\n" }, init: COUNT });
  await nvim.command("GeminiStart");
  await nvim.waitFor(isRunning, "the bridge to run", 10_000);
  return nvim;
}

/** Starts the real CLI, waits until it is connected, and gives its process id. */
async function connect(t: Test, nvim: Nvim, options: CliOptions): Promise<{ cli: Cli; pid: number }> {
  const cli = await startCliInNvim(t, nvim, { ...options, env: { REMOTE_CONTAINERS: "true" } });
  await nvim.waitFor("#require('gemini-bridge').status().clients == 1", "the CLI to connect", 15_000);
  const children = await nvim.lua("return vim.api.nvim_get_proc_children(...)", cli.place.shell);
  const [pid = 0] = z.array(z.int()).min(1).parse(children);
  return { cli, pid };
}

async function end(nvim: Nvim, cli: Cli): Promise<void> {
  killAll([...descendants(cli.place.shell), cli.place.shell]);
  await nvim.command(`bwipeout! ${cli.place.buf}`);
  await nvim.waitFor("#require('gemini-bridge').status().clients == 0", "the CLI to be gone");
}

const writing = (path: string, content: string) => [
  [{ functionCall: { name: "write_file", args: { file_path: path, content } } }],
  [{ text: "It is written." }],
];

t.test("one that asks", async (t) => {
  const nvim = await start(t);
  const model = await startModel(t);
  const { cli, pid } = await connect(t, nvim, { model });
  const offered = z
    .array(z.string())
    .parse(await nvim.lua("return vim.fn.getcompletion('GeminiDoctor ', 'cmdline')"));
  t.ok(offered.includes(String(pid)), "completion offers it");
  const { "Gemini CLI": report, "Running CLIs": running } = await examine(nvim, pid);
  t.match(running, new RegExp(`OK process ${pid}: .*, connected to this Neovim`));
  t.match(report, /OK Gemini CLI 0\.\d+\.\d+/, "its release is found from its command line");
  t.match(report, /OK It is connected to this Neovim/);
  t.match(report, /OK asks before it writes, which opens a diff/);
  t.notMatch(report, /ERROR|WARNING|does not show from here/);

  model.say(...writing(nvim.path("a.txt"), "two\n"));
  await cli.type("Please change it.");
  await t.resolves(nvim.waitFor("_G.opened == 1", "the review", 10_000));

  await cli.press("1"); // Allow once
  await cli.waitForScreen(/It is written\./);

  // While an editor shows the change, the CLI takes this answer for "once".
  await nvim.command("GeminiStop");
  await nvim.waitFor("require('gemini-bridge').status().state == 'stopped'", "the bridge to stop");
  await nvim.waitFor(
    async () => /Disconnected/.test(await cli.slash("/ide status")),
    "the CLI to notice",
    15_000,
  );
  model.say(...writing(nvim.path("a.txt"), "three\n"));
  await cli.type("Please change it again.");
  await cli.waitForScreen(/2\. Allow for this session/);
  await cli.press("2");
  await cli.waitForScreen(/auto-accept edits/);
  const { "Gemini CLI": then } = await examine(nvim, pid);
  t.match(
    then,
    /WARNING writes without asking in auto-edit mode, .* \(as its screen says\) -> press Shift-Tab/,
  );
  t.notMatch(then, /asks before it writes/);
});

t.test("one that does not ask", async (t) => {
  const nvim = await start(t);
  const policy = "[[rule]]\ntoolName = ['write_file', 'replace']\ndecision = 'allow'\npriority = 100\n";
  const cases: [string, Omit<CliOptions, "model">, { policy?: string; says: RegExp }][] = [
    [
      "YOLO",
      { args: "--yolo" },
      { says: /writes without asking in YOLO mode, so that no diff opens \(--yolo\) -> press Ctrl-Y in it/ },
    ],
    [
      "auto-edit by a setting",
      { settings: { general: { enableAutoUpdate: false, defaultApprovalMode: "auto_edit" } } },
      { says: /without asking in auto-edit mode, .* \(\S+\/\.gemini\/settings\.json\) -> press Shift-Tab/ },
    ],
    [
      "tools that are allowed",
      { args: "--allowed-tools write_file,replace" },
      { says: /write_file runs without asking, so that no diff opens \(--allowed-tools\)/ },
    ],
    [
      "a policy",
      {},
      { policy, says: /write_file runs without asking, .* \(\S+\/policies\/auto-saved\.toml\) -> / },
    ],
  ];
  for (const [index, [name, options, { policy, says }]] of cases.entries()) {
    await t.test(name, async (t) => {
      const file = ".gemini/policies/auto-saved.toml";
      if (policy) writeFiles(nvim.dirs.home, { [file]: policy });
      const model = await startModel(t);
      const { cli, pid } = await connect(t, nvim, { ...options, model });
      const { "Gemini CLI": report } = await examine(nvim, pid);
      t.match(report, /WARNING .* without asking/);
      t.notMatch(report, /ERROR|asks before it writes/);
      const { "Gemini CLI": inShell } = (await runDoctor(nvim, [String(pid)])).sections;
      t.match(inShell, says, "without a screen, by what it was started with");
      t.match(inShell, /"Allow for this session", does not show from here/);

      model.say(...writing(nvim.path("a.txt"), `${index}\n`));
      await cli.type("Please change it.");
      await cli.waitForScreen(/It is written\./);
      t.equal(readFileSync(nvim.path("a.txt"), "utf8"), `${index}\n`);
      t.equal(await nvim.lua("return _G.opened"), 0, "no review has opened");
      await end(nvim, cli);
      rmSync(join(nvim.dirs.home, file), { force: true });
    });
  }
});
