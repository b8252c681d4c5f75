--- Implements `:GeminiStart`, `:GeminiStop` and `:GeminiRestart`, and reports their results.
local host = require("gemini-bridge.host")
local notify = require("gemini-bridge.notify")
local status = require("gemini-bridge.bridge.status")

local M = {}

--- Autocommands that wait for the result of the last command.
local group = vim.api.nvim_create_augroup("gemini-bridge.announce", {})

--- Shows a message once the bridge has reached a state. Failed starts are reported by
--- lua/gemini-bridge/host/lifecycle.lua.
---@param wanted "running"|"stopped"
---@param sentence string Message; "%d" stands for the port.
local function announce(wanted, sentence)
  vim.api.nvim_clear_autocmds({ group = group })
  local said = false
  vim.api.nvim_create_autocmd("User", {
    group = group,
    pattern = { "GeminiStarted", "GeminiStopped" },
    -- Waits for the next tick, because during a restart, the bridge is in the state "stopped" only until then.
    callback = vim.schedule_wrap(function()
      local now = status.get()
      if said or (now.state ~= "running" and now.state ~= "stopped") then
        return
      end
      said = true
      vim.api.nvim_clear_autocmds({ group = group })
      if now.state == wanted then
        notify(sentence:format(now.port))
      end
    end),
  })
end

--- Starts the bridge, and reports when it is running.
function M.start()
  local now = status.get()
  if now.state == "running" then
    notify(("The bridge is already running on port %d"):format(now.port))
  else
    announce("running", "The bridge is running on port %d")
  end
  host.start()
end

--- Stops the bridge, and reports when it has stopped.
function M.stop()
  if status.get().state == "stopped" then
    return notify("The bridge is not running")
  end
  announce("stopped", "The bridge has stopped")
  host.stop()
end

--- Restarts the bridge, and reports when it is running.
function M.restart()
  announce("running", "The bridge was restarted on port %d")
  host.restart()
end

return M
