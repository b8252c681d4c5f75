/** Tests ignore files with patterns that are slow on purpose. */
import t from "tap";
import { createLimitedRules, findCostlyPattern, isExcluded } from "../../src/sharing/ignore-files.ts";
import { runApart } from "../support/apart.ts";
import { makeDirectory } from "../support/sandbox.ts";

/** Returns the processor time for the matching of a path (microseconds). */
function cost(patterns: readonly string[], path: string): { user: number; slow: string[] } {
  const slow: string[] = [];
  const before = process.cpuUsage();
  isExcluded(
    [{ folder: "/", rules: createLimitedRules(patterns.join("\n"), (path) => slow.push(path)) }],
    path,
  );
  return { user: process.cpuUsage(before).user, slow };
}

t.test("no ignore pattern within the limits takes longer than the time limit", async (t) => {
  const name = "a".repeat(255);
  const deep = `${"a/".repeat(1_500)}a`;
  const parts = ["*a", "a*", "*a*", "?*", "[a-z]*", "**/", "a**", "**/*", "*?", "**/*/", "*/**/a*"];
  for (const part of parts) {
    const stars = part.match(/\*+/g)?.length ?? 1;
    const pattern = `${part.repeat(Math.floor(20 / stars))}b`;
    t.equal(findCostlyPattern(pattern), undefined);
    for (const path of [name, `${name}/${name}/${name}`, deep, `${"b".repeat(250)}`]) {
      const { user } = cost([pattern], `/${path}`);
      t.ok(user < 1_500_000, `${pattern.slice(0, 9)}…: ${user} microseconds`);
    }
  }
});

t.test("ignore rules that take too long exclude everything and are not applied again", async (t) => {
  const slow: string[] = [];
  const rules = createLimitedRules("**/*/**/*/**/*/**/*/b/x", (path) => slow.push(path));
  const path = `/${"a/".repeat(1_500)}a`;
  t.equal(isExcluded([{ folder: "/", rules }], path), undefined);
  t.same(slow, [path.slice(1)]);
  const before = process.cpuUsage();
  t.equal(isExcluded([{ folder: "/", rules }], "/other"), undefined, "all other paths, too");
  t.ok(process.cpuUsage(before).user < 100_000);
  t.equal(slow.length, 1);
});

t.test("without file descriptors for the timer, everything is excluded and nothing crashes", async (t) => {
  const script = `
    const rules = it.createLimitedRules("a", () => {});
    const isExcluded = it.createJudge([{ folder: "/", rules }]);
    const before = isExcluded("/a/b");
    const { closeSync, openSync } = require("node:fs");
    const taken = [];
    try { for (;;) taken.push(openSync("/dev/null")); } catch {}
    const meanwhile = [isExcluded("/a/b"), isExcluded("/c")];
    taken.forEach((file) => closeSync(file));
    console.log(JSON.stringify([before, meanwhile, isExcluded("/c")]));`;
  const by = ["sh", "-c", 'ulimit -n 64; exec "$@"', "sh"];
  t.equal(
    await runApart(makeDirectory(t), "src/sharing/ignore-files.ts", script, { by }),
    "[true,[true,true],false]\n",
  );
});

t.test("the ignore rules of a large project need far less than the time limit", async (t) => {
  const ordinary = Array.from({ length: 400 }, (_, index) => `**/generated/${index}/*.ts`);
  t.same(cost(ordinary, "/home/user/project/src/some/where/deep/inside/file.ts").slow, []);
});

t.test("a pattern that is too long or has too many wildcards is detected", async (t) => {
  t.equal(findCostlyPattern(`a\n${"*a".repeat(21)}\n`), "*a".repeat(21));
  t.equal(findCostlyPattern(`a\n${"a".repeat(1_001)}\r\n`), `${"a".repeat(1_001)}\r`);
  t.equal(findCostlyPattern(`${"#".repeat(2_000)}\n${"a".repeat(1_000)}\n${"**/".repeat(20)}`), undefined);
});
