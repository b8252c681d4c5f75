--- Reads the selected part of a buffer: exactly the highlighted characters, without a final line break.
local block_selection = require("gemini-bridge.context.block_selection")

local M = {}

---@alias gemini_bridge.VisualKind "v"|"V"|"\22"

---@class gemini_bridge.Position In the format of |getpos()|: 1-based line and byte column.
---@field [1] integer Buffer.
---@field [2] integer Line.
---@field [3] integer Column.
---@field [4] integer Offset in cells, for 'virtualedit'.

---@class gemini_bridge.Region
---@field buf integer
---@field win? integer The window of the selection.
---@field tick? integer The buffer's changedtick when the positions were read.
---@field kind gemini_bridge.VisualKind
---@field first gemini_bridge.Position
---@field last gemini_bridge.Position
---@field exclusive boolean True if the character at `last` is excluded.
---@field left? integer First virtual column of a block, 1-based.
---@field right? integer Last virtual column of a block.

--- 0-based rows and byte columns, as in extmarks. The end is exclusive.
---@class gemini_bridge.Range
---@field row integer
---@field col integer
---@field end_row integer
---@field end_col integer

--- Maximum number of UTF-8 bytes per UTF-16 unit.
M.BYTES_PER_UNIT = 3

local MAXCOL = vim.v.maxcol
--- Number of UTF-16 units to read beyond a limit, so that the last character is never cut in half.
local EXTRA_UNITS = 256

---@type table<string, gemini_bridge.VisualKind>
local kinds = { v = "v", s = "v", V = "V", S = "V", ["\22"] = "\22", ["\19"] = "\22" }

--- Returns the kind of the selection in a Visual or Select mode.
---@param mode string
---@return gemini_bridge.VisualKind?
function M.kind(mode)
  return kinds[mode:sub(1, 1)]
end

--- Creates the region between two positions in the current window.
---@param kind gemini_bridge.VisualKind
---@param p gemini_bridge.Position
---@param q gemini_bridge.Position
---@param to_end? boolean True if a block was extended with `$`.
---@return gemini_bridge.Region
local function between(kind, p, q, to_end)
  if q[2] < p[2] or q[2] == p[2] and (q[3] < p[3] or q[3] == p[3] and q[4] < p[4]) then
    p, q = q, p
  end
  local exclusive = vim.o.selection == "exclusive"
  -- Neovim highlights closed folds completely, but |getregion()| ignores folds. Extends the region to whole folds.
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
    region.left, region.right = block_selection.columns(p, q, exclusive, to_end or false)
  end
  return region
end

--- Returns whether the last motion in the current window was `$`, which extends a block to the end of each line.
---@return boolean
function M.is_to_end()
  return vim.fn.winsaveview().curswant == MAXCOL
end

--- Returns the selection that is highlighted in the current window.
---@param kind gemini_bridge.VisualKind
---@return gemini_bridge.Region
function M.live(kind)
  return between(kind, vim.fn.getpos("v"), vim.fn.getpos("."), M.is_to_end())
end

--- Returns the previous selection in the current window.
---@param to_end boolean True if that selection is a block that was extended with `$`.
---@return gemini_bridge.Region?
function M.ended(to_end)
  local p, q = vim.fn.getpos("'<"), vim.fn.getpos("'>")
  if p[2] > 0 then
    return between(vim.fn.visualmode(), p, q, to_end)
  end
end

--- Returns the region of whole lines in the current buffer.
---@param first integer 1-based.
---@param last integer
---@return gemini_bridge.Region
function M.lines(first, last)
  return between("V", { 0, first, 1, 0 }, { 0, last, 1, 0 })
end

--- Returns the position at which to stop reading a long region. Otherwise |getregion()| would copy the whole text.
---@param region gemini_bridge.Region
---@param units integer Minimum number of UTF-16 units before the position.
---@return gemini_bridge.Position? # nil if the whole region can be read.
local function cut_off(region, units)
  local offset = vim.api.nvim_buf_get_offset
  local buf, top, bottom = region.buf, region.first[2] - 1, region.last[2] - 1
  local stop = offset(buf, top) + region.first[3] - 1 + units * M.BYTES_PER_UNIT
  if bottom - top < units and offset(buf, bottom + 1) <= stop then
    return
  end
  -- Searches at most `units` lines: each line has a line break and thus at least one unit.
  local low, high = top, math.min(bottom, top + units)
  while low < high do
    local middle = math.ceil((low + high) / 2)
    if offset(buf, middle) > stop then
      high = middle - 1
    else
      low = middle
    end
  end
  -- Computes the length of the line from offsets. Reading a very long line would be slow.
  local line_break = vim.bo[buf].fileformat == "dos" and 2 or 1
  local length = offset(buf, low + 1) - offset(buf, low) - line_break
  local col = math.max(1, math.min(stop - offset(buf, low), length))
  if low < bottom or col < region.last[3] then
    return { buf, low + 1, col, 0 }
  end
end

--- Reads the text of a region. May cut off a long text. The cost depends only on `units`, not on the length of the
--- region.
---@param region gemini_bridge.Region
---@param units integer Minimum number of UTF-16 units to read. A shorter text is read completely.
---@return string
function M.read(region, units)
  if not vim.api.nvim_buf_is_loaded(region.buf) then
    return ""
  end
  units = units + EXTRA_UNITS
  if region.kind == "\22" then
    return block_selection.read(region, units)
  end
  local stop = cut_off(region, units)
  local lines = vim.fn.getregion(region.first, stop or region.last, {
    type = stop and "v" or region.kind,
    exclusive = region.exclusive,
  })
  for i, line in ipairs(lines) do
    if line:find("\n", 1, true) then
      -- Vim script represents a NUL byte as a line break.
      lines[i] = line:gsub("\n", "\0")
    end
  end
  return table.concat(lines, "\n")
end

--- Reads the text of a range. May cut off a long text.
---@param buf integer Must be loaded.
---@param range gemini_bridge.Range
---@param units integer Minimum number of UTF-16 units to read. A shorter text is read completely.
---@return string
function M.read_range(buf, range, units)
  local row, col, end_row, end_col = range.row, range.col, range.end_row, range.end_col
  if row == end_row then
    -- Fast path for ranges within one row, as in blocks.
    end_col = math.min(end_col, col + (units + EXTRA_UNITS) * M.BYTES_PER_UNIT)
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

--- Returns the end of a characterwise region. Reads at most the last two lines.
---@param region gemini_bridge.Region
---@return integer row, integer col 0-based; exclusive.
local function finish(region)
  local from = region.first
  if from[2] < region.last[2] - 1 then
    from = { region.buf, region.last[2] - 1, 1, 0 }
  end
  local lines = vim.fn.getregion(from, region.last, { type = "v", exclusive = region.exclusive })
  return from[2] + #lines - 2, #lines[#lines] + (#lines == 1 and from[3] - 1 or 0)
end

--- Returns the range of a region. For whole lines and for a block, the range ends at the start of the line below.
---@param region gemini_bridge.Region
---@return gemini_bridge.Range
function M.extent(region)
  local row = region.first[2] - 1
  if region.kind ~= "v" then
    return { row = row, col = 0, end_row = region.last[2], end_col = 0 }
  end
  local end_row, end_col = finish(region)
  return { row = row, col = region.first[3] - 1, end_row = end_row, end_col = end_col }
end

--- Returns the ranges of the text: for a block, one range for each row, otherwise one range.
---@param region gemini_bridge.Region
---@return gemini_bridge.Range[]
function M.ranges(region)
  if region.kind == "\22" then
    return block_selection.ranges(region)
  end
  local row, end_row = region.first[2] - 1, region.last[2] - 1
  local end_col = vim.fn.col({ end_row + 1, "$" }) - 1
  if region.kind == "v" then
    end_row, end_col = finish(region)
  end
  return { { row = row, col = region.first[3] - 1, end_row = end_row, end_col = end_col } }
end

return M
