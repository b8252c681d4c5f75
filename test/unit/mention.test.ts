/** Tests the references that Claude Code inserts into its prompt on request. */
import t from "tap";
import { mentionOf } from "../../src/claude/mention.ts";
import type { FileReference } from "../../src/http/client.ts";

const mention = (...references: FileReference[]) => {
  const sent: unknown[] = [];
  const found = mentionOf(references, "/project", (method, params) => sent.push({ method, ...params }));
  found?.insert();
  return { shows: found?.shows, sent };
};

t.test("files and lines are inserted into the prompt in the given order", async (t) => {
  t.same(mention({ path: "/project/src/a.ts", lines: [2, 3] }, { path: "/project/ü(1)/b,c.ts" }), {
    shows: "b,c.ts",
    sent: [
      { method: "at_mentioned", filePath: "/project/src/a.ts", lineStart: 1, lineEnd: 2 },
      { method: "at_mentioned", filePath: "/project/ü(1)/b,c.ts" },
    ],
  });
  t.equal(mention({ path: "/project/a.ts", lines: [7, 7] }).shows, "a.ts#L7");
  t.equal(mention({ path: "/project/a.ts", lines: [7, 9] }).shows, "a.ts#L7-9");
  t.equal(mention({ path: "/other/a.ts" }).shows, "a.ts");
});

t.test("nothing is inserted if Claude Code could not read one of the paths", async (t) => {
  const plain = { path: "/project/a.ts" };
  for (const name of ["with blank.ts", "a#b.ts", 'a"b.ts', "a.", "a\u00a0b", "a\tb", ""])
    t.same(mention(plain, { path: `/project/${name}` }), { shows: undefined, sent: [] }, name);
  t.same(mention(), { shows: undefined, sent: [] });
  t.same(mention(...Array<FileReference>(11).fill(plain)), { shows: undefined, sent: [] }, "too many");
});
