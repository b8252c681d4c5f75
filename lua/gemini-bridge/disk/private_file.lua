--- Writes files that only the user may read (mode 600), and reads JSON files.
local M = {}

local MODE = tonumber("600", 8)
local MAX_AGE_S = 7 * 24 * 3600

--- Creates the directory of a file. Ignores errors, because opening the file then fails with the same error.
---@param path string
local function create_directory(path)
  pcall(vim.fn.mkdir, vim.fs.dirname(path), "p")
end

--- Creates an empty file. Fails if the file exists.
---@param path string
---@return string? problem Name of the error, such as "EEXIST".
function M.create(path)
  create_directory(path)
  local file, _, problem = vim.uv.fs_open(path, "wx", MODE)
  if file then
    vim.uv.fs_close(file)
  end
  return problem
end

--- Writes a temporary file, then renames it to `path`. Another Neovim thus never reads an incomplete file.
---@param path string
---@param text string
---@return string? problem
function M.write(path, text)
  create_directory(path)
  local aside = ("%s.%d"):format(path, vim.fn.getpid())
  vim.uv.fs_unlink(aside)
  local file, problem = vim.uv.fs_open(aside, "wx", MODE)
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

--- Deletes a file if its last write is at least a week ago.
---@param path string
function M.expire(path)
  local stat = vim.uv.fs_stat(path)
  if stat and os.time() - stat.mtime.sec >= MAX_AGE_S then
    vim.uv.fs_unlink(path)
  end
end

--- Reads a JSON file.
---@param path string
---@return any # nil if the file is missing or damaged.
function M.read(path)
  local ok, value = pcall(function()
    return vim.json.decode(table.concat(vim.fn.readfile(path), "\n"))
  end)
  return ok and value or nil
end

return M
