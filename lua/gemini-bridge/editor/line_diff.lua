--- Compares texts by lines.
local M = {}

--- |vim.diff()|, which was renamed in Neovim 0.12.
M.diff = vim.text and vim.text.diff or vim.diff

---@param lines string[]
---@return string
local function joined(lines)
  return #lines == 0 and "" or table.concat(lines, "\n") .. "\n"
end

--- Returns the differences between two texts: first line (1-based) and count in the old text, and in the new text. If a
--- count is 0, the line is the line above the change.
---@param old string[]
---@param new string[]
---@return integer[][]
function M.compare(old, new)
  return M.diff(joined(old), joined(new), { result_type = "indices" }) --[[@as integer[][] ]]
end

return M
