--- Keeps data for the next host: the state that the last host has sent, and the time at which the last host ended.
local M = {}

local memory ---@type gemini_bridge.Memory?
local ended_at ---@type integer? When the last running host ended, in milliseconds of |vim.uv.now()|.

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

---@return integer? # Time without a running host (milliseconds). Nil while a host runs and before the first host.
function M.downtime()
  return ended_at and vim.uv.now() - ended_at
end

return M
