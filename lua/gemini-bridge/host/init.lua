--- Starts, stops and restarts the bridge.
local lifecycle = require("gemini-bridge.host.lifecycle")

local M = {}

--- Starts the bridge and returns immediately. If the bridge is already running, only writes the discovery files again.
function M.start()
  lifecycle.start()
  -- Loads the module for the host's calls while Node is starting. Otherwise the first call would have to wait for the
  -- loading.
  vim.schedule(function()
    require("gemini-bridge.host.rpc")
  end)
end

--- Stops the bridge, or cancels a start. Returns immediately.
function M.stop()
  lifecycle.stop()
end

--- Stops the bridge, and starts it again after the old host has ended.
function M.restart()
  M.stop()
  M.start()
end

return M
