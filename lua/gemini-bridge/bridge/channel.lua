--- Sends events to the host.
local config = require("gemini-bridge.config")

local M = {}

local channel ---@type integer?

--- Sets the RPC channel of the host.
---@param attached? integer nil if no host is attached.
function M.set(attached)
  channel = attached
end

---@return boolean
function M.is_open()
  return channel ~= nil
end

--- Sends an event to the host. Drops the event if no host is attached, because a new host reads the current state.
---@param event string See `events` in src/contract/neovim.ts.
---@param payload table
---@return boolean sent
function M.notify(event, payload)
  if not channel then
    return false
  elseif config.get().host == "shared" then
    return (pcall(vim.fn.GeminiBridgeEvent, event, payload))
  end
  return (pcall(vim.rpcnotify, channel, "gemini_bridge", event, payload))
end

return M
