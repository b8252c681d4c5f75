--- Decisions that their client will never hear of: the user is told, and keeps the text that they accepted.
local decisions = require("gemini-bridge.bridge.decisions")
local kept = require("gemini-bridge.review.kept")
local notify = require("gemini-bridge.notify")
local path = require("gemini-bridge.disk.path")
local safely = require("gemini-bridge.editor.safely")

local M = {}

---@param decision gemini_bridge.Decision
---@param asker string
---@param file string
---@param problem? string A sentence without its full stop: why an accepted text was not written.
local function tell(decision, asker, file, problem)
  local event, content = decision[1], decision[2].content
  local shown = path.display(file, 20)
  if event == "diff_accepted" then
    safely.run(function()
      local buf = kept.keep(file, content or "")
      local reason = problem or ("%s is gone"):format(asker)
      notify(("%s; accepted %s is kept in buffer %d"):format(reason, shown, buf), "warn")
    end)
  elseif event == "diff_rejected" then
    notify(("%s is gone; it missed that you rejected %s"):format(asker, shown), "warn")
  end
end

--- The host is done with a decision; it has arrived, or never will.
---@param params { id: integer, delivered: boolean, filePath: string, problem?: string }
function M.settled(params)
  local decision, asker = decisions.take(params.id)
  if decision and asker and not params.delivered then
    tell(decision, asker, params.filePath, params.problem)
  end
end

--- No host follows that could deliver what is left.
function M.abandon()
  for _, one in ipairs(decisions.abandon()) do
    tell(one[1], one[2], one[3] or "a file")
  end
end

return M
