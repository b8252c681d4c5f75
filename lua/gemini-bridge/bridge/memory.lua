--- Keeps data for the next host: the state that the last host has sent, and how and when the last host ended.
local M = {}

local memory ---@type gemini_bridge.Memory?
local ended_at ---@type number? When the last running host ended (Unix milliseconds).
local was_stopped = false

---@return number # Unix milliseconds.
local function now()
  local seconds, microseconds = vim.uv.gettimeofday()
  return seconds * 1000 + microseconds / 1000
end

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

--- Records that a host has ended or was asked to stop. If the next host fails to start, the record does not change.
---@param stopped boolean False after a crash.
function M.host_ended(stopped)
  if not ended_at then
    ended_at, was_stopped = now(), stopped
  end
end

--- Deletes the record of `host_ended`. Called when a host runs again.
function M.host_runs()
  ended_at = nil
end

--- Returns what the last running host has left, for the next host.
---@return table? # `Previous` in src/contract/boot.ts. Nil before the first host.
function M.previous()
  local address = require("gemini-bridge.bridge.status").address()
  return address.port
    and {
      port = address.port,
      tokens = address.tokens,
      memory = memory,
      endedAt = ended_at or now(),
      wasStopped = was_stopped,
    }
end

return M
