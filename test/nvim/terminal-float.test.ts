import t, { type Test } from "tap";
import { shows, startWithAgent } from "../support/agent.ts";
import { RunningBridge } from "../support/bridge.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);

/** Lines that move the last line of the file below the float. */
const ABOVE = "line\n".repeat(15);

/** Starts a Neovim with a terminal UI, and a CLI in a floating terminal. */
async function start(t: Test) {
  const nvim = await startWithAgent(t, "position = 'float'", {
    tui: true,
    args: ["a.txt"],
    files: { "a.txt": `${ABOVE}the file\n` },
  });
  await nvim.command("Gemini");
  await shows(nvim, /child/);
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "terminal mode");
  const client = await new RunningBridge(t, nvim).client();
  const screen = async () => (await nvim.screen()).join("\n");
  const onScreen = (text: string) => nvim.waitFor(async () => (await screen()).includes(text), text);
  /** Opens a review whose windows are below the float. */
  async function propose(t: Test): Promise<void> {
    await client.openDiff(nvim.path("a.txt"), `${ABOVE}${" ".repeat(20)}the proposal\n`);
    await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the review");
    await onScreen("child <");
    t.notMatch(await screen(), /the proposal/, "the float covers it");
  }
  return { nvim, client, screen, onScreen, propose };
}

const inFloat = "vim.b.gemini_terminal ~= nil and vim.api.nvim_win_get_config(0).relative ~= ''";

t.test(
  "a floating terminal is hidden by :GeminiReview until the review is accepted, written or closed",
  async (t) => {
    const { nvim, screen, onScreen, propose } = await start(t);
    for (const keys of [":GeminiAccept<CR>", ":w<CR>", ":q<CR>"]) {
      await propose(t);
      await nvim.input("<C-\\><C-n>:GeminiReview<CR>");
      await nvim.waitFor("vim.b.gemini_diff", "the proposal");
      await onScreen("the proposal");
      t.notMatch(await screen(), /child </, `the float is out of the way: ${keys}`);
      await nvim.input(keys);
      await nvim.waitFor("#require('gemini-bridge').diffs() == 0", "the decision");
      await onScreen("child <");
      await t.resolves(nvim.waitFor(inFloat, "the focus in the float"));
    }
  },
);

t.test(
  "a hidden floating terminal is shown and focused again, even if the CLI closes the review",
  async (t) => {
    const { nvim, client, screen, onScreen, propose } = await start(t);
    await propose(t);
    await nvim.input("<C-\\><C-n>:GeminiReview<CR>");
    await onScreen("the proposal");
    await nvim.command("Gemini");
    await onScreen("child <");
    t.ok(await nvim.lua(`return ${inFloat}`), ":Gemini goes to it");

    await nvim.input("<C-\\><C-n>:GeminiReview<CR>");
    await onScreen("the proposal");
    await nvim.input("<C-w>h"); // as a user: a plugin's move right after :GeminiReview would be taken back
    await nvim.waitFor("vim.bo.buftype == '' and vim.fn.expand('%:t') == 'a.txt'", "the focus in the file");
    t.notMatch(await screen(), /child </, "not while the file beside it has the focus");
    await client.closeDiff(nvim.path("a.txt"));
    await onScreen("child <");
    t.equal(await nvim.lua("return vim.fn.expand('%:t')"), "a.txt", "the focus stays");
  },
);
