import t from "tap";
import { z } from "zod";
import { RunningBridge } from "../support/bridge.ts";
import { type Nvim, startNvim } from "../support/nvim.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);

/** Waits until the last message matches the pattern. */
const says = (nvim: Nvim, sentence: RegExp) =>
  nvim.waitFor(async () => sentence.test((await nvim.messages()).split("\n").at(-1) ?? ""), `${sentence}`);

t.test(":GeminiStart and :GeminiStop report their results", async (t) => {
  const nvim = await startNvim(t);
  const bridge = new RunningBridge(t, nvim);
  const said = async () => (await nvim.messages()).trim().split("\n");

  await nvim.input(":GeminiStop<CR>");
  await says(nvim, /^gemini-bridge: The bridge is not running$/);
  await nvim.input(":GeminiStart<CR>");
  await nvim.bridgeIs("running");
  await says(nvim, new RegExp(`^gemini-bridge: The bridge is running on port ${bridge.file().port}$`));
  await nvim.input(":GeminiStart<CR>");
  await says(
    nvim,
    new RegExp(`^gemini-bridge: The bridge is already running on port ${bridge.file().port}$`),
  );
  await bridge.replaceHost(() => nvim.input(":GeminiRestart<CR>"));
  await says(nvim, new RegExp(`^gemini-bridge: The bridge was restarted on port ${bridge.file().port}$`));
  await nvim.input(":GeminiStop<CR>");
  await says(nvim, /^gemini-bridge: The bridge has stopped$/);
  t.equal((await said()).length, 5, "and nothing else");

  await t.test("a cancelled start of the bridge reports that the bridge has stopped", async (t) => {
    await nvim.command("messages clear");
    await nvim.lua("vim.cmd('GeminiStart') vim.cmd('GeminiStop')");
    await says(nvim, /The bridge has stopped$/);
    t.equal((await said()).length, 1);
  });

  await t.test("a start of the bridge right after a stop succeeds", async (t) => {
    await nvim.command("GeminiStart");
    await says(nvim, /The bridge is running on port \d+$/);
    await nvim.command("messages clear");
    await nvim.lua("vim.cmd('GeminiStop') vim.cmd('GeminiStart')");
    await says(nvim, /The bridge is running on port \d+$/);
    t.equal((await said()).length, 1);
  });

  await t.test("starting the bridge by a script or an option shows no message", async (t) => {
    await nvim.command("messages clear");
    await bridge.replaceHost(() => nvim.lua("require('gemini-bridge').restart()"));
    await nvim.lua("require('gemini-bridge').stop()");
    await nvim.bridgeIs("stopped");
    t.equal(await nvim.messages(), "");
  });
});

for (const command of ["GeminiStart", "GeminiRestart", "Gemini", "GeminiSend --text hello"])
  t.test(`:${command} loads the modules for the host before the host calls them`, async (t) => {
    const init = "require('gemini-bridge').setup({ terminal = { cmd = { 'cat' } } })";
    const nvim = await startNvim(t, { init });
    await nvim.lua(
      `vim.cmd(...)
      vim.schedule(function() vim.g.loaded = package.loaded['gemini-bridge.calls'] ~= nil end)`,
      command,
    );
    t.equal(
      await nvim.waitFor("vim.g.loaded ~= nil and { vim.g.loaded }", "the next tick").then(String),
      "true",
    );
  });

t.test("commands without a path or text can be followed by a bar", async (t) => {
  const nvim = await startNvim(t, { files: { "a.txt": "a\n" }, args: ["a.txt"] });
  const lines = [
    "GeminiStart",
    "GeminiStatus",
    "GeminiRestart",
    "GeminiLog",
    "GeminiSelect",
    "GeminiSelect!",
    "GeminiShare off",
    "GeminiGate off",
    "GeminiEnv --fish",
    "GeminiDoctor",
    "GeminiStop",
  ];
  for (const line of lines) {
    await nvim.command("let g:after = 0");
    await nvim.command(`silent! ${line} | let g:after = 1`);
    t.equal(await nvim.lua("return vim.g.after"), 1, line);
  }
  const others = [
    "Gemini",
    "GeminiAccept",
    "GeminiAdd",
    "GeminiKeep",
    "GeminiPrompt",
    "GeminiReject",
    "GeminiReview",
    "GeminiSend",
    "GeminiUndo",
  ];
  const without = z.array(z.string()).parse(
    await nvim.lua(
      `local names = {}
       for name, command in pairs(vim.api.nvim_get_commands({})) do
         if vim.startswith(name, "Gemini") and not command.bar then table.insert(names, name) end
       end
       return names`,
    ),
  );
  t.same(without.sort(), others, "of all others it is a part of the argument");
});

t.test("invalid options are reported in one message, and in the doctor's report", async (t) => {
  const options = '{ hots = "shared", autostart = 1, log = { level = "debug" } }';
  const nvim = await startNvim(t, { init: `require("gemini-bridge").setup(${options})` });
  const problems = [
    'option autostart must be "idle" or a boolean, not 1',
    "unknown option hots, did you mean host?",
  ];
  await nvim.waitFor(() => nvim.messages(), "the message");
  t.equal((await nvim.messages()).trim(), `gemini-bridge: ${problems.join("; ")}`);
  t.equal(
    await nvim.lua("return require('gemini-bridge.config').get().log.level"),
    "debug",
    "valid options apply",
  );

  await nvim.command("checkhealth gemini-bridge");
  const report = String(
    await nvim.lua("return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')"),
  );
  for (const problem of problems) t.ok(report.includes(problem), problem);
  await nvim.lua("require('gemini-bridge').setup({})");
  await nvim.command("checkhealth gemini-bridge");
  t.equal(await nvim.lua("return vim.fn.search('unknown option')"), 0, "only those of the last setup()");
});

t.test("mappings of commands that take an argument work without one", async (t) => {
  const nvim = await startNvim(t);
  await nvim.input("<Plug>(GeminiShare)");
  await says(nvim, /Sharing is paused/);
  await nvim.input("<Plug>(GeminiShare)");
  await says(nvim, /Sharing is on/);
  await nvim.input("<Plug>(GeminiExtension)");
  await says(nvim, /Usage: :GeminiExtension install\|remove \[cli\]$/);
});

t.test("public functions refuse invalid arguments, and name the caller's line", async (t) => {
  const nvim = await startNvim(t);
  for (const [call, said] of [
    ["accept({ path = 1 })", "accept() expects a string as path, not 1"],
    ["review(1)", "review() takes a table, not 1"],
    ["keep({ lines = { 5 } })", "keep() expects two line numbers as lines, not { 5 }"],
    ["undo({ all = 'yes' })", 'undo() expects a boolean as all, not "yes"'],
    [
      "send({ source = 'foo' })",
      'send() expects "here", "diagnostics", "quickfix", "output", "notes", "nothing" as source, not "foo"',
    ],
    ["send({ files = 'a.txt' })", 'send() expects a list of strings as files, not "a.txt"'],
    ["terminal({ args = { 1 } })", "terminal() expects a list of strings as args, not { 1 }"],
  ]) {
    const run = `return { pcall(loadstring([[require('gemini-bridge').${call}; return 1]], '@caller.lua')) }`;
    t.same(await nvim.lua(run), [false, `caller.lua:1: gemini-bridge: ${said}`]);
  }
  await nvim.lua("require('gemini-bridge').accept()");
  await says(nvim, /No pending proposals/);
});
