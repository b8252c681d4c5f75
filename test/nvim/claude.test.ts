/** Tests Claude Code's protocol with a scripted client: lock file, reviews, context, and lost connections. */
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { startBridge } from "../support/bridge.ts";
import { PROPOSAL, startClaudeBridge } from "../support/claude-bridge.ts";
import { connectClient } from "../support/client.ts";
import { lockOf, readLocks, SocketClient } from "../support/socket-client.ts";
import { waitFor } from "../support/wait.ts";

/** A Lua expression that returns the names of the connected CLIs. */
const CLIS = "vim.tbl_map(function(client) return client.cli end, require('gemini-bridge').status().clients)";

t.test(
  "Claude Code's lock file is private, names this Neovim, and is removed when Neovim ends",
  async (t) => {
    const { bridge, nvim } = await startClaudeBridge(t);
    const lock = lockOf(bridge);
    t.match(lock, {
      pid: await nvim.lua("return vim.fn.getpid()"),
      workspaceFolders: [nvim.dirs.workspace],
      ideName: "Neovim (workspace)",
      port: (await bridge.status()).port,
      mode: 0o600,
    });
    t.equal(statSync(join(nvim.dirs.home, ".claude/ide")).mode & 0o777, 0o700);
    t.equal(await nvim.lua("return vim.env.CLAUDE_CODE_SSE_PORT"), String(lock.port));
    t.not(await nvim.lua("return vim.env.CLAUDE_CODE_IDE_AUTH_TOKEN"), lock.authToken, "the token of hooks");

    rmSync(lock.path);
    await waitFor(() => readLocks(nvim.dirs.home).length === 1, "the lock file to be restored");
    t.equal(lockOf(bridge).authToken, lock.authToken);
    await nvim.stopBridge();
    t.same(readLocks(nvim.dirs.home), []);
    await nvim.startBridge();
    process.kill(Number(await nvim.lua("return vim.fn.getpid()")), "SIGKILL");
    await waitFor(() => readdirSync(join(nvim.dirs.home, ".claude/ide")).length === 0, "the lock file to go");
  },
);

t.test("no lock file is written if Claude Code is not installed or is switched off", async (t) => {
  const { bridge: without } = await startBridge(t);
  t.same(readdirSync(without.nvim.dirs.home).includes(".claude"), false);
  t.equal(await without.nvim.lua("return vim.env.CLAUDE_CODE_SSE_PORT"), null);
  const { bridge: off } = await startClaudeBridge(t, {
    init: "require('gemini-bridge').setup({ clis = { claude = false } })",
  });
  t.same(readLocks(off.nvim.dirs.home), []);
});

t.test("the lock files of other editors are not removed", async (t) => {
  const { nvim } = await startClaudeBridge(t, {
    files: {
      // Lock files of two dead processes. One belongs to another plugin, the other to a Neovim with this plugin.
      "../home/.claude/ide/1.lock": JSON.stringify({ pid: 4_194_300, ideName: "Neovim", transport: "ws" }),
      "../home/.claude/ide/2.lock": JSON.stringify({
        pid: 4_194_300,
        ppid: 4_194_300,
        ideInfo: { name: "neovim", displayName: "Neovim" },
      }),
    },
    init: "for _, name in ipairs({ '1', '2' }) do vim.uv.fs_utime(vim.env.HOME .. '/.claude/ide/' .. name .. '.lock', 0, 0) end",
  });
  const names = () => readdirSync(join(nvim.dirs.home, ".claude/ide")).sort();
  await waitFor(() => !names().includes("2.lock"), "the leftover to go");
  t.ok(names().includes("1.lock"));
});

t.test("the answer to an accepted proposal contains the text with the user's edits", async (t) => {
  const { bridge, nvim } = await startClaudeBridge(t);
  const client = await SocketClient.connect(t, lockOf(bridge));
  await nvim.waitFor("#require('gemini-bridge').status().clients == 1", "the client");
  t.match(await nvim.lua("return require('gemini-bridge').status().clients[1]"), {
    cli: "claude",
    name: "claude-code",
    version: "2.1.330",
  });
  t.match(await nvim.lua("return require('gemini-bridge').statusline()"), /connected/);
  await nvim.command("edit a.txt");
  const path = nvim.path("a.txt");

  t.same(await client.call("closeAllDiffTabs", {}), ["CLOSED_0_DIFF_TABS"]);
  const unedited = client.openDiff(path, "one\n2\nthree\n", "first");
  await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the review");
  await nvim.command("GeminiAccept");
  t.same(await unedited, ["FILE_SAVED", "one\n2\nthree\n"]);
  t.same(await client.call("close_tab", { tab_name: "first" }), ["TAB_CLOSED"]);
  writeFileSync(path, "one\n2\nthree\n");

  const edited = client.openDiff(path, "one\n2\n3\n", "second");
  await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the next review");
  await nvim.lua(`vim.api.nvim_buf_set_lines(${PROPOSAL}, -1, -1, true, { 'mine' })`);
  await nvim.command("GeminiAccept");
  t.same(await edited, ["FILE_SAVED", "one\n2\n3\nmine\n"]);

  const rejected = client.openDiff(path, "none\n", "third");
  await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the last review");
  await nvim.command("GeminiReject");
  t.same(await rejected, ["DIFF_REJECTED", "third"]);
  await nvim.waitFor("#require('gemini-bridge').diffs() == 0", "no review");
});

t.test("accepted texts equal the proposed texts exactly", async (t) => {
  const { bridge, nvim } = await startClaudeBridge(t, {
    files: { "crlf.txt": "a\r\nb\r\n", "bom.txt": "\uFEFFa\n" },
  });
  const client = await SocketClient.connect(t, lockOf(bridge));
  const large = `${"x".repeat(99)}\n`.repeat(20_000);
  const texts: [string, string][] = [
    ["crlf.txt", "a\nB\n"],
    ["crlf.txt", "a\r\nB\r\n"],
    ["bom.txt", "\uFEFFb\n"],
    ["a.txt", "no end of line"],
    ["new.txt", "\u{1F600} \u0000 new\n"],
    ["large.txt", large],
  ];
  for (const [name, text] of texts) {
    const answer = client.openDiff(nvim.path(name), text);
    await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the review");
    await nvim.command("GeminiAccept");
    const [outcome, content] = await answer;
    t.equal(outcome, "FILE_SAVED", name);
    t.ok(content === text, name);
  }
});

t.test("accepting an unchanged text counts as a rejection, and a message says so", async (t) => {
  const { bridge, nvim } = await startClaudeBridge(t);
  const client = await SocketClient.connect(t, lockOf(bridge));
  const answer = client.openDiff(nvim.path("a.txt"), "1\n", "tab");
  await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the review");
  await nvim.lua(`vim.api.nvim_buf_set_lines(${PROPOSAL}, 0, -1, true, { 'one', 'two', 'three' })`);
  await nvim.command("GeminiAccept");
  t.same(await answer, ["DIFF_REJECTED", "tab"]);
  await nvim.says(
    /You accepted a text for a\.txt that equals the file: Claude Code treats this as a rejection/,
  );
});

t.test("an answer in Claude Code's terminal closes the review and keeps the user's edits", async (t) => {
  const { bridge, nvim } = await startClaudeBridge(t);
  const client = await SocketClient.connect(t, lockOf(bridge));
  const path = nvim.path("a.txt");
  const first = client.openDiff(path, "1\n", "first");
  await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the review");
  await nvim.lua(`vim.api.nvim_buf_set_lines(${PROPOSAL}, -1, -1, true, { 'mine' })`);
  t.same(await client.call("close_tab", { tab_name: "first" }), ["TAB_CLOSED"]);
  t.same(await first, ["DIFF_REJECTED", "first"], "an answer that the CLI ignores");
  await nvim.waitFor("#require('gemini-bridge').diffs() == 0", "the end of the review");
  t.match(await nvim.messages(), /Open your edits with/);

  const open = ["b", "c"].map((name) => client.openDiff(nvim.path(name), "new\n", name));
  await nvim.waitFor("#require('gemini-bridge').diffs() == 2", "two reviews");
  t.same(await client.call("closeAllDiffTabs", {}), ["CLOSED_2_DIFF_TABS"]);
  // An agent may still wait for a decision. Without one, the CLI goes on asking in its terminal.
  for (const answer of await Promise.all(open)) t.same(answer, ["error", "the CLI has closed the review"]);
  await nvim.waitFor("#require('gemini-bridge').diffs() == 0", "the end of the reviews");
  await nvim.says(
    "the edit of c by Claude Code (the CLI has closed the review). Answer in the terminal of the CLI.",
  );
  t.same(await client.call("close_tab", { tab_name: "none" }), ["TAB_CLOSED"]);
});

t.test("a path that cannot be reviewed is refused, so that the CLI asks in its terminal", async (t) => {
  const { bridge } = await startClaudeBridge(t);
  const client = await SocketClient.connect(t, lockOf(bridge));
  t.match(await client.openDiff(bridge.nvim.dirs.workspace, "x"), ["error", /is a directory/]);
  const warning =
    `Neovim cannot show the edit of workspace by Claude Code (${bridge.nvim.dirs.workspace} is a directory). ` +
    "Answer in the terminal of the CLI.";
  await bridge.nvim.says(warning);
  t.match(await client.openDiff("a.txt", "x"), ["error", /must be absolute/]);
  t.match(await client.call("openDiff", {}), ["error", /./]);
  await t.rejects(client.request("unknown/method", {}), /-32601/);
});

t.test("two clients work beside Gemini CLI and Qwen Code, and each gets its own outcomes", async (t) => {
  const { bridge, nvim } = await startClaudeBridge(t, { files: { "../home/.qwen/keep": "" } });
  const lock = lockOf(bridge);
  const [one, two] = [await SocketClient.connect(t, lock), await SocketClient.connect(t, lock)];
  const gemini = await bridge.client();
  const token = String(await nvim.lua("return vim.env.QWEN_CODE_IDE_AUTH_TOKEN"));
  const qwen = await connectClient(t, { port: lock.port, token, name: "qwen" });
  const path = nvim.path("a.txt");
  const first = one.openDiff(path, "first\n", "tab").catch(String);
  await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "a review");
  const second = two.openDiff(path, "second\n", "tab");
  await nvim.waitFor("#require('gemini-bridge').diffs() == 2", "two reviews");
  await gemini.openDiff(path, "third\n");
  const other = nvim.path("b.txt");
  await qwen.openDiff(other, "fourth\n");
  await nvim.waitFor("#require('gemini-bridge').diffs() == 4", "four reviews");
  await nvim.command(`GeminiReject ${other}`);
  t.same(await qwen.waitForNotification("ide/diffRejected"), { filePath: other });
  one.socket.terminate();
  await nvim.waitFor("#require('gemini-bridge').diffs() == 2", "the end of one");
  t.match(await first, /lost/);
  t.same(await two.call("close_tab", { tab_name: "tab" }), ["TAB_CLOSED"]);
  t.same(await second, ["DIFF_REJECTED", "tab"]);
  await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the last one");
  await nvim.command("GeminiAccept");
  t.equal((await gemini.waitForNotification("ide/diffAccepted")).content, "third\n");
  t.same([...qwen.received["ide/diffAccepted"], ...gemini.received["ide/diffRejected"]], []);
  t.same(await nvim.lua(`return ${CLIS}`), ["gemini", "qwen", "claude"]);
});

t.test("opencode is recognized by its name, and uses the same lock file", async (t) => {
  const { bridge, nvim } = await startClaudeBridge(t, {
    init: "vim.fn.mkdir(vim.fn.stdpath('config') .. '/../opencode', 'p')",
  });
  const lock = lockOf(bridge);
  await SocketClient.connect(t, lock);
  await SocketClient.connect(t, lock, "opencode");
  await nvim.waitFor("#require('gemini-bridge').status().clients == 2", "both");
  t.same(await nvim.lua(`return ${CLIS}`), ["claude", "opencode"]);
  t.not(
    await nvim.lua("return vim.env.OPENCODE_IDE_AUTH_TOKEN"),
    await nvim.lua("return vim.env.CLAUDE_CODE_IDE_AUTH_TOKEN"),
  );
});

t.test("opencode finds its lock file in the home directory if Claude Code has another folder", async (t) => {
  const { bridge, nvim } = await startClaudeBridge(t, {
    init: `vim.fn.mkdir(vim.fn.stdpath('config') .. '/../opencode', 'p')
      vim.env.CLAUDE_CONFIG_DIR = vim.fn.getcwd() .. '/claude'
      vim.fn.mkdir(vim.env.CLAUDE_CONFIG_DIR)`,
  });
  await SocketClient.connect(t, lockOf(bridge), "opencode");
  await nvim.waitFor("#require('gemini-bridge').status().clients == 1", "opencode");
  t.same(await nvim.lua(`return ${CLIS}`), ["opencode"]);
  t.match(readdirSync(nvim.path("claude/ide")), [/^\d+\.lock$/]);
});

t.test(
  "the active file and the selected lines are sent only once, and excluded files are never sent",
  async (t) => {
    const { bridge, nvim } = await startClaudeBridge(t, {
      files: { "b.txt": "é𝄞x\nsecond\n", ".geminiignore": "secret.txt\n", "secret.txt": "key\n" },
    });
    await nvim.command("edit a.txt");
    const client = await SocketClient.connect(t, lockOf(bridge));
    const none = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 }, isEmpty: true };
    const path = nvim.path("a.txt");
    const first = await client.selected(({ filePath }) => filePath === path, "the active file");
    t.same(first, { text: "", filePath: path, fileUrl: `file://${path}`, selection: none });

    await nvim.input("jVj");
    const lines = await client.selected(({ text }) => text === "two\nthree", "the selected lines");
    t.same(lines.selection, {
      start: { line: 1, character: 0 },
      end: { line: 3, character: 0 },
      isEmpty: false,
    });
    await nvim.input("<Esc>gg");
    await client.until(() => client.selections.at(-1)?.selection.isEmpty || undefined, "no selection");
    await nvim.command("edit b.txt");
    await nvim.input("lvl");
    const part = await client.selected(({ text }) => text === "𝄞x", "the selected characters");
    t.same(part.selection, {
      start: { line: 0, character: 1 },
      end: { line: 0, character: 4 },
      isEmpty: false,
    });
    await nvim.input("<Esc>");
    await client.until(() => client.selections.at(-1)?.selection.isEmpty || undefined, "no selection");

    const before = client.selections.length;
    await nvim.input("jhl");
    await nvim.command("edit secret.txt");
    await client.until(() => client.selections[before], "the next");
    t.match(client.selections[before], { filePath: "", text: "" }, "no movement, and no private file");
    t.notOk(client.selections.some(({ filePath }) => filePath.includes("secret")));
    await nvim.command("edit a.txt");
    await client.until(() => (client.selections.at(-1)?.filePath === path ? true : undefined), "the file");
    await nvim.command("GeminiShare off");
    await client.until(() => (client.selections.at(-1)?.filePath === "" ? true : undefined), "nothing");
  },
);

t.test("Claude Code gets the diagnostics that Neovim already has, for shared files only", async (t) => {
  const { bridge, nvim } = await startClaudeBridge(t, {
    files: { ".geminiignore": "secret.txt\n", "secret.txt": "key\n" },
  });
  await nvim.lua(`local ns = vim.api.nvim_create_namespace('test')
    for _, name in ipairs({ 'secret.txt', 'a.txt' }) do
      vim.cmd.edit(name)
      vim.diagnostic.set(ns, 0, {
        { lnum = 1, col = 2, message = 'wrong', severity = vim.diagnostic.severity.WARN, source = 'test', code = 7 },
      })
    end`);
  const client = await SocketClient.connect(t, lockOf(bridge));
  const uri = `file://${nvim.path("a.txt")}`;
  const start_ = { line: 1, character: 2 };
  const expected = [
    {
      uri,
      diagnostics: [
        {
          message: "wrong",
          severity: "Warning",
          range: { start: start_, end: start_ },
          source: "test",
          code: 7,
        },
      ],
    },
  ];
  const ask = async (args: object) => JSON.parse((await client.call("getDiagnostics", args))[0] ?? "");
  t.same(await ask({ uri }), expected);
  t.same(await ask({}), expected);
  t.same(await ask({ uri: `file://${nvim.path("secret.txt")}` }), []);
  t.same(await ask({ uri: "file:///etc/passwd" }), []);
  await nvim.command("GeminiShare off");
  t.same(await ask({}), []);
});

t.test(
  "after a crash of the host, Claude Code reconnects with its token, and its review is closed",
  async (t) => {
    const { bridge, nvim } = await startClaudeBridge(t);
    const lock = lockOf(bridge);
    const client = await SocketClient.connect(t, lock);
    const answer = client.openDiff(nvim.path("a.txt"), "1\n").catch(String);
    await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the review");
    await nvim.lua(`vim.api.nvim_buf_set_lines(${PROPOSAL}, -1, -1, true, { 'mine' })`);
    const host = await bridge.crash();
    t.match(await answer, /lost/);
    // The CLI reconnects immediately. Its request waits until the host has loaded the application.
    await waitFor(
      async () => (await SocketClient.open(t, lock).catch(() => undefined)) !== undefined,
      "the port",
    );
    await bridge.nextHost(host);
    await nvim.waitFor("#require('gemini-bridge').diffs() == 0", "the end of the review");
    t.match(await nvim.messages(), /Open your edits with/);
    t.same(lockOf(bridge), { ...lock });
    const again = await SocketClient.connect(t, lock);
    const next = again.openDiff(nvim.path("a.txt"), "2\n");
    await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "a review");
    await nvim.command("GeminiAccept");
    t.same(await next, ["FILE_SAVED", "2\n"]);
  },
);

t.test("if the client has given up during an outage, the lock file has a new token", async (t) => {
  const { bridge, nvim } = await startClaudeBridge(t);
  const lock = lockOf(bridge);
  const hooks = await nvim.lua("return vim.env.CLAUDE_CODE_IDE_AUTH_TOKEN");
  const client = await SocketClient.connect(t, lock);
  // As if the bridge had stopped 16 s ago.
  await nvim.lua(`local time = vim.uv.gettimeofday
    vim.uv.gettimeofday = function() local seconds, micros = time() return seconds - 16, micros end`);
  await nvim.command("GeminiStop");
  t.equal(await client.closed(), 1001);
  await nvim.bridgeIs("stopped");
  await nvim.command("GeminiStart");
  await nvim.command("GeminiStop"); // before the host runs, so that the outage continues
  await nvim.bridgeIs("stopped");
  await nvim.startBridge();
  const next = lockOf(bridge);
  t.equal(next.port, lock.port);
  t.not(next.authToken, lock.authToken);
  t.equal(
    await nvim.lua("return vim.env.CLAUDE_CODE_IDE_AUTH_TOKEN"),
    hooks,
    "hooks of a running CLI still arrive",
  );
  await t.rejects(SocketClient.open(t, lock), /401/);
  await SocketClient.connect(t, next);
});

t.test("a foreign lock file at the path of the bridge's own is not overwritten", async (t) => {
  const { bridge } = await startClaudeBridge(t);
  const lock = lockOf(bridge);
  const other = `${lock.path}.other`;
  writeFileSync(other, readFileSync(lock.path, "utf8").replace(lock.authToken, "another"));
  renameSync(other, lock.path);
  await bridge.nvim.stopBridge();
  t.equal(readLocks(bridge.nvim.dirs.home).length, 1);
});
