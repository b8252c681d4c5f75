/** Tests the parsing of Git's index. */
import { setImmediate as nextTurn } from "node:timers/promises";
import t from "tap";
import { parseIndex } from "../../src/changes/git-index.ts";

const REGULAR = 0o100644;

/** Returns a Git index of version 2 with empty files of the given names. */
function indexWith(names: readonly string[]): Buffer {
  const header = Buffer.from("DIRC\0\0\0\x02\0\0\0\0", "latin1");
  header.writeUInt32BE(names.length, 8);
  const entries = names.map((name) => {
    const length = 62 + Buffer.byteLength(name);
    const entry = Buffer.alloc((length + 8) & ~7);
    entry.writeUInt32BE(REGULAR, 24);
    entry.write(name, 62);
    return entry;
  });
  return Buffer.concat([header, ...entries, Buffer.alloc(20)]);
}

t.test("a large Git index is parsed in slices, so that the host can answer requests", async (t) => {
  const names = Array.from({ length: 200_000 }, (_, i) => `folder/${i}.txt`);
  let isParsing = true;
  const parsed = parseIndex(indexWith(names), 0, 20).finally(() => {
    isParsing = false;
  });
  let turns = 0;
  for (; isParsing; turns += 1) await nextTurn();
  t.strictSame(
    (await parsed)?.map(({ name }) => name),
    names,
  );
  t.ok(turns > 1);
});

t.test("an incomplete Git index is refused", async (t) => {
  const bytes = indexWith(["a.txt", "b.txt"]);
  t.match(await parseIndex(bytes, 0, 20), [{ name: "a.txt" }, { name: "b.txt" }]);
  for (const length of [0, 8, 40, 100])
    t.equal(await parseIndex(bytes.subarray(0, length), 0, 20), undefined);
});

t.test("a Git index with an unterminated name is refused", async (t) => {
  for (const version of [2, 3, 4]) {
    const bytes = Buffer.alloc(200, 1);
    bytes.write("DIRC\0\0\0", "latin1");
    bytes.writeUInt8(version, 7);
    bytes.writeUInt32BE(2, 8);
    t.equal(await parseIndex(bytes, 0, 20), undefined, `version ${version}`);
  }
});

t.test("names in a Git index that lead out of the work tree are left out", async (t) => {
  const odd = ["../a.txt", "a/../../b.txt", "/etc/passwd", "a//b.txt", "./a.txt", "a/..", ".."];
  const fine = ["..a", "a/.b", "a/...", "a..b/c"];
  const entries = await parseIndex(indexWith([...odd, ...fine]), 0, 20);
  t.strictSame(
    entries?.map(({ name }) => name),
    fine,
  );
});
