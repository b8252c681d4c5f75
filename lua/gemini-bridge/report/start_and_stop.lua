--- Shows the results of `:GeminiStart`, `:GeminiStop` and `:GeminiRestart`.
local notify = require("gemini-bridge.notify")
local status = require("gemini-bridge.bridge.status")

local M = {}

--- Autocommands that wait for the result of the last start, stop or restart.
local group = vim.api.nvim_create_augroup("gemini-bridge.announce", {})

--- Shows a message when the bridge has reached a state. Shows nothing if a start fails, because host/lifecycle.lua
--- reports failures.
---@param wanted "running"|"stopped"
---@param sentence string The message. "%d" is replaced by the port.
local function announce(wanted, sentence)
  vim.api.nvim_clear_autocmds({ group = group })
  local said = false
  vim.api.nvim_create_autocmd("User", {
    group = group,
    pattern = { "GeminiStarted", "GeminiStopped" },
    -- Waits one tick. During a restart, the state is "stopped" in this tick, but not in the next.
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

--- Starts the bridge. Shows a message when the bridge is running.
---@param start fun()
function M.start(start)
  local now = status.get()
  if now.state == "running" then
    notify(("The bridge is already running on port %d"):format(now.port))
  else
    announce("running", "The bridge is running on port %d")
  end
  start()
end

--- Stops the bridge. Shows a message when the bridge has stopped.
---@param stop fun()
function M.stop(stop)
  if status.get().state == "stopped" then
    return notify("The bridge is not running")
  end
  announce("stopped", "The bridge has stopped")
  stop()
end

--- Restarts the bridge. Shows a message when the bridge is running again.
---@param restart fun()
function M.restart(restart)
  announce("running", "The bridge was restarted on port %d")
  restart()
end

return M
