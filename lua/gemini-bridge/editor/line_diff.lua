--- Compares two texts line by line.
local M = {}

--- The function |vim.diff()|, which Neovim 0.12 calls `vim.text.diff()`.
M.diff = vim.text and vim.text.diff or vim.diff

---@param lines string[]
---@return string
local function joined(lines)
  return #lines == 0 and "" or table.concat(lines, "\n") .. "\n"
end

--- Returns the differences between two texts. Each difference has four numbers: first line (1-based) and number of
--- lines in the old text, then the same for the new text. For 0 lines, the first line is the line above the change.
---@param old string[]
---@param new string[]
---@return integer[][]
function M.compare(old, new)
  return M.diff(joined(old), joined(new), { result_type = "indices" }) --[[@as integer[][] ]]
end

return M
