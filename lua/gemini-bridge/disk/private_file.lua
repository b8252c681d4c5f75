--- Reads and writes files of the plugin that only the user can read.
local M = {}

--- Writes a temporary file and renames it, so that another Neovim never reads an incomplete file.
---@param path string
---@param text string
---@return string? problem
function M.write(path, text)
  vim.fn.mkdir(vim.fs.dirname(path), "p")
  local aside = ("%s.%d"):format(path, vim.fn.getpid())
  vim.uv.fs_unlink(aside)
  local file, problem = vim.uv.fs_open(aside, "wx", tonumber("600", 8))
  if not file then
    return problem
  end
  local written
  written, problem = vim.uv.fs_write(file, text)
  vim.uv.fs_close(file)
  if written ~= #text then
    vim.uv.fs_unlink(aside)
    return problem or "the disk is full"
  end
  return select(2, vim.uv.fs_rename(aside, path))
end

--- Reads a JSON file with a list. Leaves out entries that are not valid, as in a damaged file.
---@generic T
---@param path string
---@param is_valid fun(entry: T): boolean
---@return T[] # Empty if the file is missing.
function M.read_list(path, is_valid)
  local ok, list = pcall(function()
    return vim.json.decode(table.concat(vim.fn.readfile(path), "\n"))
  end)
  return ok and vim.islist(list) and vim.tbl_filter(is_valid, list) or {}
end

return M
