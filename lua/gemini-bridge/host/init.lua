--- The Node host: started, stopped, and what it may call.
local lifecycle = require("gemini-bridge.host.lifecycle")

local M = {}

--- Starts the bridge. Returns at once; does nothing when it runs already.
function M.start()
  lifecycle.start()
  -- What the host calls first is loaded while Node starts, and not when it asks.
  vim.schedule(function()
    require("gemini-bridge.host.rpc")
  end)
end

--- Stops the bridge. Returns at once; cancels a start that is under way.
function M.stop()
  lifecycle.stop()
end

--- Stops the bridge and starts it again as soon as it has ended.
function M.restart()
  M.stop()
  M.start()
end

return M
