--- A selected part of a buffer: exactly the characters that Neovim highlights. A line break at the very end, which it
--- does not highlight, is none of them.
local block = require("gemini-bridge.context.block")

local M = {}

---@alias gemini_bridge.VisualKind "v"|"V"|"\22"

---@class gemini_bridge.Position As |getpos()| has it: 1-based line and byte column, and cells behind the column.
---@field [1] integer Buffer.
---@field [2] integer Line.
---@field [3] integer Column.
---@field [4] integer Offset.

---@class gemini_bridge.Region
---@field buf integer
---@field win? integer Where the user has selected it.
---@field tick? integer The buffer's changedtick then, to which the positions belong.
---@field kind gemini_bridge.VisualKind
---@field first gemini_bridge.Position
---@field last gemini_bridge.Position
---@field exclusive boolean The character at `last` is none of it.
---@field left? integer First virtual column of a block, 1-based.
---@field right? integer Last virtual column of a block.

--- Rows and byte columns, 0-based, the end behind the last character: as an extmark has it.
---@class gemini_bridge.Range
---@field row integer
---@field col integer
---@field end_row integer
---@field end_col integer

--- Of UTF-8, at most, for a unit of UTF-16.
M.BYTES_PER_UNIT = 3

local MAXCOL = vim.v.maxcol
--- Units that are read behind a limit, so that the last character before it is seen whole.
local MORE = 256

---@type table<string, gemini_bridge.VisualKind>
local kinds = { v = "v", s = "v", V = "V", S = "V", ["\22"] = "\22", ["\19"] = "\22" }

--- The kind of selection that a mode makes, Visual or Select.
---@param mode string
---@return gemini_bridge.VisualKind?
function M.kind(mode)
  return kinds[mode:sub(1, 1)]
end

--- The region between two positions in the current window.
---@param kind gemini_bridge.VisualKind
---@param p gemini_bridge.Position
---@param q gemini_bridge.Position
---@param to_end? boolean Each line of a block is selected to its end.
---@return gemini_bridge.Region
local function between(kind, p, q, to_end)
  if q[2] < p[2] or q[2] == p[2] and (q[3] < p[3] or q[3] == p[3] and q[4] < p[4]) then
    p, q = q, p
  end
  local exclusive = vim.o.selection == "exclusive"
  -- Closed folds are highlighted whole, of which |getregion()| knows nothing.
  local fold_start, fold_end = vim.fn.foldclosed(p[2]), vim.fn.foldclosedend(q[2])
  if fold_start > 0 then
    p = { 0, fold_start, 1, 0 }
  end
  if fold_end > 0 then
    q, exclusive = { 0, fold_end, MAXCOL, 0 }, false
  end
  if kind == "V" then
    p, q = { 0, p[2], 1, 0 }, { 0, q[2], MAXCOL, 0 }
  end
  local buf = vim.api.nvim_get_current_buf()
  p[1], q[1] = buf, buf
  local region = {
    buf = buf,
    win = vim.api.nvim_get_current_win(),
    tick = vim.api.nvim_buf_get_changedtick(buf),
    kind = kind,
    first = p,
    last = q,
    exclusive = exclusive,
  }
  if kind == "\22" then
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
---@param kind gemini_bridge.VisualKind
---@return gemini_bridge.Region
function M.live(kind)
  return between(kind, vim.fn.getpos("v"), vim.fn.getpos("."), M.is_to_end())
end

--- What was selected last in the current window.
---@param to_end boolean What |M.is_to_end()| was then.
---@return gemini_bridge.Region?
function M.ended(to_end)
  local p, q = vim.fn.getpos("'<"), vim.fn.getpos("'>")
  if p[2] > 0 then
    return between(vim.fn.visualmode(), p, q, to_end)
  end
end

--- Whole lines of the current buffer.
---@param first integer 1-based.
---@param last integer
---@return gemini_bridge.Region
function M.lines(first, last)
  return between("V", { 0, first, 1, 0 }, { 0, last, 1, 0 })
end

--- Where to stop reading a region that is longer than a limit: |getregion()| copies all that it is asked for.
---@param region gemini_bridge.Region
---@param units integer
---@return gemini_bridge.Position?
local function cut_off(region, units)
  local offset = vim.api.nvim_buf_get_offset
  local buf, top, bottom = region.buf, region.first[2] - 1, region.last[2] - 1
  local stop = offset(buf, top) + region.first[3] - 1 + units * M.BYTES_PER_UNIT
  if bottom - top < units and offset(buf, bottom + 1) <= stop then
    return
  end
  -- A line break is a unit, too.
  local low, high = top, math.min(bottom, top + units)
  while low < high do
    local middle = math.ceil((low + high) / 2)
    if offset(buf, middle) > stop then
      high = middle - 1
    else
      low = middle
    end
  end
  -- The offsets tell a line's length without reading it: it may be a very long one.
  local line_break = vim.bo[buf].fileformat == "dos" and 2 or 1
  local length = offset(buf, low + 1) - offset(buf, low) - line_break
  local col = math.max(1, math.min(stop - offset(buf, low), length))
  if low < bottom or col < region.last[3] then
    return { buf, low + 1, col, 0 }
  end
end

--- The region's text, or the beginning of a long one, at a cost that depends on the limit alone.
---@param region gemini_bridge.Region
---@param units integer So many UTF-16 units are read at least, if there are so many.
---@return string
function M.read(region, units)
  if not vim.api.nvim_buf_is_loaded(region.buf) then
    return ""
  end
  units = units + MORE
  if region.kind == "\22" then
    return block.read(region, units)
  end
  local stop = cut_off(region, units)
  local lines = vim.fn.getregion(region.first, stop or region.last, {
    type = stop and "v" or region.kind,
    exclusive = region.exclusive,
  })
  for i, line in ipairs(lines) do
    if line:find("\n", 1, true) then
      -- A NUL, in the words of Vim script.
      lines[i] = line:gsub("\n", "\0")
    end
  end
  return table.concat(lines, "\n")
end

--- The text of a range, or the beginning of a long one.
---@param buf integer A loaded one.
---@param range gemini_bridge.Range
---@param units integer So many UTF-16 units are read at least, if there are so many.
---@return string
function M.read_range(buf, range, units)
  local row, col, end_row, end_col = range.row, range.col, range.end_row, range.end_col
  if row == end_row then
    -- Most of a block's rows are short.
    end_col = math.min(end_col, col + (units + MORE) * M.BYTES_PER_UNIT)
    return vim.api.nvim_buf_get_text(buf, row, col, row, end_col, {})[1]
  end
  return M.read({
    buf = buf,
    kind = "v",
    first = { buf, row + 1, col + 1, 0 },
    last = end_col > 0 and { buf, end_row + 1, end_col, 0 } or { buf, end_row, MAXCOL, 0 },
    exclusive = false,
  }, units)
end

--- Where a character-wise region ends. Only its last lines are read.
---@param region gemini_bridge.Region
---@return integer row, integer col
local function finish(region)
  local from = region.first
  if from[2] < region.last[2] - 1 then
    from = { region.buf, region.last[2] - 1, 1, 0 }
  end
  local lines = vim.fn.getregion(from, region.last, { type = "v", exclusive = region.exclusive })
  return from[2] + #lines - 2, #lines[#lines] + (#lines == 1 and from[3] - 1 or 0)
end

--- Where the region's text is: in one range, or for each row of a block in one.
---@param region gemini_bridge.Region
---@return gemini_bridge.Range[]
function M.ranges(region)
  if region.kind == "\22" then
    return block.ranges(region)
  end
  local row, end_row = region.first[2] - 1, region.last[2] - 1
  local end_col = vim.fn.col({ end_row + 1, "$" }) - 1
  if region.kind == "v" then
    end_row, end_col = finish(region)
  end
  return { { row = row, col = region.first[3] - 1, end_row = end_row, end_col = end_col } }
end

return M
