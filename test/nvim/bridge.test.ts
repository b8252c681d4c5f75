import { mkdirSync, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import t, { type Test } from "tap";
import { RunningBridge, startConnected } from "../support/bridge.ts";
import { type Nvim, startNvim } from "../support/nvim.ts";
import { reload } from "../support/plugin.ts";
import { isAlive } from "../support/processes.ts";
import { shareNvim } from "../support/reset.ts";
import { becomes, waitFor } from "../support/wait.ts";

shareNvim(t);

/** Waits until the messages of the plugin, without the plugin's name, are exactly the given messages. */
async function says(t: Test, nvim: Nvim, wanted: string[]): Promise<void> {
  const said = async () => (await nvim.messages()).trim().replaceAll(/^gemini-bridge: /gm, "");
  await becomes(t, async () => (await said()).split("\n"), wanted);
}

const ENVIRONMENT = ["SERVER_PORT", "WORKSPACE_PATH", "AUTH_TOKEN", "PID"].map(
  (name) => `GEMINI_CLI_IDE_${name}`,
);

t.test("the bridge writes the discovery file and sets the environment", async (t) => {
  const nvim = await startNvim(t, {
    files: { "repo/.git/HEAD": "ref: refs/heads/main\n", "repo/packages/a/x.js": "" },
    env: { GEMINI_CLI_IDE_SERVER_PORT: "1", GEMINI_CLI_IDE_SERVER_STDIO_COMMAND: "code" },
  });
  const inside = nvim.path("repo/packages/a");
  await nvim.lua("vim.fn.chdir(...)", inside);
  await nvim.startBridge();
  const bridge = new RunningBridge(t, nvim);
  const file = bridge.file();

  t.equal(file.mode, 0o600);
  t.equal(statSync(dirname(file.path)).mode & 0o777, 0o700);
  t.equal(file.pid, process.pid, "the parent of Neovim, which a shell in :terminal has for grandparent");
  t.equal(file.port, file.content.port);
  t.same(file.content.ideInfo, { name: "neovim", displayName: "Neovim (a)" });
  t.equal(Buffer.from(file.content.authToken, "base64url").length, 32);
  t.same(file.content.workspacePath.split(":").sort(), [nvim.path("repo"), inside].sort());

  const environment = await nvim.lua(
    "return vim.tbl_map(function(name) return vim.env[name] or '' end, ...)",
    [...ENVIRONMENT, "GEMINI_CLI_IDE_SERVER_STDIO_COMMAND"],
  );
  t.same(environment, [String(file.port), inside, file.content.authToken, String(file.pid), ""]);

  await nvim.command(`cd ${nvim.path("repo")}`);
  await nvim.waitFor(
    () => bridge.file().content.workspacePath === nvim.path("repo"),
    "the file to follow :cd",
  );

  await nvim.stopBridge();
  t.same(bridge.files(), []);
  t.equal(await nvim.lua("return vim.env.GEMINI_CLI_IDE_SERVER_PORT"), "1", "the inherited value is back");
  t.equal(await nvim.lua("return vim.env.GEMINI_CLI_IDE_SERVER_STDIO_COMMAND"), "code");
  t.equal(await nvim.lua("return vim.env.GEMINI_CLI_IDE_AUTH_TOKEN"), null);
  await says(t, nvim, [`The bridge is running on port ${file.port}`, "The bridge has stopped"]);
});

t.test("the context is updated when the user edits, selects and switches files", async (t) => {
  const { bridge, nvim, client } = await startConnected(t, {
    files: { "a.txt": "one\ntwo\nthree\n", "b.txt": "😀 emoji\n" },
    args: ["a.txt"],
  });
  const active = (path: string, line: number, character: number, selectedText?: string) =>
    client.waitForNotification("ide/contextUpdate", ({ workspaceState }) => {
      const [file] = workspaceState?.openFiles ?? [];
      return (
        file?.path === path &&
        file.isActive === true &&
        file.cursor?.line === line &&
        file.cursor.character === character &&
        file.selectedText === selectedText
      );
    });
  await active(nvim.path("a.txt"), 1, 1);
  await nvim.input("jl");
  await active(nvim.path("a.txt"), 2, 2);
  await nvim.input("vj");
  await active(nvim.path("a.txt"), 3, 2, "wo\nth");
  await nvim.input("<Esc>:edit b.txt<CR>w");
  const both = await active(nvim.path("b.txt"), 1, 4);
  t.same(
    both.workspaceState?.openFiles?.map(({ path }) => path),
    [nvim.path("b.txt"), nvim.path("a.txt")],
  );
  t.notOk(both.workspaceState && "isTrusted" in both.workspaceState, "the CLI's own folder trust decides");

  client.received["ide/contextUpdate"].length = 0;
  const late = await bridge.client();
  const first = await late.waitForNotification("ide/contextUpdate");
  t.equal(
    first.workspaceState?.openFiles?.[0]?.path,
    nvim.path("b.txt"),
    "a new stream gets the context at once",
  );
  t.same(client.received["ide/contextUpdate"], [], "nothing changed for the other");
});

t.test("the user decides diffs of a CLI in Neovim", async (t) => {
  const { nvim, client } = await startConnected(t, { files: { "a.txt": "one\n" }, args: ["a.txt"] });
  const path = nvim.path("a.txt");
  const focus = () => nvim.lua("return { vim.api.nvim_get_current_win(), vim.api.nvim_get_current_buf() }");
  const isOver = () => nvim.waitFor("#require('gemini-bridge').diffs() == 0", "the review to close");
  const before = await focus();
  const windows = await nvim.lua("return #vim.api.nvim_list_wins()");

  t.same(await client.openDiff(path, "two\n"), { content: [] });
  t.same(await focus(), before, "the focus stays");
  t.same(await nvim.lua("return require('gemini-bridge').status().diffs"), [
    { filePath: path, client: "streamable-http-client" },
  ]);
  await nvim.command("GeminiReview");
  await nvim.input("oand more<Esc>");
  await nvim.command("GeminiAccept");
  t.same(await client.waitForNotification("ide/diffAccepted"), {
    filePath: path,
    content: "two\nand more\n",
  });
  await isOver();
  t.equal(await nvim.lua("return #vim.api.nvim_list_wins()"), windows);
  t.equal(readFileSync(path, "utf8"), "one\n", "the CLI writes the file, not the plugin");

  t.same(await client.openDiff(path, "three\n"), { content: [] });
  await nvim.command("GeminiReject");
  t.same(await client.waitForNotification("ide/diffRejected"), { filePath: path });
  await isOver();

  t.same(await client.openDiff(nvim.path("new/dir/b.txt"), "b"), { content: [] });
  await nvim.command("GeminiReview");
  await nvim.input("A!<Esc>");
  t.equal(await client.closeDiff(nvim.path("new/dir/b.txt")), "b!", "the CLI's own yes takes the edits");
  await isOver();
  t.equal(client.received["ide/diffAccepted"].length, 1);
  t.equal(client.received["ide/diffRejected"].length, 1, "a close by the CLI notifies nobody");
});

t.test("a proposal that cannot be shown is refused with a reason", async (t) => {
  const { bridge, nvim, client } = await startConnected(t, { files: { "dir/a.txt": "one\n" } });
  mkdirSync(nvim.path("locked"));
  const refusal = async (filePath: string) => {
    const result = await client.openDiff(filePath, "x");
    t.equal(result.isError, true);
    return JSON.stringify(result.content);
  };
  t.match(await refusal("a.txt"), /must be absolute: a\.txt/);
  t.match(await refusal(nvim.path("dir")), /is a directory/);
  t.match(await refusal(nvim.path("dir/a.txt/b")), /cannot be read \(ENOTDIR\)/);
  t.match(await refusal("/dev/null"), /is not a regular file/);
  t.match(await refusal(`${nvim.path("dir")}/\0`), /NUL/);
  const long = await refusal(`/${"x".repeat(1e6)}`);
  t.match(long, /filePath is too long/);
  t.ok(long.length < 1000, "the path is not repeated");
  const unknown = await client.mcp.callTool({
    name: "closeDiff",
    arguments: { filePath: nvim.path("dir/a.txt") },
  });
  t.equal(unknown.isError, true);
  t.match(JSON.stringify(unknown.content), /no diff is open for/);
  t.same(client.errors, []);
  await says(t, nvim, [`The bridge is running on port ${bridge.file().port}`]);
});

t.test("starting the bridge is idempotent, and a stop cancels the start", async (t) => {
  const nvim = await startNvim(t);
  const bridge = new RunningBridge(t, nvim);
  await nvim.lua("local b = require('gemini-bridge') b.start() b.start() b.stop() b.stop()");
  await nvim.bridgeIs("stopped");
  await nvim.lua("local b = require('gemini-bridge') b.start() b.stop() b.start()");
  await nvim.bridgeIs("running");
  await bridge.replaceHost(() => nvim.command("GeminiRestart"));
  await says(t, nvim, [`The bridge was restarted on port ${bridge.file().port}`]);
});

t.test("a failed start of the bridge reports the reason", async (t) => {
  const nvim = await startNvim(t, { init: "require('gemini-bridge').setup({ node = 'no-such-node' })" });
  await nvim.input(":GeminiStart<CR>");
  const messages = await nvim.says(/^gemini-bridge: The bridge did not start: cannot run no-such-node/m);
  t.equal(messages.trim().split("\n").length, 1, "and nothing else");
  await nvim.lua("require('gemini-bridge').setup({ node = 'false' })");
  await nvim.command("GeminiStart");
  await nvim.says("did not start: exit code 1");
  await nvim.bridgeIs("stopped");
  t.equal(await nvim.lua("return vim.env.GEMINI_CLI_IDE_AUTH_TOKEN"), null, "nothing is left half done");
});

t.test("a proposal is not shown for a request that the CLI has cancelled", async (t) => {
  const init = "require('gemini-bridge').setup({ log = { level = 'debug' } })";
  const { bridge, nvim, client } = await startConnected(t, { files: { "a.txt": "" }, args: ["a.txt"], init });
  const path = nvim.path("a.txt");
  const log = String(await nvim.lua("return vim.fn.stdpath('state') .. '/gemini-bridge.log'"));
  /**
   * Sends a request while Neovim answers none. Waits until the host has started the review with this id.
   * @returns a function that cancels the request
   */
  async function propose(id: number, newContent: string) {
    const controller = new AbortController();
    const answer = client.mcp.callTool(
      { name: "openDiff", arguments: { filePath: path, newContent } },
      undefined,
      { signal: controller.signal },
    );
    await waitFor(() => readFileSync(log, "utf8").includes(`review ${id} is open`), "the review");
    return async () => {
      controller.abort();
      await t.rejects(answer);
      await client.mcp.ping(); // so that the host has received the notification
    };
  }
  await nvim.input("g"); // until the next key, Neovim answers no request
  let cancel = await propose(1, "two\n");
  await cancel();
  await nvim.input("<Esc>");
  await nvim.says("Gemini CLI has cancelled its edit. The review of a.txt was closed.");
  t.same((await bridge.status()).diffs, []);

  await nvim.input("g");
  cancel = await propose(2, "three\n");
  await cancel();
  const next = client.openDiff(path, "four\n");
  await nvim.input("<Esc>");
  t.same((await next).content, []);
  t.equal(await client.closeDiff(path), "four\n", "the next request for the file is not affected");
});

t.test("lazy.nvim can reload the plugin while the bridge runs", async (t) => {
  const { bridge, nvim, client } = await startConnected(t, { files: { "a.txt": "one\n" }, args: ["a.txt"] });
  const host = await bridge.host();
  await client.openDiff(nvim.path("a.txt"), "two\n");
  await nvim.input(":GeminiReview<CR>ccmine<Esc>");
  await reload(nvim);
  t.same(bridge.files(), []);
  t.notOk(isAlive(host), "the host has ended");
  t.equal(await nvim.lua("return #vim.api.nvim_list_wins()"), 1, "the review is closed");
  await nvim.says(/Open your edits with :edit /);
  t.equal(await nvim.lua("return vim.env.GEMINI_CLI_IDE_SERVER_PORT"), null);

  await nvim.command("GeminiStart");
  await nvim.bridgeIs("running");
  const next = await bridge.client();
  await next.openDiff(nvim.path("a.txt"), "three\n");
  await nvim.command("GeminiAccept");
  t.match(await next.waitForNotification("ide/diffAccepted"), { content: "three\n" });
});

t.test("each request of Lua is answered once, also if the host hangs or dies", async (t) => {
  const nvim = await startNvim(t);
  const bridge = new RunningBridge(t, nvim);
  await nvim.lua(`
    _G.answers = {}
    function _G.ask(name, timeout)
      local params = { directories = { vim.fn.getcwd() } }
      require('gemini-bridge.bridge.request').send(name, params, function(result, problem)
        table.insert(_G.answers, problem or result)
      end, timeout)
    end`);
  const ask = (...args: unknown[]) => nvim.lua("_G.ask(...)", ...args);
  const answers = () => nvim.lua("local now = _G.answers _G.answers = {} return now");
  const answered = (count: number) => nvim.waitFor(`#_G.answers == ${count}`, "the answers");

  await ask("history");
  t.same(await answers(), ["the bridge is not running: run :GeminiStart"], "at once");
  await nvim.startBridge();
  await ask("history");
  await answered(1);
  t.same(await answers(), [[]]);

  const host = await bridge.host();
  process.kill(host, "SIGSTOP");
  await ask("history", 50);
  await answered(1);
  t.same(await answers(), ["the bridge did not answer in time; see :GeminiLog"]);
  process.kill(host, "SIGCONT");
  await ask("history"); // answered after the request that was too late
  await answered(1);
  t.same(await answers(), [[]], "a late answer is dropped");

  process.kill(host, "SIGSTOP");
  await ask("history");
  await ask("history");
  process.kill(host, "SIGKILL");
  await answered(2);
  t.same(await answers(), Array(2).fill("the bridge has stopped before it answered"));
  await bridge.nextHost(host);
});
