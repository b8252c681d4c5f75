/** What the tests with the real Qwen Code have in common: its extension, the events of its turns, and its changes. */
import { join } from "node:path";
import type { Test } from "tap";
import { z } from "zod";
import { type Nvim, root } from "./nvim.ts";

/** A Lua expression that returns the names of the connected CLIs. */
export const CLIS =
  "vim.tbl_map(function(client) return client.cli end, require('gemini-bridge').status().clients)";

/** Links the extension, so that Qwen Code reports each event twice: the settings contain the same hooks. */
export const EXTENSION = {
  "../home/.qwen/extensions/gemini-bridge/.qwen-extension-install.json": JSON.stringify({
    source: join(root, "extension"),
    type: "link",
  }),
};

export const Changes = z.preprocess(
  (list) => (Array.isArray(list) ? list : []),
  z.array(z.object({ path: z.string(), status: z.string(), hunks: z.int(), cli: z.string() })),
);

export const EVENTS = `
_G.told = {}
vim.api.nvim_create_autocmd('User', {
  pattern = { 'GeminiTurnStarted', 'GeminiTurnEnded', 'GeminiWaiting' },
  callback = function(event)
    local what = event.data.prompt or (event.data.tool or {}).filePath
    local who = event.data.terminal and event.data.cli
    table.insert(_G.told, event.match:sub(#'Gemini' + 1) .. ' ' .. who .. (what and ': ' .. what or ''))
  end,
})`;

/** Waits until the given events were sent, and checks that there were no other events. */
export async function tells(t: Test, nvim: Nvim, expected: string[]): Promise<void> {
  await nvim.waitFor(`#_G.told >= ${expected.length}`, expected.join());
  const isWorking = `vim.iter(require('gemini-bridge').status().clients):any(function(client)
    return client.activity ~= 'idle'
  end)`;
  await nvim.waitFor(`not ${isWorking}`, "the end of the turn");
  t.same(await nvim.lua("local told = _G.told; _G.told = {}; return told"), expected);
}
