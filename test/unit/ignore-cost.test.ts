/** Patterns of ignore files that are made to cost. */
import t from "tap";
import { isExcluded, parseRules, TooMuchWork } from "../../src/sharing/ignore/rules.ts";

t.test("no pattern costs more than its length times that of the name", async (t) => {
  const name = "a".repeat(255);
  const deep = `${"a/".repeat(1_500)}a`;
  const patterns = ["*a", "a*", "*a*", "?*", "[a-z]*", "**/", "a**", "**/*", "*?"].map((part) =>
    part.repeat(20),
  );
  for (const pattern of patterns) {
    for (const path of [name, `${name}/${name}/${name}`, deep, `${"b".repeat(250)}`]) {
      const before = process.cpuUsage();
      isExcluded([{ folder: "/", rules: parseRules([`${pattern}b`]) }], `/${path}`);
      const { user } = process.cpuUsage(before);
      t.ok(user < 500_000, `${pattern.slice(0, 9)}…: ${user} microseconds`);
    }
  }
});

t.test("many such patterns are too much, and said to be", async (t) => {
  const hostile = parseRules(Array.from({ length: 4_000 }, () => `${"*a".repeat(10)}[b]`));
  const before = process.cpuUsage();
  t.throws(
    () => isExcluded([{ folder: "/", rules: hostile }], `/${"a/".repeat(20)}${"a".repeat(200)}`),
    TooMuchWork,
  );
  t.ok(process.cpuUsage(before).user < 2_000_000);
  const ordinary = parseRules(Array.from({ length: 4_000 }, (_, index) => `**/generated/${index}/*.ts`));
  t.notOk(
    isExcluded([{ folder: "/", rules: ordinary }], "/home/user/project/src/some/where/deep/inside/file.ts"),
  );
});
