--- What a review says of itself above its windows.
local config = require("gemini-bridge.config")
local differences = require("gemini-bridge.review.hunks")
local path = require("gemini-bridge.disk.path")
local window = require("gemini-bridge.editor.window")

local M = {}

---@param review gemini_bridge.Review
---@return string? # nil before they have been counted.
local function hunks(review)
  if not review.counted then
    return
  end
  local kept = #vim.tbl_filter(function(hunk)
    return hunk.kept
  end, review.hunks)
  local count = #review.hunks
  local buffers = review.buffers
  local other = count == 0 and differences.difference(buffers.original, buffers.proposal)
  if other then
    return other
  end
  return ("%d %s"):format(count, count == 1 and "hunk" or "hunks")
    .. (kept > 0 and (", %d kept"):format(kept) or "")
end

---@param review gemini_bridge.Review
---@return string? note What the user should know before accepting.
function M.note(review)
  local open = review.buffers.original ---@type integer?
  if review.buffers.copied then
    open = path.buffer(review.filePath)
  end
  if review.stale then
    return "stale: the file has changed"
  elseif open and vim.api.nvim_buf_is_valid(open) and vim.bo[open].modified then
    return "unsaved changes in the file"
  end
end

--- The first part stays when there is no room for both.
---@param parts string[]
---@param last? string
local function bar(parts, last)
  local function escape(text)
    return (text:gsub("%%", "%%%%"))
  end
  return " " .. escape(table.concat(parts, " · ")) .. (last and " · %<" .. escape(last) or "") .. " "
end

--- Shows the state of a review that is on the screen.
---@param review gemini_bridge.Review
function M.update(review)
  local view = review.view
  if not view or not config.get().diff.winbar then
    return
  end
  local keys = config.get().diff.write_accepts and ":w accepts, :q rejects" or ":GeminiAccept, :q rejects"
  local name = path.display(review.filePath, math.floor(vim.o.columns / 4))
  local said = { "Proposal for " .. name }
  said[#said + 1] = hunks(review)
  said[#said + 1] = M.note(review)
  local bars = {
    [view.proposal] = bar(said, keys),
    -- Also above the other side, or its lines would stand one row higher.
    [view.original] = bar({ name }),
  }
  for win, text in pairs(bars) do
    local buf = vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_buf(win)
    if buf == view.buffers.proposal or buf == view.buffers.original then
      -- A window of one line has no room for it.
      pcall(window.set, win, { winbar = text })
    end
  end
end

return M
