--- Writes files that only the user may read (mode 600), and reads JSON files.
local M = {}

local MODE = tonumber("600", 8)
local MAX_AGE_S = 7 * 24 * 3600

--- Creates the directory of a file. Ignores errors, because opening the file then fails with the same error.
---@param path string
local function create_directory(path)
  pcall(vim.fn.mkdir, vim.fs.dirname(path), "p")
end

--- Returns the path of the file `{number}.json` in one of the plugin's state directories.
---@param directory string Name of a directory in `stdpath("state")`.
---@param number integer
---@return string
function M.numbered(directory, number)
  return vim.fs.joinpath(vim.fn.stdpath("state"), directory, number .. ".json")
end

--- Returns the numbers of all files `{number}.json` in a state directory, in any order. Empty if the directory is
--- missing.
---@param directory string
---@return integer[]
function M.numbers(directory)
  local numbers = {}
  for name in vim.fs.dir(vim.fs.joinpath(vim.fn.stdpath("state"), directory)) do
    numbers[#numbers + 1] = tonumber(name:match("^(%d+)%.json$"))
  end
  return numbers
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

--- Reads a list from a JSON file. Leaves out invalid entries.
---@generic T
---@param path string
---@param is_valid fun(entry: T): boolean
---@return T[] # Empty if the file is missing or damaged.
function M.read_list(path, is_valid)
  local list = M.read(path)
  return vim.islist(list) and vim.tbl_filter(is_valid, list) or {}
end

return M
