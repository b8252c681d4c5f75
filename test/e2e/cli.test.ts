import { existsSync, readFileSync } from "node:fs";
import t, { type Test } from "tap";
import { z } from "zod";
import { RunningBridge } from "../support/bridge.ts";
import { startCliInNvim } from "../support/cli.ts";
import { startModel, writesFile } from "../support/model.ts";
import { startNvim } from "../support/nvim.ts";

const ORIGINAL = "const greeting = 'Hello';\nconst name = 'world';\nconsole.log(greeting, name);\n";

/** A Lua expression that returns the proposal under review and its windows, or nil. */
const PROPOSAL = `(function()
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local diff = vim.b[buf].gemini_diff
    if diff and diff.role == 'proposal' then
      return { name = vim.api.nvim_buf_get_name(buf), filePath = diff.filePath, windows = vim.fn.win_findbuf(buf) }
    end
  end
end)()`;
const Proposal = z.object({ name: z.string(), filePath: z.string(), windows: z.array(z.int()).length(1) });

/** Lua that returns the lines of a file's buffer. */
const LINES = "return vim.api.nvim_buf_get_lines(vim.fn.bufnr(...), 0, -1, true)";

t.test("Gemini CLI in a terminal receives the context, and its proposals are shown in Neovim", async (t) => {
  const nvim = await startNvim(t, { files: { "greet.js": ORIGINAL, "notes.md": "# Notes\n" } });
  const model = await startModel(t);
  const path = nvim.path("greet.js");
  const onDisk = () => readFileSync(path, "utf8");
  const inBuffer = async () =>
    `${z
      .array(z.string())
      .parse(await nvim.lua(LINES, path))
      .join("\n")}\n`;
  /** Returns the focus, the mode and the windows. */
  const whereabouts = () =>
    nvim.lua("return { vim.api.nvim_get_current_win(), vim.api.nvim_get_mode().mode, vim.fn.winlayout() }");

  /** Waits for the review. Moves the focus from the terminal to the proposal, as a user would. */
  async function enterProposal(t: Test): Promise<z.infer<typeof Proposal>> {
    await cli.waitForScreen(/Apply this change\?/);
    const proposal = Proposal.parse(await nvim.waitFor(PROPOSAL, "the proposal"));
    t.match(await whereabouts(), [cli.place.win, /^n?t$/], "the focus stays in the CLI");
    await nvim.input("<C-\\><C-n>");
    await nvim.lua("vim.api.nvim_set_current_win(...)", proposal.windows[0]);
    return proposal;
  }
  const reviewIsOver = () => nvim.waitFor(`${PROPOSAL} == nil`, "the review to close");

  await nvim.command("edit notes.md");
  await nvim.input(":GeminiStart<CR>");
  await nvim.bridgeIs("running");
  const bridge = new RunningBridge(t, nvim);
  const discovery = bridge.file();
  const observer = await bridge.client("observer");
  const cli = await startCliInNvim(t, nvim, { model });

  await t.test("Gemini CLI connects", async (t) => {
    await t.resolves(
      nvim.waitFor(
        async () => /Connected to Neovim/.test(await cli.slash("/ide status")),
        "the CLI to connect",
      ),
      "/ide status says Connected to Neovim",
    );
  });

  await t.test("the CLI's prompt to the model contains file, cursor and selection", async (t) => {
    await nvim.input(":edit greet.js<CR>2G0wve");
    await observer.waitForNotification(
      "ide/contextUpdate",
      ({ workspaceState }) =>
        workspaceState?.openFiles?.some(({ selectedText }) => selectedText === "name") ?? false,
    );
    await nvim.input("<C-w>li");
    model.say([{ text: "It is a name." }]);
    await cli.type("Explain this.");
    await cli.waitForScreen(/It is a name\./);
    t.match(model.promptText(), /Explain this\./);
    t.match(model.editorContexts(), [
      {
        activeFile: { path, cursor: { line: 2, character: 10 }, selectedText: "name" },
        otherOpenFiles: [nvim.path("notes.md")],
      },
    ]);
  });

  await t.test("the CLI writes a proposal with the edits that the user has made in Neovim", async (t) => {
    const [win, , layout] = z.array(z.unknown()).parse(await whereabouts());
    model.say(...writesFile(path, ORIGINAL.replace("Hello", "Good day"), "The greeting is new."));
    await cli.type("Please greet more formally.");
    const { name, filePath } = await enterProposal(t);
    t.match(name, /^gemini:\/\/\d+\//);
    t.ok(name.endsWith("/greet.js"), "the name ends with the relative path");
    t.equal(filePath, path);
    t.equal(onDisk(), ORIGINAL, "nothing is written before the decision");

    await nvim.input("Go// edited in Neovim<Esc>:GeminiAccept<CR>");
    await cli.waitForScreen(/The greeting is new\./);
    await cli.waitForScreen(/greet\.js → Accepted/);
    const edited = `${ORIGINAL.replace("Hello", "Good day")}// edited in Neovim\n`;
    t.equal(onDisk(), edited);
    await reviewIsOver();
    t.same(await whereabouts(), [win, "nt", layout], "focus and windows are as before, in Normal mode");
    await t.resolves(
      nvim.waitFor(async () => (await inBuffer()) === edited, "the file's buffer to reload"),
      "the file's buffer shows what was written",
    );
  });

  await t.test("the answer yes in the CLI accepts the proposal with the edits made in Neovim", async (t) => {
    model.say(...writesFile(path, "console.log('short');\n", "It is shorter."));
    await cli.type("Please make it shorter.");
    await enterProposal(t);
    await nvim.input("ggO// from the proposal<Esc>");
    await cli.press("\r");
    await cli.waitForScreen(/It is shorter\./);
    t.equal(onDisk(), "// from the proposal\nconsole.log('short');\n");
    await reviewIsOver();
  });

  await t.test("a rejected proposal does not change the file", async (t) => {
    const before = onDisk();
    model.say(...writesFile(path, "nonsense\n", "").slice(0, 1)); // the rejection ends the turn
    await cli.type("Please spoil it.");
    await enterProposal(t);
    await nvim.input(":GeminiReject<CR>");
    await cli.waitForScreen(/greet\.js → Rejected/);
    await cli.waitForScreen(/Request cancelled/);
    t.equal(onDisk(), before);
    await reviewIsOver();
    t.same(observer.received["ide/diffAccepted"], [], "another client hears of no outcome");
    t.same(observer.received["ide/diffRejected"], []);
    t.same(observer.errors, []);
  });

  await t.test("stopping the bridge cancels an open proposal, and disconnects Gemini CLI", async (t) => {
    const before = onDisk();
    model.say(...writesFile(path, "stopped\n", "").slice(0, 1));
    await cli.type("Please change it once more.");
    await enterProposal(t);
    await nvim.input(":GeminiStop<CR>");
    await nvim.bridgeIs("stopped");
    await cli.waitForScreen(/once more[\s\S]*Request cancelled[\s\S]*Type your message/);
    t.equal(onDisk(), before);
    t.notOk(existsSync(discovery.path), "the discovery file is gone");
    await t.resolves(
      nvim.waitFor(async () => /Disconnected/.test(await cli.slash("/ide status")), "the CLI to notice"),
    );
  });
});
