--- Starts, stops and restarts the bridge.
local lifecycle = require("gemini-bridge.host.lifecycle")

local M = {}

--- Starts the bridge. Returns at once. A running bridge only writes its discovery files again.
function M.start()
  lifecycle.start()
  -- Loads the module for the host's calls while Node is still starting, so that the first call need not wait for it.
  vim.schedule(function()
    require("gemini-bridge.host.rpc")
  end)
end

--- Stops the bridge, or cancels its start. Returns at once.
function M.stop()
  lifecycle.stop()
end

--- Stops the bridge and starts it again as soon as it has ended.
function M.restart()
  M.stop()
  M.start()
end

return M
