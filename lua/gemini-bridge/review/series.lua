--- Deciding proposals in a row: which one follows a decision that was made inside a proposal.
local queue = require("gemini-bridge.review.queue")
local status = require("gemini-bridge.bridge.status")

local M = {}

local keys = vim.api.nvim_create_namespace("gemini-bridge.series")

--- Set after a decision that left nothing else to decide. The CLI may propose its next change a moment later.
---@type { client: string, win: integer }?
local expected

--- Any key ends the series: from then on the user does something else, and the focus must not move.
local function stop()
  expected = nil
  vim.on_key(nil, keys)
end

--- Expects the next proposal of a CLI in the place where the user is now.
---@param client string Its name, as reviews have it.
function M.expect(client)
  expected = { client = client, win = vim.api.nvim_get_current_win() }
  vim.on_key(stop, keys)
end

--- Whether the user decides in a row and this is the next proposal: same CLI, same turn, and no key since the decision.
--- A CLI without hooks tells nothing of its turns, and its next proposal leaves the focus where it is.
---@param review gemini_bridge.Review
---@return boolean
function M.continues(review)
  local last = expected
  if not last or last.client ~= review.client or last.win ~= vim.api.nvim_get_current_win() then
    return false
  end
  stop()
  return vim.iter(status.get().clients):any(function(client)
    return (client.terminal or client.name) == review.client and client.activity ~= "idle"
  end)
end

--- The pending proposal after one that was decided: the next that the user has not put aside, else the first such one.
---@param place integer Former place of the decided review in the queue, 1-based.
---@return gemini_bridge.Review?
function M.next(place)
  local all = queue.all()
  local others = vim.list_extend(vim.list_slice(all, place), vim.list_slice(all, 1, place - 1))
  return vim.iter(others):find(function(review)
    return not review.parked
  end)
end

return M
