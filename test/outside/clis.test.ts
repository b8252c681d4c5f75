/** Tests one editor with several CLIs: their discovery files, their tokens, and `:Gemini cli=…`. */
import {
  chmodSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import t from "tap";
import { z } from "zod";
import { RunningBridge } from "../support/bridge.ts";
import { connectClient } from "../support/client.ts";
import { OLA, startWithClis } from "../support/clis.ts";
import type { Nvim } from "../support/nvim.ts";
import { waitFor } from "../support/wait.ts";

const Lock = z.object({ port: z.int(), authToken: z.string(), ppid: z.int(), ideName: z.string() });

const ide = (nvim: Nvim, folder: string) => join(nvim.dirs.home, folder, "ide");
const lockOf = (nvim: Nvim, folder: string) => {
  const [name = ""] = readdirSync(ide(nvim, folder));
  const path = join(ide(nvim, folder), name);
  return { path, ...Lock.parse(JSON.parse(readFileSync(path, "utf8"))) };
};

t.test(
  "each CLI has its own discovery file and token, and all discovery files are removed together",
  async (t) => {
    const nvim = await startWithClis(t, `clis = { llxprt = false, ${OLA} }`);
    await nvim.startBridge();
    const locks = { qwen: lockOf(nvim, ".qwen"), ola: lockOf(nvim, ".ola") };
    t.not(locks.qwen.authToken, locks.ola.authToken);
    t.match(locks.qwen, { ideName: "Neovim (workspace)", ppid: await nvim.lua("return vim.fn.getpid()") });
    t.same(readdirSync(nvim.dirs.tmp).includes("llxprt"), false, "one that is switched off");
    t.equal(await nvim.lua("return vim.env.LLXPRT_CODE_IDE_SERVER_PORT"), null);
    t.equal(await nvim.lua("return vim.env.OLA_CODE_IDE_SERVER_PORT"), String(locks.ola.port));
    const printed = String(await nvim.lua("return vim.fn.execute('GeminiEnv')"));
    for (const name of [
      "GEMINI_CLI_IDE_AUTH_TOKEN",
      "QWEN_CODE_IDE_WORKSPACE_PATH",
      "OLA_CODE_IDE_SERVER_PORT",
    ])
      t.match(printed, new RegExp(`^export ${name}=`, "m"));

    for (const { port, authToken } of Object.values(locks))
      await connectClient(t, { port, token: authToken });
    const known =
      "vim.tbl_map(function(client) return client.cli end, require('gemini-bridge').status().clients)";
    await nvim.waitFor(`#${known} == 2`, "both");
    t.same(
      z
        .array(z.string())
        .parse(await nvim.lua(`return ${known}`))
        .sort(),
      ["ola", "qwen"],
    );
    t.equal(
      await nvim.lua("return require('gemini-bridge').statusline()"),
      "Gemini: connected (Qwen Code, ola)",
    );

    const old = new Date(Date.now() - 60_000);
    utimesSync(locks.qwen.path, old, old);
    await nvim.lua("vim.api.nvim_exec_autocmds('FocusGained', {})");
    await nvim.waitFor(async () => statSync(locks.qwen.path).mtimeMs > old.getTime() + 1, "a new date");

    await new RunningBridge(t, nvim).replaceHost();
    t.equal(lockOf(nvim, ".qwen").authToken, locks.qwen.authToken, "known to the clients still");
    process.kill(Number(await nvim.lua("return vim.fn.getpid()")), "SIGKILL");
    for (const folder of [".qwen", ".ola"])
      await t.resolves(waitFor(() => readdirSync(ide(nvim, folder)).length === 0, `${folder} to be empty`));
  },
);

t.test("two Neovims do not overwrite each other's discovery files", async (t) => {
  const nvim = await startWithClis(t);
  await nvim.startBridge();
  const other = await startWithClis(t, "", { QWEN_HOME: join(nvim.dirs.home, ".qwen") });
  await other.startBridge();
  t.equal(readdirSync(ide(nvim, ".qwen")).length, 2);
  process.kill(other.pid, "SIGKILL");
  await waitFor(() => readdirSync(ide(nvim, ".qwen")).length === 1, "the files of one to go");
  const { path } = lockOf(nvim, ".qwen");
  t.equal(lockOf(nvim, ".qwen").ppid, nvim.pid, "of that one only");

  const others = JSON.stringify({ port: 1, ideInfo: { name: "vscode", displayName: "VS Code" } });
  writeFileSync(`${path}.new`, others);
  renameSync(`${path}.new`, path);
  const host = Number(await nvim.lua("return require('gemini-bridge').status().pid"));
  process.kill(host, "SIGKILL");
  await nvim.says(/Qwen Code cannot find this Neovim: \S+\.lock belongs to another editor/);
  await nvim.stopBridge();
  t.equal(readFileSync(path, "utf8"), others, "it is as it was");
});

t.test("a discovery file that cannot be written does not affect other CLIs", async (t) => {
  const nvim = await startWithClis(t);
  chmodSync(join(nvim.dirs.home, ".qwen"), 0o777);
  await nvim.startBridge();
  await nvim.says(/Qwen Code cannot find this Neovim: anyone may rename/);
  t.ok(await nvim.lua("return require('gemini-bridge').status().discovery_file"));
});

t.test(":Gemini runs the chosen CLI with its arguments", async (t) => {
  const nvim = await startWithClis(t, `terminal = { cli = "qwen" }, clis = { ${OLA} }`);
  const file = join(nvim.dirs.home, "run");
  const ran = async (line: string) => {
    writeFileSync(file, "");
    await nvim.command(line);
    await nvim.waitFor(async () => readFileSync(file, "utf8").endsWith("\n"), line);
    return readFileSync(file, "utf8")
      .trim()
      .replace(/^.*\/bin\//, "");
  };
  t.equal(await ran("Gemini!"), "qwen --approval-mode default", "it is to ask");
  t.equal(await nvim.lua("return vim.b.gemini_terminal"), "qwen");
  t.equal(await ran("Gemini! --approval-mode=plan"), "qwen --approval-mode=plan", "unless the user says how");
  t.equal(await ran("Gemini! -y"), "qwen -y");
  t.equal(await ran("Gemini cli=gemini name=other -m flash"), "gemini -m flash");
  t.equal(await nvim.lua("return vim.b.gemini_terminal"), "other");
  t.equal(await ran("Gemini cli=ola"), "ola --approval-mode default");
  t.equal(await nvim.lua("return vim.b.gemini_terminal"), "ola");
  await nvim.command("Gemini cli=none");
  t.match(await nvim.messages(), /Unknown CLI 'none'\. Known: gemini, qwen, llxprt, claude, opencode, ola/);
  await nvim.command("messages clear");
  const windows = await nvim.lua("return #vim.api.nvim_list_wins()");
  await nvim.command("Gemini! cli=");
  t.match(
    await nvim.messages(),
    /:Gemini: Unknown CLI ''\. Known: gemini, qwen, llxprt, claude, opencode, ola/,
  );
  await nvim.command("Gemini! name=");
  t.match(await nvim.messages(), /:Gemini: name= must be followed by a name/);
  t.equal(await nvim.lua("return #vim.api.nvim_list_wins()"), windows, "nothing was started");
  t.same(await nvim.lua("return vim.fn.getcompletion('Gemini cli=', 'cmdline')"), [
    "cli=gemini",
    "cli=qwen",
    "cli=llxprt",
    "cli=claude",
    "cli=opencode",
    "cli=ola",
  ]);
  await nvim.lua(`require('gemini-bridge').setup({
    terminal = { cli = "qwen", cmd = { "ola", "--mine" } }, clis = { gemini = { args = { "--sandbox" } } } })`);
  t.equal(await ran("Gemini!"), "ola --mine --approval-mode default", "terminal.cmd wins");
  t.equal(await ran("Gemini! cli=gemini"), "gemini --sandbox");
});
