--- Keeps data for the next host: the state that the last host has sent, and the files that the user has written.
local M = {}

local memory ---@type gemini_bridge.Memory?
local ended_at ---@type integer? When the last running host ended, in milliseconds of |vim.uv.now()|.
--- State of each file after the user's last write. Also contains files that were reported to the host, because a host
--- that is about to end may lose the report.
local written = {} ---@type table<string, string>

--- Stores the state of the host.
---@param new gemini_bridge.Memory
function M.remember(new)
  memory = new
end

--- Drops the reviews, because they end with the bridge. Keeps the sessions for the next host. Called when the bridge
--- stops.
function M.forget_reviews()
  if memory then
    memory = vim.tbl_extend("force", memory, { diffs = {} })
  end
end

---@return gemini_bridge.Memory? # State of the last host.
function M.get()
  return memory
end

--- Records the time when a host has ended. If the next host fails to start, the recorded time does not change.
function M.host_ended()
  ended_at = ended_at or vim.uv.now()
end

--- Deletes the time that `host_ended` has recorded. Called when a host runs again.
function M.host_runs()
  ended_at = nil
end

---@param path string
---@return string # Changes with each write of the file.
local function state_of(path)
  local found = vim.uv.fs_stat(path)
  return found and table.concat({ found.mtime.sec, found.mtime.nsec, found.size, found.ino }, " ") or ""
end

--- Records a file that the user has written.
---@param path string
function M.add_written(path)
  written[path] = state_of(path)
end

--- Returns how long no host has run (milliseconds), and the files whose last write was by the user.
---@return { duration: integer, written: string[] }? absence nil for the first host of this Neovim.
function M.take_absence()
  local paths = vim.tbl_filter(function(path)
    return state_of(path) == written[path]
  end, vim.tbl_keys(written))
  written = {}
  return ended_at and { duration = vim.uv.now() - ended_at, written = paths }
end

return M
