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

--- Reads a JSON file.
---@param path string
---@return any value nil if the file is missing or damaged.
function M.read_json(path)
  local ok, value = pcall(function()
    return vim.json.decode(table.concat(vim.fn.readfile(path), "\n"))
  end)
  return ok and value or nil
end

return M
