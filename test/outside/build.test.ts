/**
 * Tests the build, and how the state of the bundle is determined. Each start needs this state, and hashes the sources
 * only if necessary. test/root/build.test.ts tests a read-only folder.
 */
import { appendFileSync, mkdirSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { type Nvim, startNvim } from "../support/nvim.ts";
import { copyPlugin, startCopy, useCopy } from "../support/plugin.ts";
import { makeDirectory } from "../support/sandbox.ts";

type Programs = Record<string, { link: string } | { script: string }>;

/**
 * Starts a Neovim with a copy of the plugin.
 * @param programs all programs on PATH. Default: the programs of the test
 */
async function startBeside(
  t: Test,
  programs?: Programs,
  env: Record<string, string> = {},
): Promise<{ nvim: Nvim; copy: string }> {
  const home = makeDirectory(t);
  const copy = copyPlugin(join(home, "gemini-bridge.nvim"));
  const bin = join(home, "bin");
  mkdirSync(bin);
  for (const [name, program] of Object.entries(programs ?? {})) {
    if ("link" in program) {
      symlinkSync(program.link, join(bin, name));
    } else {
      writeFileSync(join(bin, name), `#!/bin/sh\n${program.script}\n`, { mode: 0o755 });
    }
  }
  const nvim = await startNvim(t, { init: useCopy(copy), env: { ...(programs && { PATH: bin }), ...env } });
  return { nvim, copy };
}

/** Returns the error of `build.lua`, as a plugin manager would see it. */
function buildError(nvim: Nvim, copy: string): Promise<unknown> {
  return nvim.lua("return tostring(select(2, pcall(dofile, ...)))", join(copy, "build.lua"));
}

t.test("build.lua reports what is missing and gives advice", async (t) => {
  await t.test("a build without Node is refused with advice", async (t) => {
    const { nvim, copy } = await startBeside(t, {});
    t.equal(
      await buildError(nvim, copy),
      "gemini-bridge: node is not on PATH; install Node 20 or later, or set the option node",
    );
  });

  await t.test("a build with an old Node is refused with advice", async (t) => {
    const { nvim, copy } = await startBeside(t, { node: { script: "echo v18.19.0" } });
    t.match(
      await buildError(nvim, copy),
      /^gemini-bridge: \/\S+\/bin\/node is Node 18\.19\.0, which is too old; install Node 20 or later, or set the option node$/,
    );
  });

  await t.test("a build with a program that is not Node is refused with advice", async (t) => {
    const { nvim, copy } = await startBeside(t, { node: { script: "echo no version is set >&2; exit 126" } });
    t.equal(
      await buildError(nvim, copy),
      "gemini-bridge: `node --version` printed no version: no version is set; install Node 20 or later, or set the option node",
    );
  });

  await t.test("a build without npm is refused with advice", async (t) => {
    const { nvim, copy } = await startBeside(t, { node: { link: process.execPath } });
    t.match(await buildError(nvim, copy), /^gemini-bridge: npm is not on PATH/);
  });

  await t.test("a build reports a failure of npm", async (t) => {
    const { nvim, copy } = await startBeside(t);
    writeFileSync(join(copy, "package-lock.json"), "{ this is no JSON");
    const error = String(await buildError(nvim, copy));
    t.match(error, /^gemini-bridge: installing packages failed \(npm ci\):\n/);
    t.match(error, /npm error/, "with npm's own words");
  });

  await t.test("a build without a network connection reports the failure", async (t) => {
    const { nvim, copy } = await startBeside(t, undefined, { npm_config_registry: "http://127.0.0.1:9/" });
    const error = String(await buildError(nvim, copy));
    t.match(error, /npm cannot reach its registry: check the network/);
  });

  for (const [code, advice] of [
    ["SELF_SIGNED_CERT_IN_CHAIN", /set NODE_EXTRA_CA_CERTS to that of your proxy, then restart Neovim$/],
    ["EAI_AGAIN", /npm cannot reach its registry: check the network/],
  ] as const) {
    await t.test(`a build that fails with ${code} is refused with advice`, async (t) => {
      const npm = { script: `echo 'npm error code ${code}' >&2; exit 1` };
      const { nvim, copy } = await startBeside(t, { node: { link: process.execPath }, npm });
      t.match(await buildError(nvim, copy), advice);
    });
  }
});

t.test("sources with newer times but the same content are hashed only once", async (t) => {
  const { stamp, source, state } = await startCopy(t);
  t.equal(await state(), "current");
  const remembered = statSync(stamp).mtimeMs;
  t.ok(remembered >= statSync(source).mtimeMs, "and that is remembered");
  // The modification time stays the same, so only hashing can detect this change.
  appendFileSync(source, "\n");
  utimesSync(source, new Date(remembered - 1_000), new Date(remembered - 1_000));
  t.equal(await state(), "current", "nothing is hashed again");
  t.equal(statSync(stamp).mtimeMs, remembered);
  utimesSync(source, new Date(remembered + 10), new Date(remembered + 10));
  t.equal(await state(), "stale", "what is written later is seen");
  t.equal(await state(), "stale");
});
