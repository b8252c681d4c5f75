--- A selected part of a buffer: exactly the characters that Neovim highlights. A line break at the very end, which it
--- does not highlight, is none of them.
local block = require("gemini-bridge.context.region_block")
local character = require("gemini-bridge.context.region_character")

local M = {}

---@class gemini_bridge.Region
---@field buf integer
---@field win integer
---@field tick integer The buffer's changedtick that the positions belong to.
---@field block boolean
---@field first { [1]: integer, [2]: integer } Row and byte column, 0-based. A block counts whole rows.
---@field last { [1]: integer, [2]: integer } The same, behind the last character.
---@field through? integer The character at `last` belongs to it too, in a line of so many bytes.
---@field left? integer First virtual column of a block, 1-based.
---@field right? integer Last virtual column of a block.

--- `winsaveview().curswant` after `$`.
local MAXCOL = vim.v.maxcol
local BYTES_PER_UNIT = 3 -- at most, in UTF-8
--- Units that are read behind a limit, so that the last character before it is seen whole.
local MORE = 256

---@type table<string, "v"|"V"|"\22">
local kinds = { v = "v", s = "v", V = "V", S = "V", ["\22"] = "\22", ["\19"] = "\22" }

--- The kind of selection that a mode makes, Visual or Select.
---@param mode string
---@return "v"|"V"|"\22"|nil
function M.kind(mode)
  return kinds[mode:sub(1, 1)]
end

---@param lnum integer
local function length_of(lnum)
  return vim.fn.col({ lnum, "$" }) - 1
end

---@class gemini_bridge.Position As |getpos()| has it, without the buffer: 1-based line and byte column, and offset.
---@field [1] integer
---@field [2] integer
---@field [3] integer

--- The region between two positions in the current window.
---@param kind "v"|"V"|"\22"
---@param p gemini_bridge.Position
---@param q gemini_bridge.Position
---@param to_end? boolean Each line of a block is selected to its end.
---@return gemini_bridge.Region
local function between(kind, p, q, to_end)
  if q[1] < p[1] or q[1] == p[1] and (q[2] < p[2] or q[2] == p[2] and q[3] < p[3]) then
    p, q = q, p
  end
  -- With both ends on one character even an exclusive selection shows it.
  local exclusive = vim.o.selection == "exclusive" and not vim.deep_equal(p, q)
  -- Closed folds are taken whole.
  local fold_start, fold_end = vim.fn.foldclosed(p[1]), vim.fn.foldclosedend(q[1])
  if fold_start > 0 then
    p = { fold_start, 1, 0 }
  end
  if fold_end > 0 then
    q, exclusive = { fold_end, length_of(fold_end) + 1, 0 }, false
  end
  if exclusive and kind == "v" and q[2] == 1 and q[1] > p[1] then
    q, exclusive = { q[1] - 1, length_of(q[1] - 1) + 1, 0 }, false
  end
  local buf = vim.api.nvim_get_current_buf()
  local region = {
    buf = buf,
    win = vim.api.nvim_get_current_win(),
    tick = vim.api.nvim_buf_get_changedtick(buf),
    block = kind == "\22",
    first = { p[1] - 1, 0 },
    last = { q[1] - 1, length_of(q[1]) },
  }
  if kind == "v" then
    region.first[2] = math.min(p[2] - 1, length_of(p[1]))
    region.through = not exclusive and region.last[2] or nil
    region.last[2] = math.min(q[2] - 1, region.last[2])
  elseif kind == "\22" then
    region.left, region.right = block.columns(p, q, exclusive, to_end or false)
  end
  return region
end

--- Whether `$` was the last movement in the current window: a block then reaches to the end of each line.
---@return boolean
function M.is_to_end()
  return vim.fn.winsaveview().curswant == MAXCOL
end

--- What is selected in the current window.
---@param kind "v"|"V"|"\22"
---@return gemini_bridge.Region
function M.live(kind)
  local p, q = vim.fn.getpos("v"), vim.fn.getpos(".")
  return between(kind, { p[2], p[3], p[4] }, { q[2], q[3], q[4] }, M.is_to_end())
end

--- What was selected last in the current window.
---@param to_end boolean What |M.is_to_end()| was then.
---@return gemini_bridge.Region?
function M.ended(to_end)
  local p, q = vim.fn.getpos("'<"), vim.fn.getpos("'>")
  if p[2] > 0 then
    return between(vim.fn.visualmode(), { p[2], p[3], p[4] }, { q[2], q[3], q[4] }, to_end)
  end
end

--- Whole lines of the current buffer.
---@param first integer 1-based.
---@param last integer
---@return gemini_bridge.Region
function M.lines(first, last)
  return between("V", { first, 1, 0 }, { last, 1, 0 })
end

--- The last row that has to be read for so many bytes.
---@param region gemini_bridge.Region
---@param limit integer
---@return integer row
local function end_within(region, limit)
  local from = vim.api.nvim_buf_get_offset(region.buf, region.first[1]) + region.first[2]
  local low, high = region.first[1], region.last[1]
  while low < high do
    local middle = math.ceil((low + high) / 2)
    if vim.api.nvim_buf_get_offset(region.buf, middle) - from > limit then
      high = middle - 1
    else
      low = middle
    end
  end
  return low
end

--- Where the region ends: a row and the byte column behind its last character, 0-based. Until this is asked, nothing is
--- read of the text.
---@param region gemini_bridge.Region
---@return integer row, integer col
function M.finish(region)
  local row, col = unpack(region.last)
  return row, region.through and character.behind(region.buf, row, col, region.through) or col
end

--- The region's text, or the beginning of a long one, at a cost that depends on the limit alone.
---@param region gemini_bridge.Region
---@param units integer So many UTF-16 units are read at least, if there are so many.
---@return string
function M.read(region, units)
  units = units + MORE
  if region.block then
    return block.read(region, units)
  end
  local limit = units * BYTES_PER_UNIT
  local last, col = M.finish(region)
  local row = end_within(region, limit)
  local start = row == region.first[1] and region.first[2] or 0
  if row < last or col - start > limit then
    -- The offsets tell a line's length without reading it: it may be a very long one.
    local offset = vim.api.nvim_buf_get_offset
    local line_break = vim.bo[region.buf].fileformat == "dos" and 2 or 1
    col = math.min(offset(region.buf, row + 1) - offset(region.buf, row) - line_break, start + limit)
  end
  local lines = vim.api.nvim_buf_get_text(region.buf, region.first[1], region.first[2], row, col, {})
  return table.concat(lines, "\n")
end

return M
