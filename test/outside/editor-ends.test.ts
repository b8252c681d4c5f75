/** Tests what CLIs with open reviews receive when Neovim does not answer, and when the bridge or Neovim ends. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { startBridge } from "../support/bridge.ts";
import { type CompanionClient, connectClient } from "../support/client.ts";
import type { Nvim } from "../support/nvim.ts";

const FILES = { "a.txt": "one\n", "b.txt": "b\n", "../home/.qwen/settings.json": "{}" };

const reviews = (nvim: Nvim, count: number) =>
  nvim.waitFor(`#require('gemini-bridge').diffs() == ${count}`, `${count} reviews`);

/** Edits the proposal for a.txt. */
const edit = (nvim: Nvim) => nvim.input(":GeminiReview a.txt<CR>Gomine<Esc>");

function keptTexts({ dirs }: Nvim): string {
  const directory = join(dirs.state, "nvim/gemini-bridge-kept");
  const names = existsSync(directory) ? readdirSync(directory) : [];
  return names.map((name) => readFileSync(join(directory, name), "utf8")).join("\n");
}

t.test("a CLI gets answers while Neovim does not answer, and rejections when the bridge ends", async (t) => {
  const { bridge, nvim } = await startBridge(t, { files: FILES });
  const path = nvim.path("a.txt");
  /** Connects a client with the token of a CLI. */
  async function connect(cli: string): Promise<CompanionClient> {
    const token = String(await nvim.lua(`return require('gemini-bridge.bridge.status').get().tokens.${cli}`));
    return connectClient(t, { port: bridge.file().port, token });
  }
  let [gemini, qwen] = [await connect("gemini"), await connect("qwen")];

  await t.test("closeDiff is answered while Neovim is blocked, and the user's edits come back", async (t) => {
    await gemini.openDiff(path, "two\n");
    await edit(nvim);
    process.kill(nvim.pid, "SIGSTOP");
    t.equal(await gemini.closeDiff(path), "two\n");
    writeFileSync(path, "two\n");
    process.kill(nvim.pid, "SIGCONT");
    await nvim.says("Gemini CLI wrote a.txt without your edits. Your edits are open as a new review.");
    await reviews(nvim, 1);
    await nvim.command("GeminiAccept");
    await nvim.waitFor(() => readFileSync(path, "utf8") === "two\nmine\n", "the edits to be written");
    await reviews(nvim, 0);
  });

  await t.test(":GeminiRestart keeps reviews open, and the decisions reach their CLIs", async (t) => {
    await gemini.openDiff(path, "three\n");
    await qwen.openDiff(nvim.path("b.txt"), "four\n");
    await edit(nvim);
    await bridge.replaceHost(() => nvim.command("GeminiRestart"));
    await reviews(nvim, 2);
    await nvim.command("GeminiAccept a.txt");
    await nvim.command("GeminiAccept b.txt");
    const accepted = await gemini.waitForNotification("ide/diffAccepted", undefined, 10_000);
    t.same(accepted, { filePath: path, content: "three\nmine\n" });
    await qwen.waitForNotification("ide/diffAccepted", undefined, 10_000);
    t.same(gemini.received["ide/diffRejected"], []);
    writeFileSync(path, "three\nmine\n");
  });

  await t.test(":GeminiStop rejects the reviews of Gemini CLI, and keeps the user's edits", async (t) => {
    await gemini.openDiff(path, "five\n");
    await qwen.openDiff(nvim.path("b.txt"), "six\n");
    await edit(nvim);
    await nvim.stopBridge();
    t.same(await gemini.waitForNotification("ide/diffRejected"), { filePath: path });
    t.same(qwen.received["ide/diffRejected"], [], "the question of Qwen Code stays usable");
    await nvim.says(/The review of a\.txt has ended\. Open your edits with :edit gemini:/);
    t.match(keptTexts(nvim), /five\\nmine/);
    await reviews(nvim, 0);
  });

  await t.test("quitting Neovim rejects the reviews of Gemini CLI, and keeps the user's edits", async (t) => {
    await nvim.startBridge();
    [gemini, qwen] = [await connect("gemini"), await connect("qwen")];
    await gemini.openDiff(path, "seven\n");
    await qwen.openDiff(nvim.path("b.txt"), "eight\n");
    await edit(nvim);
    nvim.nvim.notify("nvim_command", ["qall!"]);
    t.same(await gemini.waitForNotification("ide/diffRejected"), { filePath: path });
    await nvim.exited;
    t.same(qwen.received["ide/diffRejected"], []);
    t.match(keptTexts(nvim), /seven\\nmine/);
  });
});

t.test("the death of Neovim rejects the reviews of Gemini CLI", async (t) => {
  const { bridge, nvim } = await startBridge(t, { files: FILES });
  const client = await bridge.client();
  await client.openDiff(nvim.path("a.txt"), "two\n");
  nvim.kill();
  t.same(await client.waitForNotification("ide/diffRejected"), { filePath: nvim.path("a.txt") });
});
