import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, realpathSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { z } from "zod";
import { startCliInNvim } from "../support/cli.ts";
import { readDiscovery } from "../support/client.ts";
import { startModel } from "../support/model.ts";
import { type Nvim, nvimBinary, root, startNvim } from "../support/nvim.ts";
import { isAlive, killAll } from "../support/processes.ts";
import { connectRpc } from "../support/rpc.ts";
import { makeDirs, makeEnv, removeDirs, withEnv, writeFiles } from "../support/sandbox.ts";
import { waitFor } from "../support/wait.ts";

const Outcome = z.object({
  pid: z.int(),
  idePid: z.int(),
  status: z.string(),
  details: z.string().optional(),
});

const START = `
local command, options = ...
return vim.fn.jobpid(vim.fn.jobstart({ 'sh', '-c', command .. '; true' }, vim.tbl_extend('keep', options, { pty = true })))
`;

let clients = 0;

/** Runs the CLI's own client below a shell of Neovim's, and tells what became of it. */
async function startClient(
  nvim: Nvim,
  { cwd = nvim.dirs.workspace, prefix = "" }: { cwd?: string; prefix?: string } = {},
): Promise<z.infer<typeof Outcome>> {
  const result = join(nvim.dirs.home, `client-${++clients}.json`);
  const script = join(import.meta.dirname, "fixtures/ide-client.mjs");
  await nvim.lua(START, `${prefix} '${process.execPath}' '${script}' '${result}'`, { cwd });
  await nvim.waitFor(() => existsSync(result), "the client's outcome", 20_000);
  return Outcome.parse(JSON.parse(readFileSync(result, "utf8")));
}

/** The report's sections by their names: each finding in a line, with its advice behind an arrow. */
async function examine(nvim: Nvim, pid?: number): Promise<Record<string, string>> {
  await nvim.command(`GeminiDoctor ${pid ?? ""}`);
  const lines = z
    .array(z.string())
    .parse(await nvim.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)"));
  await nvim.command("bwipeout!");
  const text = lines.join("\n").replace(/\n +- ADVICE:\n +- /g, " -> ");
  const sections = text.split(/^(?=Installation|Bridge|Running CLIs|A CLI started|Gemini CLI, process)/m);
  return Object.fromEntries(sections.map((section) => [/^[A-Za-z ]+\w/.exec(section)?.[0], section]));
}

const isRunning = "require('gemini-bridge').status().state == 'running'";

t.test("the doctor and the CLI's own client come to the same conclusion", async (t) => {
  const nvim = await startNvim(t, {
    files: { "a.txt": "", "sub/b.txt": "" },
    env: { REMOTE_CONTAINERS: "true" },
  });
  writeFiles(nvim.dirs.home, {
    ".gemini/settings.json":
      '{ // by hand\n "ide": { "enabled": true /* "enabled": false */ }, "url": "http://x" }',
  });

  await t.test("a stopped bridge", async (t) => {
    const { Bridge } = await examine(nvim);
    t.match(Bridge, /WARNING The bridge is stopped -> :GeminiStart/);
  });

  await nvim.command("GeminiStart");
  await nvim.waitFor(isRunning, "the bridge to run", 10_000);

  await t.test("all is well", async (t) => {
    const sections = await examine(nvim);
    for (const name of ["Installation", "Bridge"]) t.notMatch(sections[name], /ERROR|WARNING/, name);
    t.match(sections["Bridge"], /It answers on 127\.0\.0\.1:\d+/);
    t.match(sections["Bridge"], /which a CLI in :terminal takes for its editor/);
    t.match(sections["A CLI started in"], /takes this Neovim among the editors/);
    t.match(sections["A CLI started in"], /IDE mode is on in .*home\/\.gemini\/settings\.json/);
  });

  await t.test("a connected client, whose walk leads to the same process", async (t) => {
    const client = await startClient(nvim, { prefix: "env -u GEMINI_CLI_IDE_PID" });
    t.equal(client.status, "connected");
    const walked = await nvim.lua(
      "return require('gemini-bridge.doctor.processes').ide_pid(...)",
      client.pid,
    );
    t.equal(walked, client.idePid);
    t.equal(walked, readDiscovery(nvim.dirs.tmp)[0]?.pid);
    const { "Gemini CLI": cli } = await examine(nvim, client.pid);
    t.match(cli, /OK It is connected to this Neovim/);
    t.notMatch(cli, /ERROR/);
  });

  await t.test("an environment as ps prints it, for systems without /proc", async (t) => {
    const client = await startClient(nvim, {
      prefix: "env TMPDIR='/a b' GEMINI_CLI_IDE_PID=7 EMPTY= LAST='x  y'",
    });
    const printed = z
      .record(z.string(), z.string())
      .parse(
        await nvim.lua(
          "return require('gemini-bridge.doctor.processes').printed_environment(...)",
          client.pid,
        ),
      );
    t.match(printed, { TMPDIR: "/a b", GEMINI_CLI_IDE_PID: "7", LAST: "x  y", HOME: nvim.dirs.home });
    t.equal(printed["EMPTY"], "");
  });

  await t.test("shells upon shells", async (t) => {
    const client = await startClient(nvim, {
      prefix: "env -u GEMINI_CLI_IDE_PID sh -c '\"$@\"; :' sh sh -c '\"$@\"; :' sh",
    });
    const walk = "return require('gemini-bridge.doctor.processes').ide_pid(...)";
    t.equal(await nvim.lua(walk, client.pid), client.idePid);
    t.equal(client.status, "connected");
  });

  /** Cases in which the client does not connect: what the doctor says of it and what it advises. */
  const cases: [string, { cwd?: string; prefix?: string }, RegExp][] = [
    [
      "another TMPDIR",
      { prefix: "TMPDIR=/nowhere env -u GEMINI_CLI_IDE_SERVER_PORT" },
      /ERROR looks for editors in \/nowhere, .* -> start it with TMPDIR=\S+\/tmp,/,
    ],
    [
      "a directory outside the workspace",
      { cwd: realpathSync("/") },
      /ERROR runs in \/, which is outside the workspace \S+ -> start it in there, or :cd \//,
    ],
    [
      "IDE mode that is off for its project",
      { cwd: nvim.path("sub") },
      /ERROR IDE mode is off in \S+sub\/\.gemini\/settings\.json -> type `\/ide enable`/,
    ],
  ];
  writeFiles(nvim.dirs.workspace, { "sub/.gemini/settings.json": '{ "ide": { "enabled": false } }' });
  for (const [name, options, finding] of cases) {
    await t.test(name, async (t) => {
      const client = await startClient(nvim, options);
      // The client connects whatever the settings say: it is the CLI that asks them before.
      if (!name.startsWith("IDE mode")) t.equal(client.status, "disconnected", client.details ?? "");
      const { "Gemini CLI": cli } = await examine(nvim, client.pid);
      t.match(cli, finding);
    });
  }

  await t.test("a container", async (t) => {
    const client = await startClient(nvim, { prefix: "env -u REMOTE_CONTAINERS" });
    const { "Gemini CLI": cli } = await examine(nvim, client.pid);
    const told = /ERROR in a container it dials host\.docker\.internal .* -> start it by :Gemini/.test(
      cli ?? "",
    );
    const isContainer = ["/.dockerenv", "/run/.containerenv"].some((path) => existsSync(path));
    t.equal(told, isContainer);
    t.equal(client.status === "connected", !isContainer, client.details ?? "");
  });

  await t.test("another editor that wins, and a leftover", async (t) => {
    const directory = join(nvim.dirs.tmp, "gemini/ide");
    const other = {
      workspacePath: nvim.dirs.workspace,
      authToken: "x",
      ideInfo: { name: "x", displayName: "Other" },
    };
    const [own] = readDiscovery(nvim.dirs.tmp);
    if (!own) throw new Error("no discovery file");
    const winner = join(directory, `gemini-ide-server-${nvim.pid}-1.json`);
    writeFileSync(winner, JSON.stringify({ ...other, port: 1 }), { mode: 0o600 });
    writeFileSync(join(directory, "gemini-ide-server-4194999-2.json"), JSON.stringify({ ...other, port: 2 }));
    const prefix = `env -u GEMINI_CLI_IDE_SERVER_PORT GEMINI_CLI_IDE_PID=${nvim.pid}`;
    const client = await startClient(nvim, { prefix });
    t.equal(client.status, "disconnected");
    const { "Gemini CLI": cli, Bridge } = await examine(nvim, client.pid);
    t.match(cli, /ERROR takes another editor: Other, process \d+, port 1 -> start it by :Gemini/);
    t.match(Bridge, /WARNING \S+-4194999-2\.json is a leftover: process 4194999 is gone -> rm /);
    t.match(Bridge, new RegExp(`Another editor is announced: process ${nvim.pid}, port 1`));
    renameSync(winner, join(nvim.dirs.home, "winner"));
  });

  await t.test("a discovery file that others can read, or that is gone", async (t) => {
    const own = await nvim.lua("return require('gemini-bridge').status().discovery_file");
    await nvim.lua("vim.uv.fs_chmod(..., 420)", own);
    t.match((await examine(nvim))["Bridge"], /ERROR \S+ can be read by others \(mode 644\) -> chmod 600 /);
    await nvim.lua("vim.uv.fs_unlink(...)", own);
    t.match((await examine(nvim))["Bridge"], /ERROR \S+ is gone: no CLI finds this Neovim -> :GeminiRestart/);
  });

  await t.test("settings that are no JSON, and a process that is none", async (t) => {
    writeFiles(nvim.dirs.workspace, { ".gemini/settings.json": "{ oops" });
    t.match(
      (await examine(nvim))["A CLI started in"],
      /ERROR \S+settings\.json is no JSON object -> correct/,
    );
    t.match((await examine(nvim, 4194999))["Gemini CLI"], /ERROR There is no process 4194999/);
    await nvim.input(":GeminiDoctor me<CR>");
    t.match(await nvim.messages(), /:GeminiDoctor takes the process id of a running CLI/);
  });
});

t.test("the real CLI", async (t) => {
  const nvim = await startNvim(t);
  await nvim.command("GeminiStart");
  await nvim.waitFor(isRunning, "the bridge to run", 10_000);
  const cli = await startCliInNvim(t, nvim, {
    model: await startModel(t),
    env: { REMOTE_CONTAINERS: "true" },
  });
  await nvim.waitFor("#require('gemini-bridge').status().clients == 1", "the CLI to connect", 15_000);
  const pid = z
    .array(z.int())
    .min(1)
    .parse(await nvim.lua("return vim.api.nvim_get_proc_children(...)", cli.place.shell))[0];
  const offered = z
    .array(z.string())
    .parse(await nvim.lua("return vim.fn.getcompletion('GeminiDoctor ', 'cmdline')"));
  t.ok(offered.includes(String(pid)), "completion offers it");
  const { "Gemini CLI": report, "Running CLIs": running } = await examine(nvim, pid);
  t.match(running, new RegExp(`OK process ${pid}: .*, connected to this Neovim`));
  t.match(report, /OK Gemini CLI 0\.\d+\.\d+/, "its release is found from its command line");
  t.match(report, /OK It is connected to this Neovim/);
  t.notMatch(report, /ERROR|WARNING/);
});

t.test("a Neovim whose parent is init, as in a container", async (t) => {
  const dirs = makeDirs();
  const socket = join(dirs.base, "nvim");
  writeFiles(dirs.config, { "nvim/init.lua": `vim.opt.runtimepath:prepend(${JSON.stringify(root)})` });
  const command = withEnv({ ...makeEnv(dirs), REMOTE_CONTAINERS: "true" }, [
    nvimBinary(),
    "--headless",
    "--listen",
    socket,
  ]);
  // The shell ends at once; what it leaves behind becomes a child of init.
  execFileSync("sh", ["-c", '"$@" </dev/null >/dev/null 2>&1 &', "sh", ...command], { cwd: dirs.workspace });
  const client = await connectRpc(socket, new Promise(() => {}));
  const lua = (code: string, ...args: unknown[]) => client.request("nvim_exec_lua", [code, args]);
  const pid = Number(await lua("return vim.fn.getpid()"));
  t.teardown(async () => {
    client.notify("nvim_command", ["qa!"]);
    await waitFor(() => !isAlive(pid), "Neovim to end", 5000).catch(() => killAll([pid]));
    removeDirs(dirs);
  });
  await lua("vim.cmd.GeminiStart()");
  await waitFor(() => lua(`return ${isRunning}`), "the bridge to run", 10_000);
  const result = join(dirs.home, "client.json");
  const script = join(import.meta.dirname, "fixtures/ide-client.mjs");
  const prefix = "env -u GEMINI_CLI_IDE_PID";
  await lua(START, `${prefix} '${process.execPath}' '${script}' '${result}'`, { cwd: dirs.workspace });
  const outcome = await waitFor(
    () => Outcome.parse(JSON.parse(readFileSync(result, "utf8"))),
    result,
    20_000,
  );
  t.equal(outcome.idePid, readDiscovery(dirs.tmp)[0]?.pid);
  t.equal(
    outcome.idePid,
    await lua("return require('gemini-bridge.doctor.processes').above(vim.fn.getpid())"),
  );
  t.equal(outcome.status, "connected");
});
