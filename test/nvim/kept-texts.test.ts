/** Tests that text which a user has typed into a proposal is kept until the file contains it. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import t, { type Test } from "tap";
import { z } from "zod";
import { type Nvim, type NvimOptions, startNvim } from "../support/nvim.ts";
import { killAll } from "../support/processes.ts";
import { type Reviewer, startReviewer } from "../support/review.ts";
import { waitFor } from "../support/wait.ts";

const FILES = { "a.txt": "one\n", "b.txt": "b\n", "c.txt": "c\n" };

async function start(t: Test, options: NvimOptions = {}) {
  const { reviewer } = await startReviewer(t, { files: FILES, args: ["c.txt"], ...options });
  const id = await reviewer.open(reviewer.nvim.path("a.txt"), "two\n");
  return { reviewer, nvim: reviewer.nvim, id };
}

const Kept = z.object({
  path: z.string(),
  text: z.string(),
  deleted: z.boolean().optional(),
  quiet: z.boolean().optional(),
});
type Kept = z.infer<typeof Kept>;

const lines = "vim.api.nvim_buf_get_lines(0, 0, -1, true)";

const keptDirectory = (nvim: Nvim) => join(nvim.dirs.state, "nvim/gemini-bridge-kept");
const draftDirectory = (nvim: Nvim) => join(nvim.dirs.state, "nvim/gemini-bridge-drafts");

/** Returns the kept texts from the files, oldest first. */
function keptTexts(nvim: Nvim): Kept[] {
  const directory = keptDirectory(nvim);
  const names = existsSync(directory) ? readdirSync(directory) : [];
  return names
    .filter((name) => name.endsWith(".json"))
    .sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10))
    .map((name) => JSON.parse(readFileSync(join(directory, name), "utf8")))
    .map((stored) => Kept.parse(stored.value ?? stored));
}

/** Saves kept texts, as an earlier version of the plugin would in an earlier Neovim. */
function saveTexts(nvim: Nvim, texts: Record<number, Kept>): void {
  mkdirSync(keptDirectory(nvim), { recursive: true });
  for (const [id, kept] of Object.entries(texts))
    writeFileSync(join(keptDirectory(nvim), `${id}.json`), JSON.stringify(kept));
}

/** Returns the drafts of open reviews that Neovims have saved. */
function drafts(nvim: Nvim): string {
  const directory = draftDirectory(nvim);
  const names = existsSync(directory) ? readdirSync(directory) : [];
  return names.map((name) => readFileSync(join(directory, name), "utf8")).join("\n");
}

/** Tells Neovim that the host runs, so that Neovim looks for texts of earlier Neovims. */
async function hostRuns(nvim: Nvim): Promise<void> {
  await nvim.lua(
    "require('gemini-bridge.calls').call('status', { state = 'running', workspace = {}, clients = {} })",
  );
}

/**
 * Ends a review without a decision.
 * @returns the command that shows the user's edits
 */
async function endReview({ reviewer, nvim, id }: Awaited<ReturnType<typeof start>>): Promise<string> {
  await reviewer.close(id, "disconnected");
  const named = /Open your edits with (:edit \S+)/;
  return named.exec(await nvim.says(named))?.[1] ?? "";
}

for (const quit of ["qall", "wqall", "restart"])
  t.test(`text typed into a proposal is kept after :${quit}`, async (t) => {
    const init = "vim.fn.writefile({ tostring(vim.fn.getpid()) }, 'pid')";
    const { reviewer, nvim } = await start(t, { tui: quit === "restart", init });
    if (quit === "restart" && (await nvim.lua("return vim.fn.has('nvim-0.12')")) === 0)
      return t.equal(await nvim.lua("return vim.fn.exists(':restart')"), 0, "this Neovim has no :restart");
    await reviewer.review();
    await nvim.input("Amine<Esc>");
    await reviewer.open(nvim.path("b.txt"), "untouched\n");
    nvim.nvim.notify("nvim_command", [quit]);
    await waitFor(() => keptTexts(nvim).length > 0, "the text");
    t.match(keptTexts(nvim), [{ path: nvim.path("a.txt"), text: "twomine\n" }]);
    t.equal(keptTexts(nvim).length, 1, "and nothing else");
    if (quit !== "restart") return;
    const pid = () => Number(readFileSync(nvim.path("pid"), "utf8"));
    await waitFor(() => pid() > 0 && pid() !== nvim.pid, "the next Neovim");
    killAll([pid()]);
  });

const EXITS: [name: string, typed: string, next: string][] = [
  ["in Insert mode", "", ", too<C-o>:qall<CR>"],
  ["in Replace mode", "<Esc>R", ", too<C-o>:qall<CR>"],
  ["in Visual mode", ", too<Esc>v", ":<C-u>qall<CR>"],
  ["in the command line", ", too<Esc>:qa", "ll<CR>"],
];
for (const [name, typed, next] of EXITS)
  t.test(`text typed into a proposal that ended ${name} is kept after Neovim's end`, async (t) => {
    const { reviewer, nvim, id } = await start(t);
    await reviewer.review();
    await nvim.input(`Amine${typed}`);
    await reviewer.close(id, "disconnected");
    nvim.nvim.notify("nvim_input", [next]);
    await nvim.exited;
    t.match(keptTexts(nvim), [{ path: nvim.path("a.txt"), text: /^twomi.*, too\n$/ }]);
  });

for (const signal of ["SIGTERM", "SIGHUP"] as const)
  for (const isPending of [true, false])
    t.test(
      `text typed into ${isPending ? "a pending" : "an ended"} proposal is kept after ${signal}`,
      async (t) => {
        const { reviewer, nvim, id } = await start(t);
        await reviewer.review();
        await nvim.lua("review = require('gemini-bridge.review.records').pending()[1]");
        await nvim.input("Amine");
        if (!isPending) await reviewer.close(id, "disconnected");
        await nvim.input(", too");
        await nvim.waitFor("review.unloaded == 'twomine, too\\n'", "the copy of the text");
        nvim.kill(signal);
        await nvim.exited;
        t.match(keptTexts(nvim), [{ path: nvim.path("a.txt"), text: "twomine, too\n" }]);
      },
    );

t.test("an edited text whose acceptance did not arrive is kept after Neovim's end", async (t) => {
  const { reviewer, nvim } = await start(t);
  await reviewer.review();
  await nvim.input("Amine<Esc>:w<CR>");
  await reviewer.outcome();
  nvim.nvim.notify("nvim_command", ["qall"]);
  await nvim.exited;
  t.match(keptTexts(nvim), [{ path: nvim.path("a.txt"), text: "twomine\n" }]);
});

t.test("an accepted text is kept if its CLI disconnects just before Neovim's end", async (t) => {
  const { reviewer, nvim, id } = await start(t);
  await reviewer.review();
  await nvim.input("Amine<Esc>:w<CR>");
  await reviewer.outcome();
  await nvim.input("q:");
  await reviewer.call("decision_settled", { id, delivered: false, filePath: nvim.path("a.txt") });
  nvim.nvim.notify("nvim_input", ["iqall<CR>"]);
  await nvim.exited;
  t.match(keptTexts(nvim), [{ path: nvim.path("a.txt"), text: "twomine\n" }]);
});

/** Opens a review, adds a line to the proposal, and accepts with `:w`, or ends the review as `end` does. */
async function handOver(reviewer: Reviewer, name: string, end?: (id: number) => Promise<unknown>) {
  const id = await reviewer.open(reviewer.nvim.path(name), "two\n");
  await reviewer.review();
  await reviewer.nvim.input("omine<Esc>");
  if (end) return end(id);
  await reviewer.nvim.input(":w<CR>");
  await reviewer.outcome();
  await reviewer.call("decision_settled", { id, delivered: true, filePath: reviewer.nvim.path(name) });
}

t.test("an edited text is kept until the file contains it, or the user has rejected it", async (t) => {
  const names = ["unwritten", "refused", "other", "written", "rejected", "again", "untouched"];
  const files = Object.fromEntries(names.map((name) => [`${name}.txt`, "one\n"]));
  const { reviewer, nvim } = await startReviewer(t, { files });
  const write = (name: string, text: string) => writeFileSync(nvim.path(name), text);
  const closeByCli = (id: number) => reviewer.close(id, "cli");
  await handOver(reviewer, "unwritten.txt");
  await handOver(reviewer, "refused.txt", closeByCli);
  await handOver(reviewer, "other.txt");
  write("other.txt", "two, formatted\nmine\n");
  await handOver(reviewer, "written.txt");
  write("written.txt", "\uFEFFtwo\r\nmine");
  await handOver(reviewer, "rejected.txt", () => nvim.command("GeminiReject"));
  await handOver(reviewer, "again.txt", closeByCli);
  write("again.txt", "two\n"); // the CLI has dropped the edits, so the host shows them again
  await reviewer.open(nvim.path("again.txt"), "two\nmine\n");
  await nvim.command("GeminiReject");
  const untouched = await reviewer.open(nvim.path("untouched.txt"), "two\n");
  await nvim.command("GeminiAccept");
  await reviewer.call("decision_settled", { id: untouched, delivered: true, filePath: "" });
  t.match(drafts(nvim), "unwritten", "after a kill, the next Neovim would find it");
  t.same(keptTexts(nvim), [], "the CLI may still write the texts");

  const said = await nvim.says(/did not write your edits to refused\.txt\. Open them with :edit \S+/);
  t.match(said, /Gemini CLI did not write your edits to unwritten\.txt\. Open them with :edit gemini:\S+/);
  t.notMatch(said, /edits to (other|written|rejected|again|untouched)/);
  const kept = ["unwritten.txt", "refused.txt", "other.txt"];
  await waitFor(() => keptTexts(nvim).length >= kept.length, "the text that is kept without a message");
  t.match(
    keptTexts(nvim)
      .map(({ path, text, quiet }) => `${basename(path)} ${text} ${quiet}`)
      .sort(),
    kept.map((name) => `${name} two\nmine\n ${name === "other.txt"}`).sort(),
  );
  await waitFor(() => drafts(nvim) === "", "the drafts to be deleted");

  await nvim.command("GeminiReview other.txt");
  t.same(await nvim.lua(`return ${lines}`), ["two", "mine"]);
  await nvim.command("close");
  await nvim.lua("vim.ui.select = function(items, _, choose) offered = #items choose(items[3]) end");
  await nvim.command("GeminiReview");
  t.match(await nvim.lua("return { vim.api.nvim_buf_get_name(0), offered }"), [/gemini:\/\/kept\/1\//, 3]);

  // In the next Neovim, the file contains one of the texts.
  write("refused.txt", "two\nmine\n");
  nvim.nvim.notify("nvim_command", ["qall!"]);
  await nvim.exited;
  const next = await startNvim(t, { after: nvim });
  await hostRuns(next);
  t.match(
    await next.says(/from an earlier session were saved/),
    /Open them with :edit gemini:\S+unwritten.txt$/m,
  );
});

t.test("an edited text that the CLI has received but not written is kept after Neovim's end", async (t) => {
  const { reviewer, nvim } = await startReviewer(t, { files: FILES });
  await handOver(reviewer, "a.txt", (id) => reviewer.close(id, "cli"));
  await handOver(reviewer, "b.txt");
  writeFileSync(nvim.path("b.txt"), "two\nmine\n");
  nvim.nvim.notify("nvim_command", ["qall"]);
  await nvim.exited;
  t.match(keptTexts(nvim), [{ path: nvim.path("a.txt"), text: "two\nmine\n" }]);
  t.equal(keptTexts(nvim).length, 1);
});

t.test("texts that an earlier Neovim has saved can be restored for a week", async (t) => {
  const { nvim } = await startReviewer(t, { files: FILES });
  saveTexts(nvim, {
    4: { path: nvim.path("a.txt"), text: "twomine\n" },
    3: { path: "/elsewhere/b.txt", text: "other" },
    2: { path: nvim.path("old.txt"), text: "old" },
    1: { path: nvim.path("c.txt"), text: "deleted", deleted: true },
  });
  const old = new Date(Date.now() - 8 * 24 * 3600 * 1000);
  utimesSync(join(keptDirectory(nvim), "2.json"), old, old);
  await hostRuns(nvim);
  await nvim.says(
    /Your edits of proposals from an earlier session were saved\. Open them with :edit gemini:\/\/kept\/4\/a\.txt$/m,
  );
  await nvim.input(":edit gemini://kept/4/a.txt<CR>");
  t.same(await nvim.lua(`return ${lines}`), ["twomine"]);
  await nvim.input(":edit gemini://kept/1/c.txt<CR>");
  t.same(await nvim.lua(`return ${lines}`), ["deleted"]);
  await nvim.input(":edit gemini://kept/2/old.txt<CR>");
  await nvim.says(/The text of this buffer no longer exists: saved texts are deleted after a week/);
});

for (const keys of [":%bdelete!<CR>", ":%bwipeout!<CR>"])
  t.test(`a kept text is restored after ${keys}, with the user's later edits`, async (t) => {
    const ended = await start(t);
    const { reviewer, nvim } = ended;
    await reviewer.review();
    await nvim.input("Amine<Esc>");
    const command = await endReview(ended);
    await nvim.input(`${command}<CR>A, too<Esc>${keys}`);
    t.same(await nvim.lua(`return ${lines}`), [""]);
    await nvim.input(`${command}<CR>`);
    t.same(await nvim.lua(`return ${lines}`), ["twomine, too"]);
    t.match(keptTexts(nvim), [{ text: "twomine, too\n" }]);
  });

t.test("a text that was kept twice is not offered after the user has deleted its buffer", async (t) => {
  const first = await start(t);
  const { reviewer, nvim } = first;
  await reviewer.review();
  await nvim.input("Amine<Esc>");
  const command = await endReview(first);
  await nvim.command("messages clear");
  const id = await reviewer.open(nvim.path("a.txt"), "two\n");
  await reviewer.review();
  await nvim.input("Amine<Esc>");
  t.equal(await endReview({ reviewer, nvim, id }), command);
  await nvim.command(command.replace(":edit", "bdelete!"));
  await nvim.command("GeminiReview");
  await nvim.says(/No pending proposals/);
});

t.test("two Neovims that end at the same time both keep their texts", async (t) => {
  const { reviewer, nvim } = await start(t);
  await reviewer.review();
  await nvim.input("Amine<Esc>");
  // The other Neovim has chosen number 1 after this Neovim has read the directory.
  mkdirSync(keptDirectory(nvim), { recursive: true });
  writeFileSync(join(keptDirectory(nvim), "1.json"), "");
  nvim.nvim.notify("nvim_command", ["qall"]);
  await nvim.exited;
  t.equal(readFileSync(join(keptDirectory(nvim), "1.json"), "utf8"), "");
  t.match(readFileSync(join(keptDirectory(nvim), "2.json"), "utf8"), "twomine");
});

t.test("a kept text that another Neovim has edited is not overwritten", async (t) => {
  const ended = await start(t);
  const { reviewer, nvim } = ended;
  await reviewer.review();
  await nvim.input("Amine<Esc>");
  await endReview(ended);
  saveTexts(nvim, { 1: { path: nvim.path("a.txt"), text: "edited elsewhere\n" } });
  nvim.nvim.notify("nvim_command", ["qall"]);
  await nvim.exited;
  t.match(keptTexts(nvim), [{ text: "edited elsewhere\n" }]);
});

t.test("edits of a kept text are not lost when Neovim is killed", async (t) => {
  const ended = await start(t);
  const { reviewer, nvim } = ended;
  await reviewer.review();
  await nvim.input("Amine<Esc>");
  await nvim.input(`${await endReview(ended)}<CR>A, too`);
  await waitFor(() => keptTexts(nvim)[0]?.text === "twomine, too\n", "the edits to be saved");
  nvim.kill("SIGKILL");
  await nvim.exited;
  t.match(keptTexts(nvim), [{ text: "twomine, too\n" }]);
});

t.test("an unsaved text is kept in a buffer, and saved at Neovim's end if possible", async (t) => {
  const ended = await start(t, { init: "vim.fn.mkdir(vim.fn.stdpath('state'), 'p')" });
  const { reviewer, nvim } = ended;
  await reviewer.review();
  await nvim.input("Amine<Esc>");
  chmodSync(join(nvim.dirs.state, "nvim"), 0o500);
  await nvim.input(`${await endReview(ended)}<CR>`);
  t.same(await nvim.lua(`return ${lines}`), ["twomine"]);
  chmodSync(join(nvim.dirs.state, "nvim"), 0o700);
  nvim.nvim.notify("nvim_command", ["qall"]);
  await nvim.exited;
  t.match(keptTexts(nvim), [{ path: nvim.path("a.txt"), text: "twomine\n" }]);
});

for (const end of ["SIGKILL", ":noautocmd qall!", ":set eventignore=all | qall!"])
  t.test(`the next Neovim finds text that was in a pending proposal at ${end}`, async (t) => {
    const { reviewer, nvim } = await start(t);
    await reviewer.review();
    await nvim.input("Amine<Esc>");
    await waitFor(() => drafts(nvim).includes("twomine"), "the draft");
    if (end === "SIGKILL") nvim.kill();
    else nvim.nvim.notify("nvim_input", [`${end}<CR>`]);
    await nvim.exited;
    const next = await startNvim(t, { after: nvim });
    await hostRuns(next);
    await next.says(
      /Your edits of proposals from an earlier session were saved\. Open them with :edit gemini:\/\/kept\/1\/a\.txt$/m,
    );
    await next.input(":edit gemini://kept/1/a.txt<CR>");
    t.same(await next.lua(`return ${lines}`), ["twomine"]);
    t.match(keptTexts(next), [{ path: nvim.path("a.txt"), text: "twomine\n" }]);
    t.equal(drafts(next), "");
  });

t.test("the draft of a review is deleted after the decision, and other Neovims ignore it", async (t) => {
  const { reviewer, nvim } = await start(t);
  await reviewer.review();
  await nvim.input("Amine<Esc>");
  await waitFor(() => drafts(nvim).includes("twomine"), "the draft");
  const old = Date.now() / 1000 - 8 * 24 * 3600;
  utimesSync(join(draftDirectory(nvim), `${nvim.pid}.json`), old, old);
  const other = await startNvim(t, { after: nvim });
  await hostRuns(other);
  t.match(drafts(nvim), "twomine", "also if the user has not edited the draft for a week");
  await nvim.input(":GeminiReject<CR>");
  await waitFor(() => drafts(nvim) === "", "the draft to be deleted");
  t.same(keptTexts(nvim), []);
});

t.test(
  "a draft is found by a Neovim with the process id of the ended Neovim, as in a container",
  async (t) => {
    const { reviewer, nvim } = await startReviewer(t, { files: FILES, args: ["c.txt"] });
    mkdirSync(draftDirectory(nvim), { recursive: true });
    const draft = [{ filePath: nvim.path("b.txt"), content: "earlier\n" }];
    writeFileSync(join(draftDirectory(nvim), `${nvim.pid}.json`), JSON.stringify(draft));
    await hostRuns(nvim);
    await nvim.says(/Open them with :edit gemini:\/\/kept\/1\/b\.txt$/m);
    t.match(keptTexts(nvim), [{ text: "earlier\n" }]);
    await reviewer.open(nvim.path("a.txt"), "two\n");
    await reviewer.review();
    await nvim.input("Amine<Esc>");
    await waitFor(() => drafts(nvim).includes("twomine"), "the draft");
    await hostRuns(nvim);
    t.match(drafts(nvim), "twomine", "its own draft stays");
  },
);

t.test("a draft that could not be written is written as soon as this is possible", async (t) => {
  const { reviewer, nvim } = await start(t);
  writeFileSync(draftDirectory(nvim), ""); // as on a full disk, no draft can be written
  await reviewer.review();
  await nvim.input("Amine<Esc>");
  await nvim.waitFor("package.loaded['gemini-bridge.review.drafts'] ~= nil", "the first attempt");
  await nvim.lua("vim.wait(1500)");
  rmSync(draftDirectory(nvim));
  await waitFor(() => drafts(nvim).includes("twomine"), "the draft");
});
