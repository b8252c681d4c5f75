--- The columns and the text of a block.
local character = require("gemini-bridge.context.region_character")

local M = {}

--- Rows that are read at once.
local CHUNK = 256
local BYTES_PER_UNIT = 3 -- at most, in UTF-8

--- The virtual columns of a block between two corners in the current window, 1-based.
---@param p gemini_bridge.Position
---@param q gemini_bridge.Position
---@param exclusive boolean
---@param to_end boolean
---@return integer left, integer right
function M.columns(p, q, exclusive, to_end)
  local upper, lower = vim.fn.virtcol(p, 1), vim.fn.virtcol(q, 1)
  local left = math.min(upper[1], lower[1])
  if to_end then
    return left, vim.v.maxcol
  elseif lower[2] <= upper[2] then
    return left, upper[2]
  end
  return left, exclusive and lower[1] > upper[2] and lower[1] - 1 or lower[2]
end

--- A block's part of a line in which something is wider or narrower than its bytes.
---@param region gemini_bridge.Region
---@param win integer
---@param row integer
---@param line string
---@return string
local function cut(region, win, row, line)
  local lnum = row + 1
  local right = math.min(region.right, vim.fn.virtcol({ lnum, "$" }, 0, win) - 1)
  if region.left > right then
    return ""
  end
  local from = vim.fn.virtcol2col(win, lnum, region.left)
  local to = vim.fn.virtcol2col(win, lnum, right)
  local before = ""
  -- Of a tab only the cells in the block are highlighted, of any other character all.
  if line:byte(from) == 9 then
    local cells = vim.fn.virtcol({ lnum, from }, 1, win)
    if cells[1] < region.left then
      before = (" "):rep(math.min(cells[2], right) - region.left + 1)
      from = from + 1
    end
  end
  if line:byte(to) == 9 and to >= from then
    local cells = vim.fn.virtcol({ lnum, to }, 1, win)
    if cells[2] > right then
      return before .. line:sub(from, to - 1) .. (" "):rep(right - cells[1] + 1)
    end
  end
  return before .. line:sub(from, character.behind(region.buf, row, to - 1, #line))
end

--- The block's text, or the beginning of a long one.
---@param region gemini_bridge.Region
---@param units integer So many UTF-16 units are read at least, if there are so many.
---@return string
function M.read(region, units)
  local win = vim.api.nvim_win_is_valid(region.win) and region.win or 0
  local wrap = vim.wo[win].wrap and (vim.wo[win].linebreak or vim.o.showbreak ~= "")
  local inline = vim.api.nvim_buf_get_extmarks(
    region.buf,
    -1,
    { region.first[1], 0 },
    { region.last[1], -1 },
    { type = "virt_text", limit = 1 }
  )
  local plain = not wrap and #inline == 0
  local rows, size = {}, 0
  for start = region.first[1], region.last[1], CHUNK do
    local stop = math.min(start + CHUNK, region.last[1] + 1)
    for i, line in ipairs(vim.api.nvim_buf_get_lines(region.buf, start, stop, false)) do
      local uneven = line:find("[^ -~]")
      local simple = plain and (not uneven or uneven > region.right)
      local row = simple and line:sub(region.left, region.right) or cut(region, win, start + i - 1, line)
      rows[#rows + 1] = row
      size = size + (simple and #row or #row / BYTES_PER_UNIT) + 1
      if size > units then
        return table.concat(rows, "\n")
      end
    end
  end
  return table.concat(rows, "\n")
end

return M
