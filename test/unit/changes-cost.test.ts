/** Tests the cost of a turn with many files. */
import t, { type Test } from "tap";
import { ChangesHost } from "../support/changes.ts";

const TEXT = Array.from({ length: 50 }, (_, i) => `line ${i}\n`).join("");

/** Returns the processor time of this process for a turn with `count` files (milliseconds). */
async function costOf(t: Test, count: number): Promise<number> {
  const host = new ChangesHost(t);
  for (let i = 0; i < count; i += 1) host.write(`${i}.txt`, TEXT);
  await host.tell({ kind: "turn_started", prompt: "many" });
  const before = process.cpuUsage();
  for (let i = 0; i < count; i += 1) await host.edit(`${i}.txt`, TEXT.replace("line 7", "LINE 7"));
  await host.tell({ kind: "turn_ended" });
  const { user, system } = process.cpuUsage(before);
  t.equal(host.shown.size, count);
  return (user + system) / 1_000;
}

t.test("the cost of a turn is proportional to the number of its files", async (t) => {
  await costOf(t, 100);
  const [few, many] = [await costOf(t, 200), await costOf(t, 1_200)];
  t.comment(`200 files: ${few} ms, 1200 files: ${many} ms`);
  t.ok(many < 3 * 6 * few, "six times as many cost no more than about six times as much");
});
