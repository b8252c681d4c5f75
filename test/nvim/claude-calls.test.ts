/**
 * Tests calls of Claude Code's protocol that overlap, use the same name, are cancelled, or follow an invalid message.
 */
import { existsSync, writeFileSync } from "node:fs";
import t from "tap";
import { PROPOSAL, startClaudeBridge } from "../support/claude-bridge.ts";
import { lockOf, SocketClient } from "../support/socket-client.ts";
import { waitFor } from "../support/wait.ts";

/** A Lua expression that returns the names of the files under review, and the first lines of the proposals. */
const SHOWN = `vim.iter(vim.api.nvim_list_bufs()):map(function(buf)
  local diff = vim.b[buf].gemini_diff or {}
  if diff.role == 'proposal' then
    return vim.fs.basename(diff.filePath) .. ' ' .. vim.api.nvim_buf_get_lines(buf, 0, 1, true)[1]
  end
end):join(', ')`;

t.test("a later proposal with the same tab name replaces the earlier proposal", async (t) => {
  const { bridge, nvim } = await startClaudeBridge(t);
  const client = await SocketClient.connect(t, lockOf(bridge));
  const first = client.openDiff(nvim.path("a.txt"), "1\n", "tab");
  await nvim.waitFor(`${SHOWN} == 'a.txt 1'`, "the first proposal");
  const second = client.openDiff(nvim.path("a.txt"), "2\n", "tab");
  t.same(await first, ["DIFF_REJECTED", "tab"]);
  await nvim.waitFor(`${SHOWN} == 'a.txt 2'`, "the second proposal");
  await nvim.lua(`vim.api.nvim_buf_set_lines(${PROPOSAL}, -1, -1, true, { 'mine' })`);

  const third = client.openDiff(nvim.path("b.txt"), "3\n", "tab");
  t.same(await second, ["DIFF_REJECTED", "tab"]);
  await nvim.waitFor(`${SHOWN} == 'b.txt 3'`, "the review of another file");
  t.match(await nvim.messages(), /Open your edits with/);
  await nvim.command("GeminiAccept");
  t.same(await third, ["FILE_SAVED", "3\n"]);
});

t.test(
  "a refused proposal does not receive the decision on a later proposal with the same tab name",
  async (t) => {
    const { bridge, nvim } = await startClaudeBridge(t);
    const client = await SocketClient.connect(t, lockOf(bridge));
    const refused = client.openDiff(nvim.dirs.workspace, "1\n", "tab");
    const shown = client.openDiff(nvim.path("a.txt"), "2\n", "tab");
    await refused;
    await nvim.waitFor(`${SHOWN} == 'a.txt 2'`, "the review");
    await nvim.command("GeminiAccept");
    t.same(await shown, ["FILE_SAVED", "2\n"]);
  },
);

t.test("a decision on a proposal does not answer the next call with the same tab name", async (t) => {
  const { bridge, nvim } = await startClaudeBridge(t);
  const client = await SocketClient.connect(t, lockOf(bridge));
  const path = nvim.path("a.txt");
  const first = client.openDiff(path, "1\n", "tab");
  await nvim.waitFor(`${SHOWN} == 'a.txt 1'`, "the first proposal");
  // The next call reaches the host before the user's decision, because Neovim is busy.
  const accepted = nvim.lua(`vim.fn.writefile({}, 'busy')
    vim.wait(10000, function() return vim.uv.fs_stat('sent') ~= nil end, 10, true)
    vim.uv.sleep(300)
    vim.cmd.GeminiAccept()`);
  await waitFor(() => existsSync(nvim.path("busy")), "Neovim to be busy");
  const second = client.openDiff(path, "2\n", "tab");
  writeFileSync(nvim.path("sent"), "");
  await accepted;
  t.same(await first, ["FILE_SAVED", "1\n"]);
  await nvim.waitFor(`${SHOWN} == 'a.txt 2'`, "the second proposal");
  await nvim.command("GeminiAccept");
  t.same(await second, ["FILE_SAVED", "2\n"]);

  const open = client.openDiff(path, "3\n", "tab");
  await nvim.waitFor(`${SHOWN} == 'a.txt 3'`, "the third proposal");
  t.match(await client.openDiff(nvim.dirs.workspace, "4\n", "tab"), ["error", /is a directory/]);
  await nvim.command("GeminiAccept");
  t.same(await open, ["FILE_SAVED", "3\n"], "a refused call does not end the open review");
});

t.test("a cancelled call closes its review and keeps the user's edits", async (t) => {
  const { bridge, nvim } = await startClaudeBridge(t);
  const client = await SocketClient.connect(t, lockOf(bridge));
  const path = nvim.path("a.txt");
  const args = { old_file_path: path, new_file_path: path, new_file_contents: "1\n", tab_name: "tab" };
  client.send({ id: "cancelled", method: "tools/call", params: { name: "openDiff", arguments: args } });
  await nvim.waitFor(`${SHOWN} == 'a.txt 1'`, "the review");
  await nvim.lua(`vim.api.nvim_buf_set_lines(${PROPOSAL}, -1, -1, true, { 'mine' })`);
  client.send({ method: "notifications/cancelled", params: { requestId: "cancelled" } });
  await nvim.waitFor("#require('gemini-bridge').diffs() == 0", "the end of the review");
  const messages = await nvim.messages();
  t.match(messages, /Claude Code has cancelled its edit\. The review of a\.txt was closed/);
  t.match(messages, /Open your edits with/);
  const next = client.openDiff(path, "2\n", "tab");
  await nvim.waitFor(`${SHOWN} == 'a.txt 2'`, "the next review");
  await nvim.command("GeminiAccept");
  t.same(await next, ["FILE_SAVED", "2\n"]);
});

t.test("no review opens before the client has introduced itself, or after an invalid message", async (t) => {
  const { bridge, nvim } = await startClaudeBridge(t);
  await nvim.lua(`vim.api.nvim_create_autocmd('User', {
    pattern = 'GeminiDiffOpened', callback = function() opened = true end })`);
  const stranger = await SocketClient.open(t, lockOf(bridge));
  t.match(await stranger.openDiff(nvim.path("a.txt"), "1\n"), ["error", /the session has ended/]);
  const client = await SocketClient.connect(t, lockOf(bridge));
  client.socket.send(Buffer.from("{}"));
  const late = client.openDiff(nvim.path("a.txt"), "1\n").catch(String);
  t.equal(await client.closed(), 1003);
  t.match(await late, /lost/);
  // A review of another client shows that all earlier requests were handled.
  const other = await SocketClient.connect(t, lockOf(bridge));
  await other.openDiff(nvim.dirs.workspace, "1\n");
  t.equal(await nvim.lua("return opened"), null);
});
