import { join } from "node:path";
import t, { type Test } from "tap";
import { z } from "zod";
import { RunningBridge } from "../support/bridge.ts";
import { HookedAgent } from "../support/hooked-agent.ts";
import { type Nvim, root, startNvim } from "../support/nvim.ts";
import { descendants } from "../support/processes.ts";

const FIXTURE = join(root, "test/outside/fixtures/terminal-client.mjs");

/** Starts a Neovim in which the CLI is a grandchild of the terminal's program. */
async function start(t: Test): Promise<Nvim> {
  const words = ["sh", "-c", `"${process.execPath}" "${FIXTURE}"; true`].map((word) => JSON.stringify(word));
  return startNvim(t, {
    files: { "a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n" },
    args: ["a.txt"],
    init: `require('gemini-bridge').setup({ terminal = { cmd = { ${words.join(", ")} } } })`,
  });
}

const terminalsOf = async (nvim: Nvim) =>
  z
    .array(z.string())
    .parse(
      await nvim.lua(
        `return vim.tbl_map(function(client) return client.terminal or client.name end,
         require('gemini-bridge.bridge.status').get().clients)`,
      ),
    )
    .sort();
const statusline = (nvim: Nvim) => nvim.lua("return require('gemini-bridge').statusline()");
const open = (nvim: Nvim, terminal: string, file: string) =>
  nvim.lua(
    `local name, path = ...
     local buf = require('gemini-bridge.terminal.terminals').get(name).buf
     vim.fn.chansend(vim.bo[buf].channel, path .. '\\r')`,
    terminal,
    nvim.path(file),
  );

t.test("the host knows which CLI runs in which terminal, also after a crash", async (t) => {
  const nvim = await start(t);
  await nvim.command("Gemini");
  await nvim.waitFor(async () => (await terminalsOf(nvim))[0] === "gemini", "the first");
  t.equal(await statusline(nvim), "Gemini: connected", "one alone has no need of a name");
  await nvim.command("Gemini! name=tests");
  await nvim.waitFor(async () => (await terminalsOf(nvim))[1] === "tests", "the second");
  const bridge = new RunningBridge(t, nvim);
  const outside = await bridge.client();
  t.same(await terminalsOf(nvim), ["gemini", "streamable-http-client", "tests"]);
  t.equal(await statusline(nvim), "Gemini: connected (gemini, tests, Gemini CLI)");

  await open(nvim, "tests", "b.txt");
  await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "a review");
  t.match(await nvim.messages(), /tests proposes a change to b\.txt/);
  t.equal(await statusline(nvim), "Gemini: 1 review (tests)");
  await open(nvim, "gemini", "c.txt");
  await nvim.waitFor("#require('gemini-bridge').diffs() == 2", "another");
  await outside.openDiff(nvim.path("a.txt"), "new\n");
  t.equal(await statusline(nvim), "Gemini: 3 reviews (tests, gemini, Gemini CLI)");
  const asked = await nvim.lua(
    `local asked
     vim.ui.select = function(items, opts) asked = vim.tbl_map(opts.format_item, items) end
     vim.api.nvim_set_current_win(vim.fn.bufwinid(require('gemini-bridge.terminal.terminals').last().buf))
     require('gemini-bridge').accept()
     return asked`,
  );
  t.same(asked, ["b.txt (tests)", "c.txt (gemini)", "a.txt (Gemini CLI)"]);
  const lines = z
    .array(z.string())
    .parse(await nvim.lua("return require('gemini-bridge.report.status_view').lines()"))
    .join("\n");
  t.match(
    lines,
    /Clients {5}Gemini CLI 1\.2\.3 in gemini, connected for \d+ s, has not reported its edits yet: the extension is not installed, run :GeminiExtension install\n {12}Gemini CLI 1\.2\.3 in tests, /,
  );
  t.match(lines, /Reviews {5}b\.txt, from tests\n {12}c\.txt, from gemini\n {12}a\.txt, from Gemini CLI/);

  const family = descendants(
    Number(await nvim.lua("return require('gemini-bridge.terminal.terminals').get('tests').pid")),
  );
  for (const cli of family) {
    const agent = new HookedAgent(bridge, `session ${cli}`, cli);
    await agent.write(`by-${cli}.txt`, "new\n");
    await agent.done();
  }
  await nvim.says(/tests changed 1 file \(\+1 -0\)/);

  await bridge.replaceHost();
  await nvim.waitFor(
    async () => (await terminalsOf(nvim)).filter((name) => /gemini|tests/.test(name)).length === 2,
    "the names of those that came back",
  );
});
