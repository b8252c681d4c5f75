/** Tests a command that moves many files. */
import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import t, { type Test } from "tap";
import { ChangesHost } from "../support/changes.ts";
import { run, SETUP, sh } from "../support/shell.ts";

const FILES = 600;

async function movesAll(t: Test, prepare: (host: ChangesHost) => Promise<void>): Promise<void> {
  const host = new ChangesHost(t);
  sh(host, `mkdir from; i=0; while [ $i -lt ${FILES} ]; do echo "text $i" > from/$i.txt; i=$((i + 1)); done`);
  await prepare(host);
  await run(host, "mv from to");
  await host.tell({ kind: "turn_ended" });
  t.equal(host.shown.size, 2 * FILES);
  const counts = new Map<string, number>();
  for (const { status, fixed } of host.shown.values())
    counts.set(`${status} ${fixed ?? ""}`, (counts.get(`${status} ${fixed ?? ""}`) ?? 0) + 1);
  t.strictSame(Object.fromEntries(counts), { "deleted ": FILES, "added ": FILES });
  t.match(host.told.filter(([name]) => name === "turn_changes").at(-1)?.[1], { files: 2 * FILES });
  const some = ["0.txt", "7.txt", "599.txt"];
  for (const name of some) {
    await host.undo(`from/${name}`);
    await host.undo(`to/${name}`);
    t.equal(String(host.read(`from/${name}`)), `text ${Number.parseInt(name, 10)}\n`);
    t.notOk(existsSync(host.path(`to/${name}`)));
  }
  t.strictSame(host.messages(), []);
  t.equal(host.shown.size, 2 * (FILES - some.length));
}

t.test("in a Git work tree 600 moved files are 1,200 changes that can be undone", (t) =>
  movesAll(t, async (host) => {
    await delay(50); // files written together with the index may have been written after it
    sh(host, SETUP);
  }),
);

t.test("outside a work tree 600 moved files are 1,200 changes that can be undone", (t) =>
  movesAll(t, async () => {}),
);
