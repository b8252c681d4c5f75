import {
  chmodSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import { RunningBridge } from "../support/bridge.ts";
import { type Nvim, type NvimOptions, startNvim } from "../support/nvim.ts";
import { descendants } from "../support/processes.ts";
import { makeDirectory, writeFiles } from "../support/sandbox.ts";
import { waitFor } from "../support/wait.ts";

/** Starts the bridge. Checks that the start fails and leaves nothing behind. */
async function refuses(t: Test, nvim: Nvim, message: RegExp): Promise<void> {
  await nvim.command("GeminiStart");
  await nvim.says(/did not start/);
  await nvim.bridgeIs("stopped");
  const messages = await nvim.messages();
  t.match(messages, message);
  t.equal(messages.match(/did not start/g)?.length, 1, "said once");
  t.notMatch(messages, /stack traceback|node_modules|\n\s+at /);
  t.equal(await nvim.lua("return vim.env.GEMINI_CLI_IDE_AUTH_TOKEN"), null);
  await waitFor(() => descendants(nvim.pid).length === 0, "the host to end");
  const tokens = readdirSync(nvim.dirs.base, { recursive: true, withFileTypes: true, encoding: "utf8" })
    .filter((entry) => entry.isFile())
    .filter((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8").includes("authToken"));
  t.same(tokens, [], "no token was written");
}

/** Starts the bridge. Checks that the bridge runs without a discovery file in the temporary directory, and says so. */
async function warns(t: Test, nvim: Nvim, message: RegExp): Promise<void> {
  await nvim.startBridge();
  const messages = await nvim.says(/Gemini CLI cannot find this Neovim/);
  t.match(messages, message);
  t.equal(messages.match(/cannot find this Neovim/g)?.length, 1, "said once");
  t.notMatch(messages, /stack traceback|node_modules|\n\s+at /);
  const files = readdirSync(nvim.dirs.tmp, { recursive: true, encoding: "utf8" });
  t.same(
    files.filter(
      (name) => /^gemini\/.*(json|tmp)$/.test(name) && statSync(join(nvim.dirs.tmp, name)).isFile(),
    ),
    [],
    "no token was written",
  );
  t.match(
    await nvim.lua("return vim.env.GEMINI_CLI_IDE_AUTH_TOKEN"),
    /./,
    "tools and hooks work in terminals",
  );
  await nvim.stopBridge();
}

/** Returns options for a Neovim whose host starts after a shell command such as `ulimit -f 0`. */
function behind(shell: string): NvimOptions {
  return {
    init: `
      local node = vim.fn.tempname()
      vim.fn.writefile({ '#!/bin/sh', ${JSON.stringify(shell)}, 'exec ${process.execPath} "$@"' }, node)
      vim.fn.setfperm(node, 'rwx------')
      require('gemini-bridge').setup({ node = node })`,
  };
}

t.test("Gemini CLI cannot find Neovim if the temporary directory does not exist", async (t) => {
  const nvim = await startNvim(t, behind("export TMPDIR=/nowhere/to/be/found"));
  await warns(t, nvim, /\/nowhere\/to\/be\/found does not exist; create it, or set TMPDIR/);
});

t.test("Gemini CLI cannot find Neovim if the temporary directory is not writable", async (t) => {
  // No user can create a directory here, not even root.
  const path = process.platform === "linux" ? "/proc/self" : "/dev/fd";
  const nvim = await startNvim(t, behind(`export TMPDIR=${path}`));
  await warns(t, nvim, /cannot create .*; set TMPDIR to a directory that you can write to/);
});

t.test("Gemini CLI cannot find Neovim if the disk is full", async (t) => {
  // With this limit on file sizes, the write fails as on a full disk. Needs no privileges.
  const nvim = await startNvim(t, behind("ulimit -f 0"));
  await warns(t, nvim, /cannot write the discovery file .* \(EFBIG\); the limit on file sizes is too low/);
  t.same(readdirSync(join(nvim.dirs.tmp, "gemini", "ide")), []);
});

t.test(
  "Gemini CLI cannot find Neovim if a file or link is in place of the discovery directory",
  async (t) => {
    const nvim = await startNvim(t);
    writeFileSync(join(nvim.dirs.tmp, "gemini"), "");
    await warns(t, nvim, /gemini is not a directory; remove it/);
    const other = await startNvim(t);
    symlinkSync(other.dirs.home, join(other.dirs.tmp, "gemini"));
    await warns(t, other, /gemini is a symbolic link; remove it/);
    t.same(readdirSync(other.dirs.home), []);
  },
);

t.test("Gemini CLI cannot find Neovim if a directory is in place of the discovery file", async (t) => {
  // The file's name contains the port and is not known in advance, so the host itself creates the directory.
  const nvim = await startNvim(t, {
    init: `
      local preload = vim.fn.tempname() .. '.cjs'
      vim.fn.writefile({
        "const fs = require('node:fs'), rename = fs.renameSync;",
        "fs.renameSync = (from, to) => { fs.mkdirSync(to + '/x', { recursive: true }); rename(from, to); };",
      }, preload)
      local node = vim.fn.tempname()
      vim.fn.writefile({ '#!/bin/sh', 'exec ${process.execPath} --require ' .. preload .. ' "$@"' }, node)
      vim.fn.setfperm(node, 'rwx------')
      require('gemini-bridge').setup({ node = node })`,
  });
  await warns(t, nvim, /cannot write the discovery file .*; (remove the directory|check this directory)/);
});

t.test("Gemini CLI cannot find Neovim if the discovery directory belongs to another user", async (t) => {
  const nvim = await startNvim(t, behind("export TMPDIR=/"));
  await warns(t, nvim, /(cannot create .*|\/gemini belongs to another user); set TMPDIR/);
});

t.test("the start fails if the program of the option `node` is missing or is not Node", async (t) => {
  const shim = join(makeDirectory(t), "shim/node");
  writeFiles(dirname(shim), {
    node: `#!/bin/sh
echo "No version is set for command node" >&2
echo "Consider adding one of the following versions in your config file at $PWD/.tool-versions" >&2
exit 126
`,
  });
  chmodSync(shim, 0o755);
  for (const [node, message] of [
    ["/nowhere/node", /cannot run \/nowhere\/node; .* install Node/],
    ["false", /did not start: exit code 1.*false, run in .*Set the option node/],
    [
      shim,
      /No version is set for command node Consider adding one of .*\/shim\/node, run in .*Set the option node/,
    ],
  ] as const) {
    const nvim = await startNvim(t, { init: `require('gemini-bridge').setup({ node = '${node}' })` });
    await refuses(t, nvim, message);
  }
});

t.test("a start succeeds in unusual environments", async (t) => {
  await t.test("a start succeeds without TMPDIR", async (t) => {
    const nvim = await startNvim(t, behind("unset TMPDIR"));
    const bridge = new RunningBridge(t, nvim);
    await nvim.command("GeminiStart");
    // On a machine with several users, this folder may belong to another user.
    const foreign = ["/tmp/gemini", "/tmp/gemini/ide"].find((path) => {
      const found = lstatSync(path, { throwIfNoEntry: false });
      return found && found.uid !== process.getuid?.();
    });
    if (foreign !== undefined) return nvim.says(`${foreign} belongs to another user; set TMPDIR`);
    await nvim.bridgeIs("running");
    const { discovery_file } = await bridge.status();
    t.match(discovery_file, /^\/tmp\/gemini\/ide\//);
    await nvim.stopBridge();
  });
  await t.test("a start succeeds in a deleted directory", async (t) => {
    const nvim = await startNvim(t);
    await nvim.lua("local d = vim.fn.tempname() vim.fn.mkdir(d) vim.cmd.cd(d) vim.fn.delete(d, 'd')");
    await nvim.startBridge();
  });
  await t.test("a start succeeds with few file descriptors", async (t) => {
    const nvim = await startNvim(t, behind("ulimit -n 64"));
    const bridge = new RunningBridge(t, nvim);
    await nvim.startBridge();
    const host = await bridge.host();
    const sockets = await import("node:net").then(({ connect }) =>
      Array.from({ length: 200 }, () => connect(bridge.file().port, "127.0.0.1").on("error", () => {})),
    );
    await waitFor(
      () => sockets.filter((socket) => !socket.connecting).length > 100,
      "more connections than it has",
    );
    for (const socket of sockets) socket.destroy();
    await bridge.client();
    t.equal(await bridge.host(), host, "the host has survived");
  });
});
