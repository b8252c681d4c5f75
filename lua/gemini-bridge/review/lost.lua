--- Decisions that their client will never hear of: the user is told, and keeps the text that they accepted.
local decisions = require("gemini-bridge.bridge.decisions")
local notify = require("gemini-bridge.notify")
local path = require("gemini-bridge.disk.path")
local safely = require("gemini-bridge.editor.safely")
local window = require("gemini-bridge.editor.window")

local M = {}

--- Puts text into a new listed buffer that no window shows.
---@param file string The file that the text was meant for.
---@param text string
---@return integer buf
local function keep(file, text)
  local buf = window.create_buffer(true, true)
  local lines = vim.split(text, "\n", { plain = true })
  local bo = vim.bo[buf]
  bo.fixendofline = false
  bo.endofline = lines[#lines] == ""
  if bo.endofline then
    lines[#lines] = nil
  end
  vim.api.nvim_buf_set_lines(buf, 0, -1, true, lines)
  window.set_name(buf, ("gemini://kept/%d%s"):format(buf, file))
  return buf
end

---@param decision gemini_bridge.Decision
---@param asker string
---@param file string
local function tell(decision, asker, file)
  local event, content = decision[1], decision[2].content
  local shown = path.display(file, 20)
  if event == "diff_accepted" then
    safely.run(function()
      local buf = keep(file, content or "")
      notify(("%s is gone; accepted %s is kept in buffer %d"):format(asker, shown, buf), "warn")
    end)
  elseif event == "diff_rejected" then
    notify(("%s is gone; it missed that you rejected %s"):format(asker, shown), "warn")
  end
end

--- The host is done with a decision; it has arrived, or never will.
---@param params { id: integer, delivered: boolean, filePath: string }
function M.settled(params)
  local decision, asker = decisions.take(params.id)
  if decision and asker and not params.delivered then
    tell(decision, asker, params.filePath)
  end
end

--- No host follows that could deliver what is left.
function M.abandon()
  for _, one in ipairs(decisions.abandon()) do
    tell(one[1], one[2], one[3] or "a file")
  end
end

return M
