--- Tells when a file on disk changes. Costs nothing while it does not.
local M = {}

--- How long a directory must have been still (milliseconds): most writes are first seen half done.
local SETTLE = 30

---@param path string
---@return string directory The nearest that exists.
local function existing_parent(path)
  local directory = vim.fs.dirname(path)
  while not vim.uv.fs_stat(directory) and directory ~= "/" do
    directory = vim.fs.dirname(directory)
  end
  return directory
end

--- Watches the directory, not the file: one that is replaced or not there yet is seen, too.
---@param path string Absolute, without symbolic links.
---@param changed fun() Called when something has happened to the file.
---@return fun() stop May run twice.
function M.start(path, changed)
  local name = vim.fs.basename(path)
  local timer = assert(vim.uv.new_timer())
  local handle ---@type uv.uv_fs_event_t?
  local watched ---@type string?
  local arm

  local function settled()
    if timer:is_closing() then
      return
    end
    arm()
    changed()
  end

  function arm()
    local directory = existing_parent(path)
    if directory == watched then
      return
    end
    if handle then
      handle:close()
    end
    watched = directory
    handle = assert(vim.uv.new_fs_event())
    local is_parent = directory == vim.fs.dirname(path)
    handle:start(directory, {}, function(problem, entry)
      if not problem and not timer:is_closing() and not (is_parent and entry and entry ~= name) then
        timer:start(SETTLE, 0, vim.schedule_wrap(settled))
      end
    end)
  end

  arm()
  return function()
    if not timer:is_closing() then
      timer:close()
      if handle then
        handle:close()
      end
    end
  end
end

return M
