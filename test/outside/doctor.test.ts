import { chmodSync, existsSync, realpathSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { z } from "zod";
import { macos } from "../../src/system/macos.ts";
import { platform } from "../../src/system/platform.ts";
import { familyOf } from "../../src/system/processes.ts";
import { readDiscovery } from "../support/client.ts";
import { examine, START, startClient } from "../support/doctor.ts";
import { startNvim } from "../support/nvim.ts";
import { writeFiles } from "../support/sandbox.ts";

t.test("the doctor and the CLI's own client agree about each setup", async (t) => {
  const nvim = await startNvim(t, {
    files: { "a.txt": "", "sub/b.txt": "" },
    env: { REMOTE_CONTAINERS: "true" },
  });
  writeFiles(nvim.dirs.home, {
    ".gemini/settings.json":
      '{ // by hand\n "ide": { "enabled": true /* "enabled": false */ }, "url": "http://x" }',
  });

  await t.test("the doctor reports a stopped bridge", async (t) => {
    const { Bridge } = await examine(nvim);
    t.match(Bridge, /WARNING The bridge is stopped -> :GeminiStart/);
  });

  await nvim.startBridge();

  await t.test("the doctor reports no problem in a working setup", async (t) => {
    const sections = await examine(nvim);
    for (const name of ["Installation", "Bridge"]) t.notMatch(sections[name], /ERROR|WARNING/, name);
    t.match(sections["Bridge"], /The bridge answers on 127\.0\.0\.1:\d+/);
    t.match(sections["Bridge"], /as a CLI in :terminal expects/);
    t.match(sections["A CLI started in"], /chooses this Neovim/);
    t.match(sections["A CLI started in"], /IDE mode is on in .*home\/\.gemini\/settings\.json/);
  });

  await t.test(
    "the doctor reports a connected client, and both find the same process of the editor",
    async (t) => {
      const client = await startClient(nvim, { prefix: "env -u GEMINI_CLI_IDE_PID" });
      t.equal(client.status, "connected");
      const walked = platform.editorProcess(await platform.processes(), client.pid);
      t.equal(walked, client.idePid);
      t.equal(walked, readDiscovery(nvim.dirs.tmp)[0]?.pid);
      const { "Gemini CLI": cli } = await examine(nvim, client.pid);
      t.match(cli, /OK The CLI is connected to this Neovim/);
      t.notMatch(cli, /ERROR/);
    },
  );

  await t.test("the doctor reads the environment of a CLI from ps on systems without /proc", async (t) => {
    const client = await startClient(nvim, {
      prefix: "env TMPDIR='/a b' GEMINI_CLI_IDE_PID=7 EMPTY= LAST='x  y'",
    });
    const printed = await macos.environment(client.pid);
    t.match(printed, { TMPDIR: "/a b", GEMINI_CLI_IDE_PID: "7", LAST: "x  y", HOME: nvim.dirs.home });
    t.equal(printed?.["EMPTY"], "");
  });

  await t.test("the doctor finds a CLI below several shells", async (t) => {
    const client = await startClient(nvim, {
      prefix: "env -u GEMINI_CLI_IDE_PID sh -c '\"$@\"; :' sh sh -c '\"$@\"; :' sh",
    });
    t.equal(platform.editorProcess(await platform.processes(), client.pid), client.idePid);
    t.equal(client.status, "connected");
  });

  /** Cases in which the client does not connect. Each has the expected finding and advice of the doctor. */
  const cases: [string, { cwd?: string; prefix?: string }, RegExp][] = [
    [
      "another TMPDIR",
      { prefix: "TMPDIR=/nowhere env -u GEMINI_CLI_IDE_SERVER_PORT" },
      /ERROR The CLI looks for editors in \/nowhere, .* -> start the CLI with TMPDIR=\S+\/tmp,/,
    ],
    [
      "a directory outside the workspace",
      { cwd: realpathSync("/") },
      /ERROR The CLI runs in \/, which is outside of the workspace \S+ -> start the CLI in the workspace, or run :cd \/ in Neovim/,
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
      // The client connects with any settings, because only the complete CLI checks the settings first.
      if (!name.startsWith("IDE mode")) t.equal(client.status, "disconnected", client.details ?? "");
      const { "Gemini CLI": cli } = await examine(nvim, client.pid);
      t.match(cli, finding);
    });
  }

  await t.test("the doctor reports a CLI with another TMPDIR, even if its tools are connected", async (t) => {
    writeFiles(nvim.dirs.home, {
      "bin/gemini.js":
        "require('net').connect(+process.argv[2], '127.0.0.1'); setInterval(() => {}, 60_000);",
    });
    const port = readDiscovery(nvim.dirs.tmp)[0]?.port;
    const program = join(nvim.dirs.home, "bin/gemini.js");
    const shell = await nvim.lua(START, `TMPDIR=/nowhere '${process.execPath}' '${program}' ${port}`, {});
    const cli = await nvim.waitFor(async () => {
      const family = familyOf(await platform.processes(), z.int().parse(shell));
      const [connection] = await platform.connections(family, [port ?? 0]);
      return connection && family.at(-1);
    }, "its connection");
    const { "Gemini CLI": report, "Running CLIs": running } = await examine(nvim, Number(cli));
    t.match(report, /WARNING The CLI is not connected to this Neovim/);
    t.match(running, new RegExp(`process ${cli}: .*gemini\\.js \\d+, not connected to this Neovim`));
  });

  await t.test("the doctor reports that the CLI needs a variable in a container", async (t) => {
    const client = await startClient(nvim, { prefix: "env -u REMOTE_CONTAINERS" });
    const { "Gemini CLI": cli } = await examine(nvim, client.pid);
    const told =
      /ERROR The CLI runs in a container, and connects to host\.docker\.internal .* -> start the CLI with :Gemini/.test(
        cli ?? "",
      );
    const isContainer = ["/.dockerenv", "/run/.containerenv"].some((path) => existsSync(path));
    t.equal(told, isContainer);
    t.equal(client.status === "connected", !isContainer, client.details ?? "");
  });

  await t.test("the doctor reports that a CLI chooses another editor", async (t) => {
    const winner = join(nvim.dirs.tmp, `gemini/ide/gemini-ide-server-${nvim.pid}-1.json`);
    const other = {
      workspacePath: nvim.dirs.workspace,
      authToken: "x",
      ideInfo: { name: "x", displayName: "Other" },
      port: 1,
    };
    writeFileSync(winner, JSON.stringify(other), { mode: 0o600 });
    const prefix = `env -u GEMINI_CLI_IDE_SERVER_PORT GEMINI_CLI_IDE_PID=${nvim.pid}`;
    const client = await startClient(nvim, { prefix });
    t.equal(client.status, "disconnected");
    const { "Gemini CLI": cli } = await examine(nvim, client.pid);
    t.match(
      cli,
      /ERROR The CLI chooses another editor: Other, process \d+, port 1 -> start the CLI with :Gemini/,
    );
    renameSync(winner, join(nvim.dirs.home, "winner"));
  });

  await t.test("the doctor reports a missing discovery file, and one that others can read", async (t) => {
    const own = await nvim.lua("return require('gemini-bridge').status().discovery_file");
    await nvim.lua("vim.uv.fs_chmod(..., 420)", own);
    t.match(
      (await examine(nvim))["Bridge"],
      /ERROR \S+ contains a token, but can be read by others \(mode 644\) -> chmod 600 /,
    );
    // Creates a directory at this path. The host would restore a missing file.
    await nvim.lua("vim.uv.fs_unlink(...) vim.uv.fs_mkdir(..., 448)", own);
    t.match(
      (await examine(nvim))["Bridge"],
      /ERROR \S+ is missing, so that Gemini CLI cannot find this Neovim -> :GeminiRestart/,
    );
  });

  await t.test("the doctor reports a discovery file in a directory that cannot be read", async (t) => {
    const directory = join(nvim.dirs.tmp, "gemini/ide");
    chmodSync(directory, 0);
    const sections = await examine(nvim);
    chmodSync(directory, 0o700);
    t.match(
      sections["Bridge"],
      /ERROR \S+ is missing, so that Gemini CLI cannot find this Neovim -> :GeminiRestart/,
    );
  });

  await t.test("the doctor reports invalid settings and an invalid process id", async (t) => {
    writeFiles(nvim.dirs.workspace, { ".gemini/settings.json": "{ oops" });
    t.match(
      (await examine(nvim))["A CLI started in"],
      /ERROR \S+settings\.json is not a JSON object -> correct/,
    );
    t.match((await examine(nvim, 4194999))["Gemini CLI"], /ERROR There is no process 4194999/);
    for (const word of ["me", "0", "-1", "12.5", "nan", "1e3", "99999999999999999999"]) {
      await nvim.command("messages clear");
      await nvim.input(`:GeminiDoctor ${word}<CR>`);
      t.match(await nvim.messages(), /Usage: :GeminiDoctor \[process id of a running CLI\]/, word);
    }
  });
});
