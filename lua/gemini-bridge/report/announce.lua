--- `:GeminiStart`, `:GeminiStop` and `:GeminiRestart`, which say in a word what happened.
local host = require("gemini-bridge.host")
local notify = require("gemini-bridge.notify")
local status = require("gemini-bridge.bridge.status")

local M = {}

--- Of the command that was given last.
local group = vim.api.nvim_create_augroup("gemini-bridge.announce", {})

--- Says once, when the bridge has come to rest in this state, how it got there. Why a start fails is said by itself.
---@param wanted "running"|"stopped"
---@param sentence string "%d" in it is the port.
local function announce(wanted, sentence)
  vim.api.nvim_clear_autocmds({ group = group })
  local said = false
  vim.api.nvim_create_autocmd("User", {
    group = group,
    pattern = { "GeminiStarted", "GeminiStopped" },
    -- Scheduled, because a restart starts as soon as it has stopped.
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

--- Starts the bridge and says when it runs.
function M.start()
  local now = status.get()
  if now.state == "running" then
    notify(("The bridge runs already, on port %d"):format(now.port))
  else
    announce("running", "The bridge runs on port %d")
  end
  host.start()
end

--- Stops it and says when it has stopped.
function M.stop()
  if status.get().state == "stopped" then
    return notify("The bridge was not running")
  end
  announce("stopped", "The bridge has stopped")
  host.stop()
end

--- Starts it anew and says when it runs.
function M.restart()
  announce("running", "The bridge runs again, on port %d")
  host.restart()
end

return M
