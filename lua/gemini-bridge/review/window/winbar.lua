--- Shows the state of a review in winbars: hunk counts, warnings, and "2 of 5" if several reviews are pending.
local winbar_text = require("gemini-bridge.editor.winbar_text")
local config = require("gemini-bridge.config")
local diff_hunks = require("gemini-bridge.review.diff_hunks")
local key_list = require("gemini-bridge.editor.key_list")
local path = require("gemini-bridge.disk.path")

local M = {}

---@param review gemini_bridge.Review
---@return string? # nil until the hunks are counted.
local function hunks(review)
  if review.buffers.new then
    return "new file"
  elseif not review.counted then
    return
  end
  local kept = #vim.tbl_filter(function(hunk)
    return hunk.kept
  end, review.hunks)
  local count = #review.hunks
  local buffers = review.buffers
  local difference = count == 0 and diff_hunks.difference(buffers.original, buffers.proposal)
  if difference then
    return difference
  end
  return ("%d %s"):format(count, count == 1 and "hunk" or "hunks")
    .. (kept > 0 and (", %d kept"):format(kept) or "")
end

---@param review gemini_bridge.Review
---@return boolean
local function has_unsaved_changes(review)
  local open = review.buffers.original ---@type integer?
  if review.buffers.copied then
    open = path.buffer(review.filePath)
  end
  return open ~= nil and vim.api.nvim_buf_is_valid(open) and vim.bo[open].modified
end

---@param review gemini_bridge.Review
---@return gemini_bridge.BarPart[]
local function proposal_parts(review)
  local diff, position = config.get().diff, review.position
  local count, help = hunks(review), config.get().keys.help
  local is_unsaved = has_unsaved_changes(review)
  local warning = review.stale and "stale: the file has changed"
    or is_unsaved and "unsaved changes in the file"
    or review.has_lost_characters and "characters lost (U+FFFD)"
  local parts = { { text = "Proposal for ", rank = 2 }, path.part(review.filePath) }
  ---@param text string|false|nil
  ---@param rank integer
  local function add(text, rank)
    parts[#parts + 1] = text and { text = text, rank = rank } or nil
  end
  add(position and (" · %d of %d"):format(position.number, position.count), 5)
  add(count and " · " .. count, 4)
  add(warning and " · " .. warning, 7)
  -- With unsaved changes in the file, does not name the command that would discard them.
  local force = warning and not is_unsaved and "!" or ""
  add(" · " .. (diff.write_accepts and (":w%s accepts"):format(force) or ":GeminiAccept" .. force), 6)
  add(", :q rejects", 3)
  add(help and (", %s keys"):format(key_list.name(help)), 1)
  return parts
end

--- Updates the winbars of a shown review.
---@param review gemini_bridge.Review
function M.update(review)
  local view = review.view
  -- Sets a winbar in both windows, so that corresponding lines stay at the same height.
  for _, win in ipairs(view and { view.proposal, view.original } or {}) do
    local buf = vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_buf(win)
    if buf == view.buffers.proposal then
      winbar_text.show(win, proposal_parts(review))
    elseif buf == view.buffers.original then
      winbar_text.show(win, { path.part(review.filePath) })
    end
  end
end

return M
