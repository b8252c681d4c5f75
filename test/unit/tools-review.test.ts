import t from "tap";
import { Refusal } from "../../src/base/refusal.ts";
import type { Ask } from "../../src/model/neovim-questions.ts";
import { reviewEdits } from "../../src/model/review-edits.ts";

const ask = (async () => ({ texts: [{ path: "/w/a.js", content: "a" }] })) as unknown as Ask;
const workspace = {
  file: async (path: string) => path,
  shared: async (paths: readonly string[]) => new Set(paths),
  mayName: async () => true,
  name: (path: string) => path.slice(3),
  label: (path: string) => path.slice(3),
};
const files = [{ path: "/w/a.js", edits: [] }];

function review(propose: () => Promise<"accepted">, patience?: number) {
  const never = () => Promise.reject(new Error("nothing is written"));
  const editing = { isGated: true, propose, follow: never, write: never };
  return reviewEdits(files, "utf-16", { ask, editing, waitsFor: () => {}, workspace }, patience);
}

t.test("reviews stay open if the user takes longer than the client waits", async (t) => {
  // Keeps the process alive, as connections do in a host.
  const connection = setInterval(() => {}, 60_000);
  t.teardown(() => clearInterval(connection));
  const { text, structured } = await review(() => new Promise(() => {}), 1);
  t.match(text, "0 of 1 file changed and written.\na.js: not decided yet: the review stays open");
  t.same(structured, { files: [{ path: "a.js", outcome: "open" }] });
});

t.test("a review that cannot be shown is reported for its file", async (t) => {
  const { text } = await review(() => Promise.reject(new Refusal("a.js is a directory")));
  t.match(text, "a.js: not changed: a.js is a directory");
  await t.rejects(
    review(() => Promise.reject(new Error("inside"))),
    /inside/,
  );
});
