/** Tests how the state of the bundle is determined: each start needs it, and hashes the sources only if necessary. */
import { spawnSync } from "node:child_process";
import { appendFileSync, cpSync, mkdtempSync, realpathSync, rmSync, statSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { root, startNvim } from "../support/nvim.ts";
import { copyPlugin, useCopy } from "../support/plugin.ts";

const mount = (...words: string[]) => spawnSync("mount", words).status === 0;

/** Starts a copy of the built plugin, whose sources are newer than the bundle but unchanged. */
async function startCopy(t: Test) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "gb-build-")));
  const copy = copyPlugin(join(base, "gemini-bridge.nvim"));
  const dist = join(copy, "dist");
  let mounted = false;
  t.teardown(() => {
    if (mounted) spawnSync("umount", [dist]);
    rmSync(base, { recursive: true });
  });
  const stamp = join(dist, "sources.sha256");
  cpSync(join(root, "dist"), dist, { recursive: true });
  const built = new Date(Date.now() - 60_000);
  for (const name of ["gemini-bridge.cjs", "sources.sha256"]) utimesSync(join(dist, name), built, built);
  const nvim = await startNvim(t, { init: useCopy(copy) });
  return {
    stamp,
    built,
    source: join(copy, "src", "index.ts"),
    /** Only root can: the owner may change a date wherever the file system may be written to. */
    makeReadOnly() {
      mounted = mount("--bind", dist, dist);
      return mounted && mount("-o", "remount,bind,ro", dist);
    },
    state: () => nvim.lua("return require('gemini-bridge.host.bundle').state()"),
  };
}

t.test("newer but unchanged sources are hashed once", async (t) => {
  const { stamp, source, state } = await startCopy(t);
  t.equal(await state(), "current");
  const remembered = statSync(stamp).mtimeMs;
  t.ok(remembered >= statSync(source).mtimeMs, "and that is remembered");
  // Only hashing can detect this change, because the modification time stays the same.
  appendFileSync(source, "\n");
  utimesSync(source, new Date(remembered - 1_000), new Date(remembered - 1_000));
  t.equal(await state(), "current", "nothing is hashed again");
  t.equal(statSync(stamp).mtimeMs, remembered);
  utimesSync(source, new Date(remembered + 10), new Date(remembered + 10));
  t.equal(await state(), "stale", "what is written later is seen");
  t.equal(await state(), "stale");
});

t.test("in a read-only folder, the sources are hashed each time", async (t) => {
  const { makeReadOnly, stamp, built, source, state } = await startCopy(t);
  if (!makeReadOnly()) return t.comment("nothing can be mounted here");
  t.equal(await state(), "current");
  t.equal(await state(), "current");
  t.ok(Math.abs(statSync(stamp).mtimeMs - built.getTime()) < 1);
  appendFileSync(source, "\n");
  t.equal(await state(), "stale");
});
