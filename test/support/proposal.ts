/** Opens one review for a test. */
import type { Test } from "tap";
import { type Reviewer, startReviewer } from "./review.ts";

export const PROPOSED = "one\n2\n";

/** Starts a Neovim that shows a file other than the file to review. */
export const prepare = (t: Test, init: string) =>
  startReviewer(t, { files: { "a.txt": "one\ntwo\n", "b.txt": "b\n" }, args: ["b.txt"], init });

/** Opens a review of a.txt, and moves the focus to the proposal. If `edited` is true, adds a line to the proposal. */
export async function propose(reviewer: Reviewer, edited: boolean) {
  const id = await reviewer.open(reviewer.nvim.path("a.txt"), PROPOSED);
  await reviewer.review();
  if (edited) await reviewer.nvim.input("Gothree<Esc>");
  return { id, content: edited ? `${PROPOSED}three\n` : PROPOSED };
}

/** Starts a Neovim, opens a review, and moves the focus to the proposal. */
export async function start(t: Test, init = "", edited = false) {
  const { reviewer, nvim } = await prepare(t, init);
  const before = await reviewer.layout();
  return { reviewer, nvim, before, ...(await propose(reviewer, edited)) };
}
