import t, { type Test } from "tap";
import { Reviewer } from "../support/review.ts";

const start = (t: Test, file = "one\ntwo\n") =>
  Reviewer.start(t, { files: { "a.txt": file, "b.txt": "b\n" }, args: ["b.txt"] });

for (const keys of [
  ":GeminiAccept<CR>",
  ":w<CR>",
  ":wq<CR>",
  ":x<CR>",
  "ZZ",
  ":update<CR>",
  ":GeminiAccept a.txt<CR>",
]) {
  t.test(`${keys} accepts`, async (t) => {
    const reviewer = await start(t);
    const before = await reviewer.layout();
    const id = await reviewer.open(reviewer.nvim.path("a.txt"), "one\n2\n");
    await reviewer.review();
    await reviewer.nvim.input(keys);
    t.same(await reviewer.outcome(), { name: "diff_accepted", payload: { id, content: "one\n2\n" } });
    t.same(await reviewer.layout(), before);
    t.same(await reviewer.outcomes(), []);
  });
}

for (const keys of [
  ":GeminiReject<CR>",
  ":q<CR>",
  ":q!<CR>",
  "ZQ",
  ":bd<CR>",
  ":bw<CR>",
  ":close<CR>",
  "<C-w>o:new<CR>:only<CR>",
]) {
  t.test(`${keys} rejects`, async (t) => {
    const reviewer = await start(t);
    const id = await reviewer.open(reviewer.nvim.path("a.txt"), "one\n2\n");
    await reviewer.review();
    await reviewer.nvim.input(keys);
    t.same(await reviewer.outcome(), { name: "diff_rejected", payload: { id } });
    t.same(await reviewer.proposals(), []);
    t.same(await reviewer.outcomes(), []);
  });
}

t.test("closing answers what the proposal holds", async (t) => {
  const reviewer = await start(t);
  const before = await reviewer.layout();
  const id = await reviewer.open(reviewer.nvim.path("a.txt"), "one\n2\n");
  await reviewer.review();
  await reviewer.nvim.input("Gothree<Esc>");
  t.equal(await reviewer.close(id), "one\n2\nthree\n");
  t.same(await reviewer.layout(), before);
  t.same(await reviewer.outcomes(), []);
});
