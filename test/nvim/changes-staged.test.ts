/** Tests when Neovim notices that the user has staged changes. */
import { execFileSync } from "node:child_process";
import t from "tap";
import { startPage } from "../support/page.ts";

t.test(
  "staged changes count as kept after a :! command, and when the user returns to the review page",
  async (t) => {
    const page = await startPage(t, { files: { "a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n" } });
    const { nvim, agent } = page;
    const git = (...args: string[]) =>
      execFileSync("git", args, { cwd: nvim.dirs.workspace, stdio: "ignore" });
    git("init");
    git("add", ".");
    for (const name of ["a", "b", "c"]) await agent.write(`${name}.txt`, `${name.toUpperCase()}\n`);
    await page.changed(3);
    const staged = () => page.storedLists().match(/"staged":"/g)?.length === 3;
    await nvim.waitFor(staged, "the state of the index after the writes");
    await nvim.input(":GeminiChanges<CR>");
    await page.is(t, "*page:2", "a.txt:1");
    await nvim.input(":silent !git add a.txt<CR>");
    await page.changed(2);
    git("add", "b.txt");
    await nvim.input(":1tabnext<CR>:GeminiChanges<CR>");
    await page.changed(1);
    await nvim.waitFor(async () => (await page.tree())[2] === " ✓ b.txt 1/1", "the tree");
  },
);
