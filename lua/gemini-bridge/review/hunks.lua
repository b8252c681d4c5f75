--- The hunks of a proposal: found, counted, kept or dropped one by one.
local step = require("gemini-bridge.review.step")
local text = require("gemini-bridge.review.text")

local M = {}

--- Renamed in Neovim 0.12.
local diff = vim.text and vim.text.diff or vim.diff

local namespace = vim.api.nvim_create_namespace("gemini-bridge.hunks")

---@class gemini_bridge.Hunk
---@field from integer First line in the proposal, 1-based; of a removal, the line above it (0 at the top).
---@field count integer Lines in the proposal; 0 for a removal.
---@field original_from integer The same in the original.
---@field original_count integer
---@field kept boolean The user has said so.

--- What of 'diffopt' decides whether lines differ, as |vim.diff()| calls it.
local WHITESPACE = {
  iblank = "ignore_blank_lines",
  iwhite = "ignore_whitespace_change",
  iwhiteall = "ignore_whitespace",
  iwhiteeol = "ignore_whitespace_change_at_eol",
  ["indent-heuristic"] = "indent_heuristic",
}

local function options()
  local result = { result_type = "indices" }
  for _, item in ipairs(vim.opt.diffopt:get()) do
    if WHITESPACE[item] then
      result[WHITESPACE[item]] = true
    end
    result.algorithm = item:match("^algorithm:(.*)") or result.algorithm
  end
  return result
end

--- The lines of a buffer, as |vim.diff()| takes them.
---@param buf integer
---@param bytes? string What the buffer stands for, where that is known: to read a long one takes its time.
---@return string
local function joined(buf, bytes)
  if bytes and text.is_plain(buf) then
    return bytes
  elseif text.is_empty(buf) then
    return ""
  end
  return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), "\n") .. "\n"
end

---@param buf integer The proposal.
---@param hunk gemini_bridge.Hunk
local function marks(buf, hunk)
  local first = math.max(hunk.from - 1, 0)
  local last = math.max(hunk.from + hunk.count - 2, first)
  return vim.api.nvim_buf_get_extmarks(buf, namespace, { first, 0 }, { last, -1 }, {})
end

---@param review gemini_bridge.Review
---@return gemini_bridge.Hunk[]
local function list(review)
  local original, proposal = review.buffers.original, review.buffers.proposal
  local shown = review.shown or {}
  local ours = shown.buf == original and vim.deep_equal(text.state(original), shown.state) and shown.bytes
    or nil
  local theirs = vim.deep_equal(text.state(proposal), review.written) and review.proposed or nil
  local indices = diff(joined(original, ours), joined(proposal, theirs), options()) --[[@as integer[][] ]]
  return vim.tbl_map(function(index)
    return {
      original_from = index[1],
      original_count = index[2],
      from = index[3],
      count = index[4],
      kept = false,
    }
  end, indices)
end

--- Counts the hunks of a review when one of its texts has changed since.
---@param review gemini_bridge.Review
function M.count(review)
  local original, proposal = review.buffers.original, review.buffers.proposal
  local ticks = { vim.b[original].changedtick, vim.b[proposal].changedtick }
  if not vim.deep_equal(ticks, review.counted) then
    review.counted, review.hunks = ticks, list(review)
  end
end

--- Where texts differ that have no hunk: in what is no line, or in white space that 'diffopt' passes over.
---@param original integer Buffer.
---@param proposal integer Buffer.
---@return string? what nil when every byte is the same.
function M.difference(original, proposal)
  local ours, theirs = vim.bo[original], vim.bo[proposal]
  if text.read(original) == text.read(proposal) then
    return
  elseif ours.fileformat ~= theirs.fileformat then
    return "line breaks differ"
  elseif ours.bomb ~= theirs.bomb then
    return "byte order mark differs"
  elseif ours.endofline ~= theirs.endofline then
    return "final newline differs"
  end
  return "white space differs"
end

--- Brings up to date which hunks are kept.
---@param proposal integer Buffer.
---@param hunks gemini_bridge.Hunk[]
function M.update_kept(proposal, hunks)
  for _, hunk in ipairs(hunks) do
    hunk.kept = #marks(proposal, hunk) > 0
  end
end

--- Whether what differs reaches the end of both texts. The final newline, which is no line, belongs to that hunk.
---@param hunks gemini_bridge.Hunk[]
---@param original integer Buffer.
---@param proposal integer Buffer.
---@return boolean
function M.reach_end(hunks, original, proposal)
  local last = hunks[#hunks]
  local function ends(buf, from, count)
    return from + math.max(count, 1) - 1 == (text.is_empty(buf) and 0 or vim.api.nvim_buf_line_count(buf))
  end
  return last ~= nil
    and ends(proposal, last.from, last.count)
    and ends(original, last.original_from, last.original_count)
end

--- The hunk at a line of the proposal.
---@param hunks gemini_bridge.Hunk[]
---@param line integer 1-based.
---@return gemini_bridge.Hunk?
function M.at(hunks, line)
  return vim.iter(hunks):find(function(hunk)
    local from = math.max(hunk.from, 1)
    return line >= from and line < from + math.max(hunk.count, 1)
  end)
end

--- The line at which a hunk is shown, in a buffer that has it.
---@param hunk gemini_bridge.Hunk
---@return integer line 1-based.
function M.line(hunk)
  return math.max(hunk.from, 1)
end

--- The nearest hunk before or after a line.
---@param hunks gemini_bridge.Hunk[]
---@param line integer 1-based.
---@param direction 1|-1
---@return gemini_bridge.Hunk?
function M.nearest(hunks, line, direction)
  local found ---@type gemini_bridge.Hunk?
  for _, hunk in ipairs(hunks) do
    if direction == 1 and M.line(hunk) > line then
      return hunk
    elseif direction == -1 and M.line(hunk) < line then
      found = hunk
    end
  end
  return found
end

--- Marks a hunk as decided. The text stays as it is.
---@param proposal integer
---@param hunk gemini_bridge.Hunk
---@return fun(): boolean undo
function M.keep(proposal, hunk)
  local mark = vim.api.nvim_buf_set_extmark(proposal, namespace, M.line(hunk) - 1, 0, {
    virt_text = { { "kept", "Comment" } },
    virt_text_pos = "right_align",
  })
  return function()
    vim.api.nvim_buf_del_extmark(proposal, namespace, mark)
    return true
  end
end

--- Puts the original's lines in place of a hunk. `u` brings it back.
---@param original integer
---@param proposal integer
---@param hunk gemini_bridge.Hunk
---@return fun(): boolean undo Takes this step back and nothing of the user's; false when their edits stand in its way.
function M.drop(original, proposal, hunk)
  for _, mark in ipairs(marks(proposal, hunk)) do
    vim.api.nvim_buf_del_extmark(proposal, namespace, mark[1])
  end
  local lines = {}
  if hunk.original_count > 0 then
    local first = hunk.original_from - 1
    lines = vim.api.nvim_buf_get_lines(original, first, first + hunk.original_count, true)
  end
  local first = hunk.count == 0 and hunk.from or hunk.from - 1
  local last = text.is_empty(proposal) and -1 or first + hunk.count
  local before = vim.api.nvim_buf_get_lines(proposal, first, last, true)
  vim.api.nvim_buf_set_lines(proposal, first, last, true, lines)
  return step.taken(proposal, first, before, lines)
end

return M
