--- Finds and counts the hunks between a proposal and the original text of the file. Keeps or undoes single hunks.
local hunks = require("gemini-bridge.difference.hunks")
local text = require("gemini-bridge.review.text")
local window = require("gemini-bridge.editor.window")

local M = {}

local namespace = vim.api.nvim_create_namespace("gemini-bridge.hunks")
local undone = vim.api.nvim_create_namespace("gemini-bridge.hunks.undone")

---@class gemini_bridge.ReviewHunk: gemini_bridge.PlacedHunk
---@field kept boolean True if the user has marked the hunk as kept.

--- Returns the options with which diff mode finds differences. Whitespace counts even where 'diffopt' ignores it,
--- because the CLI writes it.
---@return table
local function options()
  local items = vim.opt.diffopt:get()
  local result = { indent_heuristic = vim.list_contains(items, "indent-heuristic") }
  for _, item in ipairs(items) do
    result.algorithm = item:match("^algorithm:(.*)") or result.algorithm
  end
  return result
end

--- Returns the lines of a buffer. An empty text has no lines.
---@param buf integer
---@return string[]
function M.lines(buf)
  return window.is_empty(buf) and {} or vim.api.nvim_buf_get_lines(buf, 0, -1, true)
end

---@param buf integer Proposal buffer.
---@param hunk gemini_bridge.ReviewHunk
local function marks(buf, hunk)
  return vim.api.nvim_buf_get_extmarks(buf, namespace, { hunk.first - 1, 0 }, { hunk.last - 1, -1 }, {})
end

--- Counts the hunks of a review again if one of its two texts has changed.
---@param review gemini_bridge.Review
function M.count(review)
  local original, proposal = review.buffers.original, review.buffers.proposal
  local ticks = { vim.b[original].changedtick, vim.b[proposal].changedtick }
  if not vim.deep_equal(ticks, review.counted) then
    review.counted = ticks
    review.hunks = hunks.compare(M.lines(original), M.lines(proposal), options())
  end
end

--- Describes the difference between two texts whose comparison gives no hunks: line breaks, byte order mark or final
--- newline.
---@param original integer Buffer.
---@param proposal integer Buffer.
---@return string? difference nil if the bytes are equal.
function M.difference(original, proposal)
  local ours, theirs = vim.bo[original], vim.bo[proposal]
  if text.read(original) == text.read(proposal) then
    return
  elseif ours.fileformat ~= theirs.fileformat then
    return "line breaks differ"
  elseif ours.bomb ~= theirs.bomb then
    return "byte order mark differs"
  end
  return "final newline differs"
end

--- Updates the field `kept` of each hunk: true if the user has marked the hunk as kept.
---@param proposal integer Buffer.
---@param list gemini_bridge.ReviewHunk[]
function M.update_kept(proposal, list)
  for _, hunk in ipairs(list) do
    hunk.kept = #marks(proposal, hunk) > 0
  end
end

--- Returns true if the last hunk reaches the end of both texts. Such a hunk includes the final newline.
---@param review gemini_bridge.Review
---@return boolean
local function reach_end(review)
  local last = review.hunks[#review.hunks]
  local function ends(buf, from, count)
    return from + math.max(count, 1) - 1 == (window.is_empty(buf) and 0 or vim.api.nvim_buf_line_count(buf))
  end
  return last ~= nil
    and ends(review.buffers.proposal, last.line, last.count)
    and ends(review.buffers.original, last.old, last.removed)
end

--- Treats a different final newline as a part of the last hunk. If the user undoes it, the proposal ends like the
--- original text. After an undo, the proposal ends as proposed by the CLI. Does nothing after the user has changed
--- 'endofline'.
---@param review gemini_bridge.Review
function M.follow_newline(review)
  local original, proposal = review.buffers.original, review.buffers.proposal
  if not (vim.api.nvim_buf_is_loaded(original) and vim.api.nvim_buf_is_loaded(proposal)) then
    return
  end
  local theirs = text.ends_a_line(review.proposed)
  local ours = vim.bo[original].endofline
  if theirs == ours then
    return
  end
  M.count(review)
  local is_last = reach_end(review)
  local newline = review.newline or { follows = is_last, endofline = theirs }
  review.newline = newline
  newline.follows = newline.follows and vim.bo[proposal].endofline == newline.endofline
  if newline.follows then
    newline.endofline = is_last and theirs or not is_last and ours
    vim.bo[proposal].endofline = newline.endofline
  end
end

--- Marks a hunk as kept. Does not change the text.
---@param buffers gemini_bridge.ReviewBuffers
---@param hunk gemini_bridge.ReviewHunk
---@return fun(): boolean revert Removes the mark. Always returns true.
function M.keep(buffers, hunk)
  local proposal = buffers.proposal
  local mark = vim.api.nvim_buf_set_extmark(proposal, namespace, hunk.first - 1, 0, {
    virt_text = { { "kept", "Comment" } },
    virt_text_pos = "right_align",
  })
  return function()
    vim.api.nvim_buf_del_extmark(proposal, namespace, mark)
    return true
  end
end

--- Returns a function that reverts one change of the plugin and keeps all edits of the user.
---@param buf integer
---@param first integer First changed row, 0-based.
---@param before string[] Lines before the change.
---@param lines string[] Lines after the change.
---@return fun(): boolean revert Returns false and changes nothing if the user has edited the changed lines.
local function undo_of(buf, first, before, lines)
  local function undo_state()
    return vim.api.nvim_buf_call(buf, vim.fn.undotree).seq_cur
  end
  local changed = undo_state()
  -- Puts the extmark on the line above the change, because the user may delete the changed lines.
  local above = first > 0
    and vim.api.nvim_buf_set_extmark(buf, undone, first - 1, 0, { right_gravity = false })

  ---@param expected string[]
  ---@param row integer
  local function holds(expected, row)
    return vim.deep_equal(vim.api.nvim_buf_get_lines(buf, row, row + #expected, false), expected)
  end

  return function()
    if undo_state() == changed then
      vim.cmd.undo({ mods = { silent = true } })
      return true
    end
    local row = above and vim.api.nvim_buf_get_extmark_by_id(buf, undone, above, {})[1] + 1 or 0
    if holds(before, row) and not (#before < #lines and holds(lines, row)) then
      return true -- the user has already undone this change
    elseif not holds(lines, row) then
      return false
    end
    vim.api.nvim_buf_set_lines(buf, row, row + #lines, true, before)
    return true
  end
end

--- Undoes a hunk: replaces its lines with the original lines. `u` restores the hunk.
---@param buffers gemini_bridge.ReviewBuffers
---@param hunk gemini_bridge.ReviewHunk
---@return fun(): boolean revert Returns false and changes nothing if the user has edited the lines.
function M.undo(buffers, hunk)
  local proposal = buffers.proposal
  for _, mark in ipairs(marks(proposal, hunk)) do
    vim.api.nvim_buf_del_extmark(proposal, namespace, mark[1])
  end
  local lines = vim.list_slice(M.lines(buffers.original), hunk.old, hunk.old + hunk.removed - 1)
  local first = hunk.count == 0 and hunk.line or hunk.line - 1
  local last = window.is_empty(proposal) and -1 or first + hunk.count
  local before = vim.api.nvim_buf_get_lines(proposal, first, last, true)
  vim.api.nvim_buf_set_lines(proposal, first, last, true, lines)
  return undo_of(proposal, first, before, lines)
end

return M
