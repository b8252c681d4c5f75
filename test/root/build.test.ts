/**
 * Tests the state of the bundle in a read-only folder. Only root can mount such a folder. See also
 * test/outside/build.test.ts.
 */
import { execFileSync } from "node:child_process";
import { appendFileSync, statSync } from "node:fs";
import t from "tap";
import { startCopy } from "../support/plugin.ts";

t.test("in a read-only folder, the sources are hashed each time", async (t) => {
  const { dist, stamp, built, source, state } = await startCopy(t);
  execFileSync("mount", ["--bind", dist, dist]);
  t.teardown(() => execFileSync("umount", [dist]));
  execFileSync("mount", ["-o", "remount,bind,ro", dist]);
  t.equal(await state(), "current");
  t.equal(await state(), "current");
  t.ok(Math.abs(statSync(stamp).mtimeMs - built.getTime()) < 1, "its date stays");
  appendFileSync(source, "\n");
  t.equal(await state(), "stale");
});
