/** Tests that the doctor's statements about the real CLI are true. */
import t, { type Test } from "tap";
import { z } from "zod";
import { type Cli, type CliOptions, startCliInNvim } from "../support/cli.ts";
import { examine } from "../support/doctor.ts";
import { startModel, writesFile } from "../support/model.ts";
import { type Nvim, startNvim } from "../support/nvim.ts";

/** Lua that counts the reviews that open from now on. */
const COUNT = `
_G.opened = 0
vim.api.nvim_create_autocmd('User', { pattern = 'GeminiDiffOpened', callback = function() _G.opened = _G.opened + 1 end })
`;

async function start(t: Test): Promise<Nvim> {
  const nvim = await startNvim(t, { files: { "a.txt": "one\n" }, init: COUNT });
  await nvim.startBridge();
  return nvim;
}

/** Starts the real CLI, waits until it is connected, and returns its process id. */
async function connect(t: Test, nvim: Nvim, options: CliOptions): Promise<{ cli: Cli; pid: number }> {
  const cli = await startCliInNvim(t, nvim, { ...options, env: { REMOTE_CONTAINERS: "true" } });
  await nvim.waitFor("#require('gemini-bridge').status().clients == 1", "the CLI to connect");
  const children = await nvim.lua("return vim.api.nvim_get_proc_children(...)", cli.place.shell);
  const [pid = 0] = z.array(z.int()).min(1).parse(children);
  return { cli, pid };
}

const writing = (path: string, content: string) => writesFile(path, content, "It is written.");

t.test(
  "the doctor reports a CLI that asks before edits as connected, and the CLI opens reviews",
  async (t) => {
    const nvim = await start(t);
    const model = await startModel(t);
    const { cli, pid } = await connect(t, nvim, { model });
    const offered = z
      .array(z.string())
      .parse(await nvim.lua("return vim.fn.getcompletion('GeminiDoctor ', 'cmdline')"));
    t.ok(offered.includes(String(pid)), "completion offers it");
    const { "Gemini CLI": report, "Running CLIs": running } = await examine(nvim, pid);
    t.match(running, new RegExp(`OK process ${pid}: .*, connected to this Neovim`));
    t.match(report, /OK The CLI is connected to this Neovim/);
    t.match(report, /A proposal opens only if the CLI asks before it edits: .*, unless :GeminiGate is on/);
    t.notMatch(report, /ERROR|WARNING/);

    model.say(...writing(nvim.path("a.txt"), "two\n"));
    await cli.type("Please change it.");
    await t.resolves(nvim.waitFor("_G.opened == 1", "the review"));

    await cli.press("1"); // Allow once
    await cli.waitForScreen(/It is written\./);
  },
);
