import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { createLog } from "../../src/base/log.ts";
import { makeDirectory } from "../support/sandbox.ts";

function place(t: Test): string {
  const folder = makeDirectory(t);
  return join(folder, "state", "bridge.log");
}

t.test("a log of the maximum size is renamed, also while several processes write", async (t) => {
  const file = place(t);
  const logs = [createLog(), createLog()];
  for (const log of logs) log.open(file, "debug");
  for (let i = 0; i < 4_000; i++) logs[i % 2]?.debug("x".repeat(1_000));
  t.ok(statSync(file).size < 1_100_000);
  t.ok(statSync(`${file}.old`).size < 1_100_000);
  t.ok(statSync(`${file}.old`).size > 900_000, "no more than is needed goes");
  t.equal(statSync(file).mode & 0o777, 0o600);
});

t.test("lines that are logged before the path is known are written first", async (t) => {
  const file = place(t);
  const log = createLog();
  for (let i = 0; i < 1_000; i++) log.info("early", i);
  log.debug("too fine");
  log.open(file, "info");
  log.debug("too fine");
  log.info("late");
  const lines = readFileSync(file, "utf8").trim().split("\n");
  t.match(lines[0], / INFO \[\d+\] early 0$/);
  t.match(lines.at(-1), /late$/);
  t.equal(lines.length, 101);
  t.notMatch(lines.join("\n"), "too fine");
});

t.test("text from clients is logged as one line", async (t) => {
  const file = place(t);
  const log = createLog();
  log.open(file, "info");
  log.info("the tool a\nb\u001b[31m of", "a\nname\u001b[31m");
  t.equal(readFileSync(file, "utf8").trim().split("\n").length, 1);
  t.notMatch(readFileSync(file, "utf8"), "\u001b");
});
