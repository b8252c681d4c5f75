/** Tests the doctor's report about the plugin: Node, the build, and the host. */
import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { platform } from "../../src/system/platform.ts";
import { examine, startClient } from "../support/doctor.ts";
import { root, startNvim } from "../support/nvim.ts";
import { copyPlugin, useCopy } from "../support/plugin.ts";
import { makeDirectory } from "../support/sandbox.ts";

t.test("the doctor reports a missing Node part", async (t) => {
  const copy = copyPlugin(join(makeDirectory(t), "gemini-bridge.nvim"));
  const nvim = await startNvim(t, { init: useCopy(copy) });
  t.match((await examine(nvim))["Installation"], /ERROR The Node part is not built yet -> :GeminiBuild/);
  t.same(await nvim.lua("return vim.fn.getcompletion('GeminiDoctor ', 'cmdline')"), []);
});

t.test("the doctor reports a release without its Node part", async (t) => {
  const copy = copyPlugin(join(makeDirectory(t), "gemini-bridge.nvim"));
  rmSync(join(copy, "src"), { recursive: true });
  const nvim = await startNvim(t, { init: useCopy(copy) });
  const { Installation } = await examine(nvim);
  t.match(Installation, /ERROR dist\/gemini-bridge\.cjs is missing -> install the plugin again/);
  t.notMatch(Installation, /built/);
});

t.test("the doctor reports a missing Node", async (t) => {
  const cases: [string, RegExp][] = [
    ["no-such-node", /ERROR no-such-node is not on PATH -> install Node 20 or later, or set the option node/],
    ["old", /ERROR \S+\/old is Node 18\.19\.0, which is too old -> install Node 20/],
    [
      "other",
      /ERROR The doctor failed: SyntaxError: of another world -> run `\S+\/other \S+\/doctor\.cjs` in a shell/,
    ],
  ];
  const bin = join(makeDirectory(t), "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "old"), "#!/bin/sh\necho v18.19.0\n", { mode: 0o755 });
  const other =
    '#!/bin/sh\n[ "$1" = --version ] && echo v99.0.0 && exit\necho "SyntaxError: of another world" >&2; exit 1\n';
  writeFileSync(join(bin, "other"), other, { mode: 0o755 });
  for (const [node, says] of cases) {
    const path = node.startsWith("no") ? node : join(bin, node);
    const nvim = await startNvim(t, {
      init: `require('gemini-bridge').setup({ node = ${JSON.stringify(path)} })`,
    });
    t.match((await examine(nvim))["Installation"], says);
    await nvim.close();
  }
});

/** Creates a copy of the plugin that can be built. */
function buildable(t: Test): { copy: string; build: () => void } {
  const copy = copyPlugin(join(makeDirectory(t), "gemini-bridge.nvim"));
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  const build = () => {
    execFileSync(process.execPath, ["scripts/build.mjs"], { cwd: copy, stdio: "ignore" });
  };
  build();
  return { copy, build };
}

t.test("the doctor reports an update of the plugin while an older bridge runs", async (t) => {
  const { copy, build } = buildable(t);
  const nvim = await startNvim(t, { init: useCopy(copy) });
  await nvim.startBridge();
  const before = await examine(nvim);
  t.match(before["Installation"], /OK The Node part is built/);
  t.match(before["Bridge"], /OK The bridge runs in process \d+/);

  appendFileSync(join(copy, "src/base/log.ts"), "// changed\n");
  t.match(
    (await examine(nvim))["Installation"],
    /ERROR The Node part was updated but not rebuilt -> :GeminiBuild/,
  );

  build();
  const after = await examine(nvim);
  t.match(after["Installation"], /OK The Node part is built/);
  t.match(
    after["Bridge"],
    /WARNING The bridge, process \d+, is older than the last update -> :GeminiRestart/,
  );

  await nvim.command("GeminiRestart");
  await nvim.bridgeIs("running");
  t.match((await examine(nvim))["Bridge"], /OK The bridge runs in process \d+/);
});

t.test("the doctor asks to restart a CLI that was started too early", async (t) => {
  const nvim = await startNvim(t, { env: { REMOTE_CONTAINERS: "true" } });
  const client = await startClient(nvim);
  t.equal(client.status, "disconnected");
  const seconds = async () => (await platform.processes()).get(client.pid)?.seconds ?? 0;
  await nvim.waitFor(async () => (await seconds()) >= 2, "the client to be older than what is started now");
  await nvim.startBridge();
  t.match(
    (await examine(nvim, client.pid))["Gemini CLI"],
    /WARNING The CLI is not connected to this Neovim -> restart the CLI, because it was started before the bridge;/,
  );
});

t.test('the doctor examines host = "shared"', async (t) => {
  const shared = "require('gemini-bridge').setup({ host = 'shared' })\n";
  const host = `vim.g.node_host_prog = ${JSON.stringify(join(root, "node_modules/neovim/bin/cli.js"))}\n`;

  await t.test("the doctor says how to register the shared host", async (t) => {
    const nvim = await startNvim(t, { init: host + shared });
    const says = async () => (await examine(nvim))["Installation"];
    t.match(
      await says(),
      /ERROR .* is not registered -> run `npm install -g neovim`, then :UpdateRemotePlugins, then restart/,
    );
    await nvim.command("UpdateRemotePlugins");
    await nvim.lua("vim.cmd.source(vim.g.loaded_remote_plugins)"); // as at the start of Neovim
    t.match(await says(), /OK host = "shared": the remote plugin is registered/, "before it is first called");
    t.notMatch(await says(), /ERROR/);
  });
});
