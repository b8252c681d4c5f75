--- Keeps data for the next host: the state that the last host has sent, and the files that the user writes while no
--- host runs.
local M = {}

local memory ---@type gemini_bridge.Memory?
local ended_at ---@type integer? When the last running host ended, in milliseconds of |vim.uv.now()|.
local written = {} ---@type table<string, true>

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

--- Records a file that the user has written while no host runs.
---@param path string
function M.add_written(path)
  written[path] = true
end

--- Returns how long no host has run (milliseconds), and the files that the user has written during that time.
---@return { duration: integer, written: string[] }? absence nil for the first host of this Neovim.
function M.take_absence()
  local paths = vim.tbl_keys(written)
  written = {}
  return ended_at and { duration = vim.uv.now() - ended_at, written = paths }
end

return M
