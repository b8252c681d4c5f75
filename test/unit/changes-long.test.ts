/** Tests a list of changes whose texts are too long for the memory of the host, so that only the store has them. */
import { rmSync } from "node:fs";
import t from "tap";
import { ChangesHost } from "../support/changes.ts";

const FILES = 24;

/** Returns a text of 1 MB. */
const textOf = (file: number) => `${file}: ${"x".repeat(1_020)}\n`.repeat(1_000);
const AGENTS = "by the agent\n";

t.test("changes whose texts are only in the store are undone exactly, also after a restart", async (t) => {
  const first = new ChangesHost(t);
  for (let i = 0; i < FILES; i += 1) {
    first.write(`${i}.txt`, textOf(i));
    await first.edit(`${i}.txt`, textOf(i) + AGENTS);
  }
  t.equal(first.shown.size, FILES);
  for (const i of [0, 20]) {
    await first.undoesTo(t, `${i}.txt`, textOf(i));
    await first.revert();
    t.equal(String(first.read(`${i}.txt`)), textOf(i) + AGENTS, "reverted");
    await first.undoesTo(t, `${i}.txt`, textOf(i));
  }
  await first.save("21.txt", `mine\n${textOf(21)}${AGENTS}`);
  await first.edit("22.txt", `${textOf(22)}${AGENTS}${AGENTS}`);
  t.match(first.change("22.txt"), { added: 2, removed: 0, hunks: { length: 1 } });
  await first.close();
  const next = new ChangesHost(t, first.directory, [], true);
  await next.settle();
  t.equal(next.shown.size, FILES - 2);
  await next.undoesTo(t, "21.txt", `mine\n${textOf(21)}`);
  await next.undoesTo(t, "22.txt", textOf(22));
  await next.undoesTo(t, "19.txt", textOf(19));
});

t.test("if the store has lost a text, the change is not undone, which is said", async (t) => {
  const host = new ChangesHost(t);
  for (let i = 0; i < FILES; i += 1) {
    host.write(`${i}.txt`, textOf(i));
    await host.edit(`${i}.txt`, textOf(i) + AGENTS);
  }
  host.kept();
  for (const path of host.keptFiles()) if (!path.endsWith("lists.json")) rmSync(path);
  await host.undo(`${FILES - 1}.txt`);
  t.match(host.messages(), [/cannot be restored: its earlier bytes are unknown/]);
  t.equal(String(host.read(`${FILES - 1}.txt`)), textOf(FILES - 1) + AGENTS);
  await host.keep(`${FILES - 1}.txt`);
  t.equal(host.change(`${FILES - 1}.txt`), undefined);
  await host.undoesTo(t, "0.txt", textOf(0), "a text in memory");
});

t.test("beyond 256 MB of texts, further files are listed with the reason and never undone", async (t) => {
  const host = new ChangesHost(t);
  const text = "x".repeat(8 * 1024 * 1024 - 10);
  const names = Array.from({ length: 17 }, (_, i) => `${i + 1}`);
  for (const name of [...names, "18"]) host.write(name, text);
  for (const name of names) await host.edit(name, `y${text}`);
  t.match(host.change("17"), { fixed: /^too many other changes are unreviewed/ });
  await host.undo("17");
  t.match(host.messages(), [/cannot be restored: too many other changes/]);
  t.ok(host.read("17").equals(Buffer.from(`y${text}`)));
  await host.undo("1");
  t.ok(host.read("1").equals(Buffer.from(text)), "the others are undone");
  await host.edit("18", "short");
  await host.undo("18");
  t.ok(host.read("18").equals(Buffer.from(text)), "after a decision there is room again");
});
