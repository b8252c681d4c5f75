/** Tests the time limit of Git processes. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { runGit, streamGit } from "../../src/changes/commands/run-git.ts";
import { makeDirectory } from "../support/sandbox.ts";

const TIMEOUT_MS = 2_000;

t.test("Git is ended when it makes no progress, but not while its reader is slow", async (t) => {
  const cwd = makeDirectory(t);
  await runGit({ cwd, args: ["init", "-q"] });
  writeFileSync(join(cwd, "a.txt"), "a".repeat(1_000_000));
  const object = (await runGit({ cwd, args: ["hash-object", "-w", "a.txt"] })).trim();
  let length = 0;
  for await (const chunk of streamGit({ cwd, args: ["cat-file", "blob", object], timeout: TIMEOUT_MS })) {
    if (length === 0) await delay(TIMEOUT_MS + 500); // longer than the limit
    length += chunk.length;
  }
  t.equal(length, 1_000_000);

  async function* never(): AsyncGenerator<string> {
    await new Promise((resolve) => t.teardown(() => resolve(undefined)));
  }
  const waiting = runGit({ cwd, args: ["cat-file", "--batch"], input: never(), timeout: TIMEOUT_MS });
  await t.rejects(waiting, { message: /^git failed/ });
});
