import { appendFileSync, mkdirSync, rmSync, symlinkSync, utimesSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { RunningBridge } from "../support/bridge.ts";
import { root, startNvim } from "../support/nvim.ts";
import { copyPlugin, useCopy } from "../support/plugin.ts";
import { makeDirectory } from "../support/sandbox.ts";

t.test("the bridge runs after the first use, and after an update without a build", async (t) => {
  const home = makeDirectory(t);
  const copy = copyPlugin(join(home, "gemini-bridge.nvim"));
  // As in a developer's clone, the packages exist and only the bundle is missing.
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  const nvim = await startNvim(t, { init: useCopy(copy) });

  await nvim.input(":GeminiStart<CR>");
  await nvim.says(/The bridge did not start: it is not built yet; run :GeminiBuild/);
  t.equal(await nvim.lua("return require('gemini-bridge').status().state"), "stopped");

  await nvim.command("GeminiBuild");
  await nvim.bridgeIs("running");
  t.match(await nvim.messages(), /Build step 1 of 1: bundling\ngemini-bridge: The build is complete/);

  await nvim.stopBridge();
  const source = join(copy, "src/base/log.ts");
  const later = Date.now() / 1000 + 10;
  utimesSync(source, later, later);
  t.equal(
    await nvim.lua("return require('gemini-bridge.host.bundle').state()"),
    "current",
    "only its time changed",
  );
  appendFileSync(source, "// changed\n");
  utimesSync(source, later + 10, later + 10);
  await nvim.command("messages clear");
  await nvim.input(":GeminiStart<CR>");
  await nvim.says(/it was updated but not rebuilt; run :GeminiBuild/);
  await nvim.command("GeminiBuild");
  await nvim.bridgeIs("running");

  await new RunningBridge(t, nvim).replaceHost(() => nvim.command("GeminiBuild"));
  rmSync(join(copy, "node_modules"));
});

t.test("a Node that is not on PATH can build and run the bridge", async (t) => {
  const home = makeDirectory(t);
  const copy = copyPlugin(join(home, "gemini-bridge.nvim"));
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  const node = join(home, "node/node");
  mkdirSync(join(home, "node"));
  symlinkSync(process.execPath, node);
  symlinkSync(join(process.execPath, "../npm"), join(home, "node/npm"));
  const nvim = await startNvim(t, {
    init: `${useCopy(copy)}\nrequire("gemini-bridge").setup({ node = ${JSON.stringify(node)} })`,
    env: { PATH: join(home, "bin") },
  });
  await nvim.input(":GeminiStart<CR>");
  await nvim.command("GeminiBuild");
  await nvim.bridgeIs("running");
  rmSync(join(copy, "node_modules"));
});
