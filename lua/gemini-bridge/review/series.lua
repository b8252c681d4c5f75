--- Deciding reviews in a row: which review follows a decision that was made inside a proposal.
local records = require("gemini-bridge.review.records")
local screen = require("gemini-bridge.review.screen")
local status = require("gemini-bridge.bridge.status")

local M = {}

local keys = vim.api.nvim_create_namespace("gemini-bridge.series")

--- Set after a decision that left nothing to decide. The CLI may propose its next change a moment later.
---@type { client: string, win: integer }?
local expected

--- Ends the series at the next key: the user does something else, and the focus must not move.
local function stop()
  expected = nil
  vim.on_key(nil, keys)
end

--- Enters the next review that the user has not put aside, or expects it from the same CLI.
---@param decided gemini_bridge.Review
function M.continue(decided)
  local first, next_one
  for _, review in ipairs(records.pending()) do
    if review.state ~= "parked" then
      first = first or review
      next_one = next_one or review.id > decided.id and review or nil
    end
  end
  if first then
    screen.enter(next_one or first)
  else
    expected = { client = decided.client, win = vim.api.nvim_get_current_win() }
    vim.on_key(stop, keys)
  end
end

--- Enters a new review if it continues the series: same CLI, same turn, and no key since the last decision. A CLI
--- without hooks does not report its turns: there the focus does not move.
---@param review gemini_bridge.Review
function M.take(review)
  local last = expected
  if not last or last.client ~= review.client or last.win ~= vim.api.nvim_get_current_win() then
    return
  end
  stop()
  local is_same_turn = vim.iter(status.get().clients):any(function(client)
    return (client.terminal or client.name) == review.client and client.activity ~= "idle"
  end)
  if is_same_turn then
    screen.enter(review)
  end
end

return M
