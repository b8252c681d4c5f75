--- Prompts with references to what is here, on their way to the CLI.
local notify = require("gemini-bridge.notify")

local M = {}

---@class gemini_bridge.SendOptions
---@field text? string What to say.
---@field source? "here"|"diagnostics"|"quickfix"|"output"|"nothing" What to refer to: "here" is the file, the entries
---of an explorer or of a quickfix window, or the text of a buffer without a file, "output" what a terminal printed
---last.
---@field files? string[] Files to refer to instead; relative ones from the current directory.
---@field lines? [integer, integer] First and last, 1-based, of the current buffer.
---@field submit? boolean Press Enter.

--- Sends a prompt. It waits until the CLI's prompt takes it, see |gemini-bridge-waiting|.
---@param opts gemini_bridge.SendOptions
function M.send(opts)
  local items, problem = require("gemini-bridge.prompt.sources").items(opts)
  local text = opts.text or ""
  if not items or (#items == 0 and text == "") then
    notify(problem or "There is nothing to send.", "warn")
    return
  end
  require("gemini-bridge.prompt.outbox").add({ items = items, text = text, submit = opts.submit })
end

return M
