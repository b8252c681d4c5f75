/** Tests the option context.share: what CLIs of each protocol get before the user allows sharing. */
import t from "tap";
import { startClaudeBridge } from "../support/claude-bridge.ts";
import { connectEditorClient } from "../support/editor-client.ts";
import { lockOf, SocketClient } from "../support/socket-client.ts";

/** Lua that records the questions to the user, and a way to answer the last one. */
const QUESTIONS = `
_G.questions = {}
vim.ui.select = function(choices, options, answer)
  table.insert(_G.questions, { kind = options.kind, choices = choices })
  _G.answer = answer
end`;

const DIAGNOSTIC = `vim.diagnostic.set(vim.api.nvim_create_namespace('test'), 0, {
  { lnum = 0, col = 0, message = 'private diagnostic' },
})`;

const PRIVATE = /a\.txt|one|two|private/;

t.test("before the user allows sharing, nothing of Neovim reaches a CLI", async (t) => {
  const { bridge, nvim } = await startClaudeBridge(t, {
    args: ["a.txt"],
    init: `${QUESTIONS}\nrequire('gemini-bridge').setup({ context = { share = 'ask' } })`,
  });
  const questions = () => nvim.lua("return _G.questions");
  const asked = [{ kind: "gemini-bridge", choices: ["Share nothing", "Share"] }];
  await nvim.lua(DIAGNOSTIC);
  await nvim.input("V");

  const model = await connectEditorClient(t, bridge);
  t.equal(await nvim.lua("return #_G.questions"), 0, "the user is not asked before a CLI could get data");
  for (const tool of ["buffers", "diagnostics", "selection"])
    t.match(await model.refusal(tool), /has not allowed it yet.*:GeminiShare on/, tool);
  t.same(
    (await model.mcp.readResource({ uri: "nvim://buffers" }).catch(() => ({ contents: [] }))).contents,
    [],
  );

  const gemini = await bridge.client();
  const claude = await SocketClient.connect(t, lockOf(bridge));
  const all = () => JSON.stringify([gemini.received, claude.selections]);
  await gemini.waitForNotification("ide/contextUpdate");
  await claude.until(() => claude.selections[0], "the first selection");
  t.same(await claude.call("getDiagnostics", {}), ["[]"]);
  for (const command of ["normal! jVj", "edit b.txt", "edit a.txt"]) await nvim.command(command);
  t.same(await questions(), asked, "the user was asked once, for all CLIs");

  await t.test("a prompt refers to a file only if the user has selected lines", async (t) => {
    const items = (options: string) =>
      nvim.lua(`return #require('gemini-bridge.prompt.sources').items(${options})`);
    t.equal(await items("{ text = 'fix it' }"), 0);
    t.match(await nvim.messages(), "The prompt refers to no file, because sharing is paused");
    t.equal(await items("{ text = 'fix it', lines = { 1, 1 } }"), 1);
    t.equal(await items("{}"), 1, "the user has asked to send the file");
  });

  await t.test("neither a restart of the host nor other options change that", async (t) => {
    await bridge.replaceHost();
    await nvim.lua("require('gemini-bridge').setup({ context = { share = false } })");
    const later = await bridge.client();
    await later.waitForNotification("ide/contextUpdate");
    await nvim.lua("require('gemini-bridge').setup({ context = { share = 'ask' } })");
    await nvim.input("j");
    const next = await connectEditorClient(t, bridge);
    t.match(await next.refusal("buffers"), "has not allowed it yet");
    t.notMatch(JSON.stringify(later.received), PRIVATE);
    t.equal(await nvim.lua("return require('gemini-bridge').shared().paused"), true);
  });
  t.notMatch(all(), PRIVATE);
  t.same(await questions(), asked, "the question is not repeated");

  await t.test("the answer decides, and :GeminiShare changes the decision", async (t) => {
    const client = await bridge.client();
    const isShared = ({ workspaceState }: (typeof client.received)["ide/contextUpdate"][number]) =>
      workspaceState?.openFiles?.some(({ path }) => path === nvim.path("a.txt")) ?? false;
    await nvim.lua("_G.answer('Share nothing')");
    t.match(await nvim.messages(), "Sharing is paused");
    t.equal(await nvim.lua("return require('gemini-bridge').shared().paused"), true);
    await nvim.command("GeminiShare on");
    await client.waitForNotification("ide/contextUpdate", isShared);
    const before = client.received["ide/contextUpdate"].length;
    await nvim.command("GeminiShare off");
    await nvim.waitFor(() => client.received["ide/contextUpdate"].length > before, "the next context");
    t.same(client.received["ide/contextUpdate"].at(-1), { workspaceState: { openFiles: [] } });
    t.same(await questions(), asked);
  });
});

t.test("options that are set while a CLI is connected apply at once", async (t) => {
  const { bridge, nvim } = await startClaudeBridge(t, { args: ["a.txt"], init: QUESTIONS });
  const client = await bridge.client();
  const contexts = client.received["ide/contextUpdate"];
  const files = () => contexts.at(-1)?.workspaceState?.openFiles?.length;
  await nvim.waitFor(() => files() === 1, "the file");
  await nvim.lua("require('gemini-bridge').setup({ context = { share = false } })");
  await nvim.waitFor(() => files() === 0, "nothing");
  t.equal(await nvim.lua("return #_G.questions"), 0);
  await nvim.lua("require('gemini-bridge').setup({ context = { share = 'ask' } })");
  await nvim.waitFor("#_G.questions == 1", "the question");
  await nvim.lua("_G.answer('Share')");
  await nvim.waitFor(() => files() === 1, "the file again");
  await nvim.lua("require('gemini-bridge').setup({ context = { share = false } })");
  t.equal(await nvim.lua("return require('gemini-bridge').shared().paused"), false, "the decision stays");

  const isPaused = await nvim.lua(`
    package.loaded['gemini-bridge.context.consent'] = nil
    local consent = require('gemini-bridge.context.consent')
    require('gemini-bridge').setup({ context = { share = 'ask' } })
    consent.ask(consent.decide)
    consent.decide(true)
    _G.answer(nil)
    return consent.is_paused()`);
  t.equal(isPaused, false, "a closed question does not change what :GeminiShare has decided meanwhile");
});
