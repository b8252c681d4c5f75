--- Stores what the user has written or answered for a later Neovim. Each value is a JSON file in `stdpath("state")`
--- that only the user can read. Its name is "name" or "directory/number". Before the field `version` existed, files
--- contained the bare value, which is still read.
local private_file = require("gemini-bridge.disk.private_file")

local M = {}

local VERSION = 1

---@param name string
---@return string
local function path_of(name)
  return vim.fs.joinpath(vim.fn.stdpath("state"), name .. ".json")
end

--- Creates an empty file for a value, to reserve its name.
---@param name string
---@return string? problem "EEXIST" if the name is taken.
function M.create(name)
  return private_file.create(path_of(name))
end

--- Replaces a value atomically.
---@param name string
---@param value table
---@return string? problem
function M.write(name, value)
  return private_file.write(path_of(name), vim.json.encode({ version = VERSION, value = value }))
end

--- Deletes a value.
---@param name string
---@return boolean deleted False if another Neovim has deleted the value before.
function M.delete(name)
  return vim.uv.fs_unlink(path_of(name)) == true
end

--- Returns when a value was last written.
---@param name string
---@return integer? # Unix seconds. nil if there is no file.
function M.time(name)
  local stat = vim.uv.fs_stat(path_of(name))
  return stat and stat.mtime.sec
end

--- Reads a value.
---@param name string
---@return table? # nil if the file is missing or damaged.
function M.read(name)
  local found = private_file.read(path_of(name))
  if type(found) ~= "table" then
    return
  end
  return found.version == VERSION and found.value or found
end

--- Reads a list. Leaves out invalid entries.
---@generic T
---@param name string
---@param is_valid fun(entry: T): boolean
---@return T[] # Empty if the file is missing or damaged.
function M.read_list(name, is_valid)
  local list = M.read(name)
  return vim.islist(list) and vim.tbl_filter(is_valid, list) or {}
end

--- Deletes a value that was last written at least a week ago.
---@param name string
function M.expire(name)
  private_file.expire(path_of(name))
end

--- Returns the numbers of all values with names "directory/number", in any order.
---@param directory string
---@return integer[]
function M.numbers(directory)
  local numbers = {}
  for name in vim.fs.dir(vim.fs.joinpath(vim.fn.stdpath("state"), directory)) do
    numbers[#numbers + 1] = tonumber(name:match("^(%d+)%.json$"))
  end
  return numbers
end

--- Returns the first entries that fit into a total size. The first entry always fits.
---@generic T
---@param list T[] Sorted, the entries to keep first.
---@param max_entries integer
---@param max_bytes integer
---@param size_of fun(entry: T): integer Size in bytes.
---@return T[]
function M.fitting(list, max_entries, max_bytes, size_of)
  local kept, size = {}, 0
  for _, entry in ipairs(list) do
    size = size + size_of(entry)
    if #kept == 0 or #kept < max_entries and size <= max_bytes then
      kept[#kept + 1] = entry
    end
  end
  return kept
end

return M
