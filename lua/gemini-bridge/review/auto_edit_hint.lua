--- Shows a hint after several proposals in one turn of a CLI. The hint suggests a faster way: let the CLI write without
--- asking, and review all changes afterwards. Appears only once.
local gate = require("gemini-bridge.turns.gate")
local notify = require("gemini-bridge.notify")
local status = require("gemini-bridge.bridge.status")

local M = {}

--- Number of proposals in one turn that triggers the hint.
local MIN_PROPOSALS = 5

--- Number of proposals in the current turn, by name of the CLI's terminal or MCP client.
local counts = {} ---@type table<string, integer>
local is_told = false

vim.api.nvim_create_autocmd("User", {
  group = vim.api.nvim_create_augroup("gemini-bridge.review.auto_edit_hint", {}),
  pattern = "GeminiTurnStarted",
  callback = function()
    counts = {}
  end,
})

--- Returns true if the plugin tracks changes that a CLI makes without asking.
---@param name string Name of the CLI's terminal or MCP client.
---@return boolean
local function is_tracked(name)
  return vim.iter(status.get().clients):any(function(client)
    return client.hooks and (client.terminal or client.name) == name
  end)
end

--- Counts a proposal, and shows the hint after the fifth proposal of a turn.
---@param review gemini_bridge.Review
function M.count(review)
  counts[review.client] = (counts[review.client] or 0) + 1
  if
    is_told
    or counts[review.client] < MIN_PROPOSALS
    or gate.text() ~= ""
    or not is_tracked(review.client)
  then
    return
  end
  is_told = true
  notify(
    "Tip: Shift+Tab in the CLI makes it write without asking. You can then review all changes with :GeminiChanges."
  )
end

return M
