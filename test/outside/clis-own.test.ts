/** Tests properties of single CLIs: discovery, names in messages, and the option `clis`. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { connectClient } from "../support/client.ts";
import { OLA, startWithClis } from "../support/clis.ts";
import { read } from "../support/profiles.ts";

t.test("messages about each CLI contain its own name and its own settings", async (t) => {
  const nvim = await startWithClis(t, `clis = { ${OLA} }`);
  const program = join(nvim.dirs.home, "bin/llxprt");
  writeFileSync(program, '#!/bin/sh\nps -ww -o args= -p $PPID > "$HOME/run"\nexec cat\n', { mode: 0o755 });
  await nvim.startBridge();
  await nvim.command("Gemini cli=ola");
  await nvim.says(
    /ola is not connected yet\. Answer Yes if it asks whether to connect\. In any case, type \/ide enable\./,
  );
  await nvim.command("Gemini cli=llxprt");
  await nvim.says(
    /LLxprt Code is not connected yet\. Answer No if it asks whether to connect\. In any case, type \/ide enable\./,
  );
  const above = () => readFileSync(join(nvim.dirs.home, "run"), "utf8");
  await nvim.waitFor(async () => /sh -c .* sh llxprt$/m.test(above()), "a shell that stays above it");
  t.match(
    String(await nvim.lua("return vim.fn.execute('GeminiEnv')")),
    /^# LLxprt Code uses these variables only if TERM_PROGRAM=vscode is also set\.$/m,
  );
  t.match(
    await nvim.lua("return require('gemini-bridge.report.status_view').lines()"),
    /none yet: run :Gemini, or gemini in a shell/,
  );
});

t.test("messages about reviews name the CLI", async (t) => {
  const nvim = await startWithClis(t, 'terminal = { cli = "none" }');
  await nvim.startBridge();
  const directory = join(nvim.dirs.home, ".qwen/ide");
  const [name = ""] = readdirSync(directory);
  const { port, authToken: token } = read(join(directory, name));
  const client = await connectClient(t, { port, token });
  await client.openDiff(nvim.path("a.txt"), "b\n");
  await nvim.lua("require('gemini-bridge.review.requests').close_all('disconnected')");
  await client.openDiff(nvim.path("b.txt"), "c\n");
  const proposal = "vim.iter(vim.api.nvim_list_bufs()):find(function(buf) return vim.b[buf].gemini_diff end)";
  await nvim.waitFor(`${proposal} ~= nil`, "the review");
  await nvim.lua(`vim.api.nvim_buf_set_lines(${proposal}, 0, -1, true, {})`);
  await nvim.command("GeminiAccept");
  t.match(
    await nvim.messages(),
    /Qwen Code proposes a change[\s\S]*Qwen Code has disconnected\. The review of a\.txt was closed/,
  );
  t.match(await nvim.messages(), /Qwen Code cannot receive an empty text/);
  await nvim.lua(`require('gemini-bridge').reject()
    local id = require('gemini-bridge.review.records').decided()[1].id
    require('gemini-bridge.review.decision').settled({ id = id, delivered = false })`);
  t.match(await nvim.messages(), /Qwen Code has disconnected and did not receive your rejection of b\.txt/);

  await nvim.command("Gemini");
  t.match(await nvim.messages(), /Unknown CLI 'none'\. Known: gemini, qwen, llxprt, claude, opencode/);
  rmSync(join(nvim.dirs.home, "bin/gemini")); // the doctor would run this program to read its version
  await nvim.command("checkhealth gemini-bridge");
  t.match(
    String(await nvim.lua("return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')")),
    /WARNING option terminal\.cli: Unknown CLI 'none'\. Known: gemini, qwen, llxprt, claude, opencode/,
  );
});

t.test("the plugin works without Gemini CLI and without any CLI", async (t) => {
  const nvim = await startWithClis(t, "clis = { gemini = false, llxprt = false }");
  await nvim.startBridge();
  t.match(
    await nvim.lua("return require('gemini-bridge').status().discovery_file"),
    /\.qwen\/ide\/\d+\.lock$/,
  );
  t.equal(await nvim.lua("return vim.env.GEMINI_CLI_IDE_SERVER_PORT"), null);
  await nvim.command("Gemini");
  t.match(await nvim.messages(), /Unknown CLI 'gemini'\. Known: qwen/);
  await nvim.stopBridge();
  await nvim.lua(
    "require('gemini-bridge').setup({ clis = { gemini = false, qwen = false, llxprt = false } })",
  );
  await nvim.startBridge();
  t.equal(await nvim.lua("return require('gemini-bridge').status().discovery_file"), null);
  t.same(readdirSync(join(nvim.dirs.home, ".qwen/ide")), []);
  await nvim.command("checkhealth gemini-bridge");
  t.notMatch(await nvim.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)"), /failed/);
});

t.test("a prompt goes to the CLI that the user has started", async (t) => {
  const nvim = await startWithClis(t, `clis = { ${OLA} }`);
  const program = join(nvim.dirs.home, "bin/ola");
  const rule = "─".repeat(20);
  writeFileSync(program, `#!/bin/sh\nprintf '${rule}\\n>   Ask me\\n${rule}\\n'\ncat\n`, { mode: 0o755 });
  await nvim.startBridge();
  await nvim.command("edit a.txt");
  await nvim.command("split | terminal ola");
  await nvim.waitFor("vim.api.nvim_buf_get_lines(0, 1, 2, false)[1] == '>   Ask me'", "its prompt");
  await nvim.command("wincmd p");
  await nvim.command("GeminiSend --text what is this?");
  await nvim.waitFor(
    "vim.iter(vim.api.nvim_list_bufs()):any(function(buf) return vim.bo[buf].buftype == 'terminal' and " +
      "table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false)):find('what is this', 1, true) ~= nil end)",
    "the prompt",
  );
  t.equal(await nvim.lua("return #require('gemini-bridge.terminal.terminals').list()"), 0, "none is opened");
});

t.test("an invalid entry of the option clis is reported and does not affect other entries", async (t) => {
  const nvim = await startWithClis(t);
  const bad: [clis: string, says: RegExp][] = [
    ["{ ola = {} }", /clis\.ola\.like is missing: set it to gemini, qwen, llxprt, claude or opencode$/],
    [
      '{ ola = { like = "none" } }',
      /clis\.ola\.like must be gemini, qwen, llxprt, claude or opencode, not "none"/,
    ],
    ["{ ola = { like = 7 } }", /clis\.ola\.like must be gemini, qwen, llxprt, claude or opencode, not 7/],
    ['{ qwen = { like = "gemini" } }', /clis\.qwen\.like cannot be changed for a known CLI/],
    ["{ qwen = true }", /clis\.qwen must be a table, or false/],
    [
      '{ qwen = { cmd = "qwen" } }',
      /clis\.qwen\.cmd must be a program and its arguments, as a list, not "qwen"/,
    ],
    ["{ qwen = { cmd = {} } }", /clis\.qwen\.cmd must be a program/],
    ["{ qwen = { args = { 1 } } }", /clis\.qwen\.args must be a list of arguments/],
    [
      '{ qwen = { directory = "relative" } }',
      /clis\.qwen\.directory must be a path that begins with "~\/" or "\/"/,
    ],
    ['{ qwen = { directory = "/a\\0b" } }', /clis\.qwen\.directory must be a path/],
    ['{ qwen = { file = "../{port}.lock" } }', /clis\.qwen\.file must be a file name that contains {port}/],
    ['{ qwen = { env = "a b" } }', /clis\.qwen\.env must be a prefix of variable names/],
    ['{ qwen = { label = "a\\nb" } }', /clis\.qwen\.label must be a name/],
    [
      '{ qwen = { colour = "red" } }',
      /clis\.qwen has no field colour; the fields are args, cmd, directory, env/,
    ],
    ['{ ["../x"] = { like = "qwen" } }', /clis\.\.\.\/x is not a valid name: use letters, digits, - and _/],
    ['{ "qwen" }', /^option clis must be a table of CLIs by name/],
    ["false", /^option clis must be a table of CLIs by name/],
  ];
  const set = "return require('gemini-bridge.config').set";
  const names = `return vim.tbl_map(function(cli) return cli.name end, require('gemini-bridge.config.clis').all())`;
  for (const [clis, says] of bad) {
    t.match(await nvim.lua(`${set}({ clis = ${clis} })`), [says], clis);
    t.same(
      await nvim.lua(names),
      ["gemini", "qwen", "llxprt", "claude", "opencode"],
      "what is known is as it was",
    );
  }
  await nvim.lua(`${set}({ clis = { one = {}, llxprt = false, ${OLA} } })`);
  t.same(await nvim.lua(names), ["gemini", "qwen", "claude", "opencode", "ola"]);
});
