--- Reads the highlighted part of each line of a block selection. |getregion()| is not suitable: it pads short lines
--- with blanks, and replaces a wide character at the edge of the block with blanks. In Neovim 0.10 it cannot read a
--- block that was extended with `$`.
local M = {}

--- Number of rows that are read at once.
local CHUNK_ROWS = 256
--- Maximum number of rows of a pinned block. A block with more rows exceeds the CLI's limit for a selection, even if
--- each row has only one character.
local MAX_PINNED_ROWS = 8192
local BYTES_PER_UNIT = 3 -- maximum number of UTF-8 bytes per UTF-16 unit
local TAB = 9

--- Returns the first and the last screen column of a character in the current window.
---@param position gemini_bridge.Position
---@return [integer, integer]
local function cells_at(position)
  local _, lnum, col, off = unpack(position)
  return vim.fn.virtcol({ lnum, math.min(col, vim.fn.col({ lnum, "$" })), off }, 1)
end

--- Returns the first and the last virtual column of a block in the current window, 1-based.
---@param p gemini_bridge.Position A corner of the block.
---@param q gemini_bridge.Position The opposite corner.
---@param exclusive boolean True if 'selection' is "exclusive".
---@param to_end boolean True if the block was extended with `$`.
---@return integer left, integer right
function M.columns(p, q, exclusive, to_end)
  local upper, lower = cells_at(p), cells_at(q)
  local left = math.min(upper[1], lower[1])
  if to_end then
    return left, vim.v.maxcol
  elseif lower[2] <= upper[2] then
    return left, upper[2]
  end
  return left, exclusive and lower[1] > upper[2] and lower[1] - 1 or lower[2]
end

--- Calls a function in the window where the block was selected, because the width of a character depends on the window.
---@generic T
---@param region gemini_bridge.Region
---@param read fun(): T
---@return T
local function in_its_window(region, read)
  local win = region.win
  if not vim.api.nvim_win_is_valid(win) or vim.api.nvim_win_get_buf(win) ~= region.buf then
    return vim.api.nvim_buf_call(region.buf, read)
  elseif win == vim.api.nvim_get_current_win() then
    return read()
  end
  return vim.api.nvim_win_call(win, read)
end

--- Returns the 1-based range of the bytes of one line that are in the block. Must run in the window of the block.
---@param region gemini_bridge.Region
---@param lnum integer
---@return integer? from nil if the line ends left of the block.
---@return integer? to The last byte, including combining characters.
---@return integer? right The last column of the block in this line.
local function bytes_of(region, lnum)
  local right = math.min(region.right, vim.fn.virtcol({ lnum, "$" }) - 1)
  if region.left > right then
    return
  end
  local at = { region.buf, lnum, vim.fn.virtcol2col(0, lnum, right), 0 }
  local last = vim.fn.getregion(at, at, { type = "v" })[1]
  return vim.fn.virtcol2col(0, lnum, region.left), at[3] + #last - 1, right
end

--- Returns the first and the last screen column of a tab. With 'virtualedit', |virtcol()| returns only the first.
---@param lnum integer
---@param col integer 1-based.
---@return integer first, integer last
local function cells_of_tab(lnum, col)
  local first = vim.fn.virtcol({ lnum, col }, 1)[1]
  return first, first + vim.fn.strdisplaywidth("\t", first - 1) - 1
end

--- Returns the part of a line that is in the block. Slow: used only for lines with tabs, wide or invisible characters.
---@param region gemini_bridge.Region
---@param lnum integer
---@param line string
---@return string
local function cut(region, lnum, line)
  local from, to, right = bytes_of(region, lnum)
  if not from then
    return ""
  end
  local before = ""
  -- Replaces a tab at the edge with one blank for each highlighted cell: Neovim highlights only the cells of the tab
  -- that are in the block. Other characters at the edge are highlighted completely.
  if line:byte(from) == TAB then
    local first, last = cells_of_tab(lnum, from)
    if first < region.left then
      before = (" "):rep(math.min(last, right) - region.left + 1)
      from = from + 1
    end
  end
  if line:byte(to) == TAB and to >= from then
    local first, last = cells_of_tab(lnum, to)
    if last > right then
      return before .. line:sub(from, to - 1) .. (" "):rep(right - first + 1)
    end
  end
  return before .. line:sub(from, to)
end

--- Returns whether each printable ASCII character takes exactly one cell in the current window.
---@param region gemini_bridge.Region
local function is_even(region)
  local wraps = vim.wo.wrap and (vim.wo.linebreak or vim.o.showbreak ~= "")
  local top, bottom = { region.first[2] - 1, 0 }, { region.last[2] - 1, -1 }
  return not wraps
    and #vim.api.nvim_buf_get_extmarks(0, -1, top, bottom, { type = "virt_text", limit = 1 }) == 0
end

--- Calls `visit` for the rows of a block, in the window of the block, until `visit` returns true.
---@param region gemini_bridge.Region
---@param visit fun(lnum: integer, line: string, simple: boolean): boolean? `simple`: each byte takes one cell.
local function each_row(region, visit)
  in_its_window(region, function()
    local even = is_even(region)
    for start = region.first[2], region.last[2], CHUNK_ROWS do
      local stop = math.min(start + CHUNK_ROWS - 1, region.last[2])
      for i, line in ipairs(vim.api.nvim_buf_get_lines(0, start - 1, stop, false)) do
        local uneven = line:find("[^ -~]")
        -- A combining character directly after the block belongs to the last character of the block.
        if visit(start + i - 1, line, even and (not uneven or uneven > region.right + 1)) then
          return
        end
      end
    end
  end)
end

--- Reads the text of a block. May stop early in a long text.
---@param region gemini_bridge.Region
---@param units integer Number of UTF-16 units after which reading may stop.
---@return string
function M.read(region, units)
  local rows, size = {}, 0
  each_row(region, function(lnum, line, simple)
    local row = simple and line:sub(region.left, region.right) or cut(region, lnum, line)
    rows[#rows + 1] = row
    size = size + (simple and #row or #row / BYTES_PER_UNIT) + 1
    return size > units
  end)
  return table.concat(rows, "\n")
end

--- Returns the range of bytes of the block in each row. A tab at the edge of the block is included completely.
---@param region gemini_bridge.Region
---@return gemini_bridge.Range[]
function M.ranges(region)
  local ranges = {}
  each_row(region, function(lnum, line, simple)
    local from, to = region.left, math.min(region.right, #line)
    if not simple then
      from, to = bytes_of(region, lnum)
    end
    local has_text = from and from <= to
    local row, col = lnum - 1, has_text and from - 1 or 0
    ranges[#ranges + 1] = { row = row, col = col, end_row = row, end_col = has_text and to or col }
    return #ranges == MAX_PINNED_ROWS
  end)
  return ranges
end

return M
