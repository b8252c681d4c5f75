/** Tests reviews that end in several ways at the same time. Each review must have exactly one outcome. */
import t, { type Test } from "tap";
import { startConnected } from "../support/bridge.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);

/** Runs Lua in the tick in which a call of the host arrives, just before the call is carried out. */
const before = (call: string, code: string) => `
  local rpc = require('gemini-bridge.calls')
  local carry_out = rpc.call
  function rpc.call(name, params, ...)
    if name == '${call}' then
      rpc.call = carry_out
      ${code}
    end
    return carry_out(name, params, ...)
  end`;

const ACCEPT = "require('gemini-bridge').accept({})";

async function start(t: Test) {
  const { bridge, client } = await startConnected(t, { files: { "a.txt": "one\n" } });
  const path = bridge.nvim.path("a.txt");
  await client.openDiff(path, "two\n");
  return { bridge, nvim: bridge.nvim, client, path };
}

t.test("a refused replacement of the text changes neither the review nor its record", async (t) => {
  const { nvim, client, path } = await start(t);
  await nvim.lua(before("diff_open", "return { error = 'not now' }"));
  const refused = await client.openDiff(path, "three\n");
  t.equal(refused.isError, true);
  t.match(JSON.stringify(refused.content), /not now/);
  await nvim.lua(ACCEPT);
  t.same(await client.waitForNotification("ide/diffAccepted"), { filePath: path, content: "two\n" });
});

t.test("if replacing the text fails, accepting uses the earlier text", async (t) => {
  const { nvim, client, path } = await start(t);
  await nvim.lua(`for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.b[buf].gemini_diff then vim.bo[buf].modifiable = false end
  end`);
  const second = await client.openDiff(path, "three\n");
  await nvim.lua(ACCEPT);
  const content = second.isError ? "two\n" : "three\n";
  t.same(await client.waitForNotification("ide/diffAccepted"), { filePath: path, content });
});

t.test("only an edited text is sent back to the host", async (t) => {
  const { nvim, client, path } = await start(t);
  await nvim.lua(`
    local send = vim.rpcnotify
    function vim.rpcnotify(channel, method, event, payload)
      if event == 'diff_accepted' then _G.sent = payload end
      return send(channel, method, event, payload)
    end`);
  const proposal = (code: string) => `
    local wins = vim.api.nvim_list_wins()
    local win = vim.iter(wins):find(function(win) return vim.b[vim.api.nvim_win_get_buf(win)].gemini_diff end)
    vim.api.nvim_win_call(win, function() ${code} end)`;
  for (const [name, edit, content, travels] of [
    ["as it came", "", "two\n", false],
    ["edited", "vim.cmd.normal('Athree')", "twothree\n", true],
    ["edited and taken back", "vim.cmd.normal('Ax') vim.cmd.undo()", "two\n", false],
    ["replaced and edited", "vim.cmd.normal('Ay')", "fory\n", true],
  ] as const) {
    if (name.startsWith("replaced")) await client.openDiff(path, "for\n");
    await nvim.lua(`${proposal(edit)} ${ACCEPT}`);
    const accepted = await client.waitForNotification("ide/diffAccepted");
    t.same(accepted, { filePath: path, content }, name);
    t.equal(await nvim.lua("return _G.sent.content ~= nil"), travels, name);
    client.received["ide/diffAccepted"].length = 0;
    await client.openDiff(path, "two\n");
  }
});

t.test("an acceptance arrives even if the CLI closes the review at the same time", async (t) => {
  const { nvim, client, path } = await start(t);
  await nvim.lua(before("diff_close", ACCEPT));
  await client.closeDiff(path);
  t.same(await client.waitForNotification("ide/diffAccepted"), { filePath: path, content: "two\n" });
  await nvim.waitFor("#require('gemini-bridge.review.records').decided() == 0", "the decision to be settled");
});

t.test(
  "an acceptance arrives even if a new text comes at the same time, and the new text opens a new review",
  async (t) => {
    const { nvim, client, path } = await start(t);
    await nvim.lua(before("diff_open", ACCEPT));
    t.same(await client.openDiff(path, "three\n"), { content: [] });
    t.same(await client.waitForNotification("ide/diffAccepted"), { filePath: path, content: "two\n" });
    await nvim.lua(ACCEPT);
    t.same(await client.waitForNotification("ide/diffAccepted", ({ content }) => content === "three\n"), {
      filePath: path,
      content: "three\n",
    });
  },
);

t.test(
  "if a client disconnects during an acceptance, the accepted text is kept, and a message names it",
  async (t) => {
    const { bridge, nvim, client, path } = await start(t);
    await client.openDiff(nvim.path("b.txt"), "b\n");
    await nvim.lua(
      before("diff_close", `require('gemini-bridge').accept({ path = ${JSON.stringify(path)} })`),
    );
    const session = (await bridge.status()).clients[0]?.id ?? "";
    const { port, content } = bridge.file();
    await fetch(`http://127.0.0.1:${port}/mcp`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${content.authToken}`, "mcp-session-id": session },
    });
    await nvim.waitFor("#require('gemini-bridge').diffs() == 0", "the reviews to close");
    await nvim.waitFor(
      "#require('gemini-bridge.review.records').decided() == 0",
      "the decision to be settled",
    );
    t.match(await nvim.messages(), /Open the accepted text of a\.txt with :edit gemini:\/\/kept\/1\/a\.txt/);
    await nvim.waitFor("#require('gemini-bridge.bridge.memory').get().diffs == 0", "the records to go");

    // Later reports about an ended review are ignored.
    await nvim.command("messages clear");
    await nvim.lua(
      "require('gemini-bridge.bridge.channel').notify('diff_accepted', { id = 2, content = 'b' })",
    );
    await nvim.waitFor("#require('gemini-bridge.review.records').decided() == 0", "it to be settled");
    t.equal(await nvim.messages(), "");
  },
);
