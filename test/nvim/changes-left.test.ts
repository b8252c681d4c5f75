/** Tests that a new Neovim continues the review of changes after a Neovim has ended during that review. */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import t from "tap";
import { z } from "zod";
import { startBridge } from "../support/bridge.ts";
import { HookedAgent } from "../support/hooked-agent.ts";
import type { Nvim } from "../support/nvim.ts";

const FILES = {
  "kept.txt": "1\n",
  "a.txt": "caf\u00e9\r\nend",
  "gone.txt": "gone\n",
  "later.txt": "1\n2\n3\n",
};
const Changes = z.preprocess(
  (list) => (Array.isArray(list) ? list : []),
  z.array(z.object({ path: z.string(), status: z.string() })),
);

async function changed(nvim: Nvim): Promise<string[]> {
  const changes = Changes.parse(await nvim.lua("return require('gemini-bridge').changes()"));
  return changes.map(({ path, status }) => `${path.slice(nvim.dirs.workspace.length + 1)} ${status}`).sort();
}

for (const end of ["quits", "is killed"] as const)
  t.test(`when Neovim ${end}, the next Neovim lists the same changes and undoes them`, async (t) => {
    const bridge = await startBridge(t, { files: FILES });
    const first = bridge.nvim;
    const agent = new HookedAgent(bridge);
    await agent.prompt("change it all");
    await agent.write("kept.txt", "2\n");
    await agent.write("a.txt", "other\n");
    await agent.write("later.txt", "1\nagent\n3\n");
    await agent.run("rm gone.txt; echo new > new.txt");
    await agent.done();
    await first.waitFor(async () => (await changed(first)).length === 5, "the changes");
    await first.command("GeminiKeep kept.txt");
    await first.waitFor(async () => (await changed(first)).length === 4, "the decision");
    if (end === "quits") await first.command("qa!").catch(() => {});
    else first.kill();
    await first.exited;
    await first.waitFor(() => bridge.files().length === 0, "the host to end");
    rmSync(first.path("a.txt"));
    writeFileSync(first.path("a.txt"), "other\nmine\n");

    const { nvim } = await startBridge(t, { after: first });
    const left = ["a.txt modified", "gone.txt deleted", "later.txt modified", "new.txt added"];
    await nvim.waitFor(async () => (await changed(nvim)).length === 4, "the changes");
    t.strictSame(await changed(nvim), left);
    await nvim.says("4 unreviewed changes from an earlier session: see :GeminiChanges");
    await nvim.command("GeminiUndo all");
    await nvim.waitFor(async () => (await changed(nvim)).length === 0, "all to be undone");
    const read = (name: string) => readFileSync(nvim.path(name), "utf8");
    t.equal(read("kept.txt"), "2\n");
    t.equal(read("a.txt"), "caf\u00e9\r\nend\r\nmine\n", "the user's line stays");
    t.equal(read("gone.txt"), FILES["gone.txt"]);
    t.equal(read("later.txt"), FILES["later.txt"]);
    t.notOk(existsSync(nvim.path("new.txt")));
  });
