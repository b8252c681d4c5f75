/** Tests that a new Neovim continues the review of changes after a Neovim has ended during that review. */
import { existsSync, rmSync, writeFileSync } from "node:fs";
import t from "tap";
import { startPage } from "../support/page.ts";
import { shareNvim } from "../support/reset.ts";
import { becomes } from "../support/wait.ts";

shareNvim(t);

const FILES = {
  "kept.txt": "1\n",
  "a.txt": "caf\u00e9\r\nend",
  "gone.txt": "gone\n",
  "later.txt": "1\n2\n3\n",
};

for (const end of ["quits", "is killed"] as const)
  t.test(`when Neovim ${end}, the next Neovim lists the same changes and undoes them`, async (t) => {
    const { bridge, nvim: first, agent, changed } = await startPage(t, { files: FILES });
    await agent.prompt("change it all");
    await agent.write("kept.txt", "2\n");
    await agent.write("a.txt", "other\n");
    await agent.write("later.txt", "1\nagent\n3\n");
    await agent.run("rm gone.txt; echo new > new.txt");
    await agent.done();
    await changed(5);
    await first.command("GeminiKeep kept.txt");
    await changed(4);
    if (end === "quits") await first.command("qa!").catch(() => {});
    else first.kill();
    await first.exited;
    await first.waitFor(() => bridge.files().length === 0, "the host to end");
    rmSync(first.path("a.txt"));
    writeFileSync(first.path("a.txt"), "other\nmine\n");

    const { nvim, read, states } = await startPage(t, { after: first });
    const left = ["a.txt modified", "gone.txt deleted", "later.txt modified", "new.txt added"];
    await becomes(t, states, left, "the changes");
    await nvim.says("4 unreviewed changes from an earlier session: see :GeminiChanges");
    await nvim.command("GeminiUndo all");
    await becomes(t, states, [], "all to be undone");
    t.equal(read("kept.txt"), "2\n");
    t.equal(read("a.txt"), "caf\u00e9\r\nend\r\nmine\n", "the user's line stays");
    t.equal(read("gone.txt"), FILES["gone.txt"]);
    t.equal(read("later.txt"), FILES["later.txt"]);
    t.notOk(existsSync(nvim.path("new.txt")));
  });
