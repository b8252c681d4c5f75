/** Tests that messages in a narrow terminal never cause a "Press ENTER" prompt, which would block the host. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { RunningBridge } from "../support/bridge.ts";
import { startNvim } from "../support/nvim.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);

const LONG = "漢字漢字/a-directory-with-a-name-that-goes-on/and-on";

/** Commands that fail or have no effect. Typed one by one, and all together. */
const MISTAKES = [
  "GeminiStop",
  "GeminiLog",
  "GeminiDoctor whoever",
  "GeminiShare perhaps",
  "GeminiGate perhaps",
  "GeminiEnv --zsh",
  "GeminiEnv",
  "GeminiSend --everything",
  "GeminiSend",
  "GeminiAccept",
  "GeminiReject no/such/file/at/all",
  "GeminiReview",
];

const screens = [
  { columns: 50, set: "cmdheight=1" },
  { columns: 57, set: "cmdheight=0" },
  { columns: 64, set: "cmdheight=2 shortmess-=T" },
  { columns: 80, set: "cmdheight=1 noruler laststatus=3" },
];

for (const { columns, set } of screens) {
  t.test(`the winbar fits into ${columns} columns with ${set}`, async (t) => {
    const nvim = await startNvim(t, {
      tui: { columns, lines: 24 },
      files: { [`${LONG}/a.txt`]: "a\n", [`${LONG}/b.txt`]: "b\n" },
      init: `
        vim.cmd("set ${set}")
        require("gemini-bridge.host.boot").limits.reconnect_ms = 1000
        require("gemini-bridge").setup({
          hots = "shared", autostart = 1, diff = { layout = "sideways" },
          terminal = { cmd = { "no-such-program-in-any-directory-of-this-machine" } },
          workspace = function() error("the option's own function fails") end,
        })`,
    });
    const bridge = new RunningBridge(t, nvim);
    let before = "";

    /** Waits until a new message was shown and Neovim waits for keys. */
    async function isFree(what: string, pattern = /./): Promise<void> {
      await nvim.waitFor(async () => {
        const history = await nvim.messages();
        // With 'cmdheight' 0, a long message has several lines in the history.
        const said = history !== before && pattern.test(history.replaceAll("\n", ""));
        if (said) before = history;
        return said;
      }, `what is said of ${what}`);
      const { mode, blocking } = await nvim.nvim.mode;
      t.match({ mode, blocking }, { mode: /^[nt]/, blocking: false }, what);
      t.notMatch((await nvim.screen()).join("\n"), /Press ENTER|-- More/, what);
    }

    await isFree("options", /did you mean host/);
    for (const command of MISTAKES) {
      await nvim.command("messages clear");
      before = await nvim.messages();
      await nvim.input(`:${command}<CR>`);
      await isFree(command);
    }
    await nvim.input(
      `:silent! ${MISTAKES.filter((command) => !/Send|Acc|Rej|Rev/.test(command)).join(" | ")}<CR>`,
    );
    await isFree("all at once");

    await nvim.input(":Gemini<CR>");
    await isFree("no program", /cannot be run/);
    writeFileSync(join(nvim.dirs.tmp, "gemini"), "in the way");
    await nvim.input(":GeminiStart<CR>");
    await isFree("a start with a warning", /cannot find this/);
    await nvim.bridgeIs("running");
    await nvim.stopBridge();
    await nvim.lua("vim.uv.fs_unlink(...)", join(nvim.dirs.tmp, "gemini"));
    await nvim.input(":GeminiStart<CR>");
    await nvim.bridgeIs("running");
    await isFree("a start", /The bridge is running on/);
    await nvim.input(":GeminiStart<CR>");
    await isFree("another", /is already running/);

    const separated = nvim.path(`${LONG}/with:colon`);
    mkdirSync(separated);
    await nvim.command(`cd ${separated}`);
    await isFree("a directory that cannot be listed", /Gemini CLI in/);

    const client = await bridge.client();
    await client.openDiff(nvim.path(LONG, "a.txt"), "A\n");
    await client.openDiff(nvim.path(LONG, "b.txt"), "B\n");
    await isFree("proposals", /b\.txt/);
    await client.close();
    await nvim.waitFor("#require('gemini-bridge').diffs() == 0", "the reviews to close");
    await isFree("reviews that close", /has disconnected/);

    const host = await bridge.host();
    process.kill(host, "SIGKILL");
    await isFree("a host that dies", /has crashed/);
    await bridge.nextHost(host);
    await nvim.input(":GeminiStop<CR>");
    await isFree("a stop", /has stopped/);
  });
}
