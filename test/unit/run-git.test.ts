/** Tests the time limit of Git processes, and what is said where Git is missing or too old. */
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { runGit, streamGit } from "../../src/changes/commands/run-git.ts";
import { ChangesHost } from "../support/changes.ts";
import { makeDirectory } from "../support/sandbox.ts";
import { setEnv } from "../support/temporary.ts";

const TIMEOUT_MS = 2_000;

t.test("without Git 2.32, the user is told once that commands are not compared", async (t) => {
  const PATH = process.env["PATH"];
  const host = new ChangesHost(t);
  const tool = { kind: "shell", name: "run_shell_command", command: "x" } as const;
  const old = makeDirectory(t);
  writeFileSync(join(old, "git"), "#!/bin/sh\necho git version 2.31.9\n");
  chmodSync(join(old, "git"), 0o755);
  for (const path of [old, makeDirectory(t), PATH]) {
    setEnv(t, { PATH: path });
    host.write("a.txt", "one\n");
    await host.tell({ kind: "tool_starting", tool });
    host.write("a.txt", "two\n");
    await host.tell({ kind: "tool_ended", tool, failed: false });
    await host.tell({ kind: "turn_ended" });
    t.equal(host.shown.size, path === PATH ? 1 : 0);
  }
  const told = host.messages();
  t.equal(told.length, 1);
  t.match(told, [/shell commands are not compared without Git 2\.32 or later/]);
});

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
