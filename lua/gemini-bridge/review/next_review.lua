--- Leads the user from one decision to the next: finds the review that follows a decision made inside a
--- proposal.
local records = require("gemini-bridge.review.records")
local screen = require("gemini-bridge.review.screen")
local status = require("gemini-bridge.bridge.status")

local M = {}

local keys = vim.api.nvim_create_namespace("gemini-bridge.series")

--- Set after the last pending review was decided, because the CLI may propose its next change soon.
---@type { client: string, win: integer }?
local expected

--- Stops expecting a review, because the user has pressed a key: the focus must not move any more.
local function stop()
  expected = nil
  vim.on_key(nil, keys)
end

--- Enters the next review that is not parked. If there is none, expects the next one from the same CLI.
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

--- Enters a new review if it continues the series: same CLI, same turn, and no key since the last decision.
--- CLIs without hooks do not report turns, so the focus stays.
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
