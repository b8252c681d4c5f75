--- Characters as users see them.
local M = {}

--- The byte column behind the character at a position, its combining characters included.
---@param buf integer
---@param row integer 0-based.
---@param col integer Byte column, 0-based.
---@param length integer Of the line, in bytes.
---@return integer
function M.behind(buf, row, col, length)
  if col >= length then
    return length
  end
  local rest = vim.api.nvim_buf_get_text(buf, row, col, row, math.min(col + 256, length), {})[1]
  -- A NUL would make a Blob of the string.
  return col + #vim.fn.strcharpart(rest:gsub("%z", "\n"), 0, 1, 1)
end

return M
