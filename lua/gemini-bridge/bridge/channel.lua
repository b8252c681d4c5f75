--- Sends events to the host.
local M = {}

local channel ---@type integer?
--- True if the host is Neovim's standard Node host. Does not follow the option `host`, which the user may change while
--- a host runs.
local is_shared = false

--- Sets the RPC channel of the host.
---@param attached? integer nil if no host is attached.
---@param shared? boolean True for Neovim's standard Node host.
function M.set(attached, shared)
  channel, is_shared = attached, shared or false
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
  elseif is_shared then
    return (pcall(vim.fn.GeminiBridgeEvent, event, payload))
  end
  return (pcall(vim.rpcnotify, channel, "gemini_bridge", event, payload))
end

return M
