--- Sends prompts with references to files, diagnostics or text of this Neovim.
local notify = require("gemini-bridge.notify")

local M = {}

---@class gemini_bridge.SendOptions
---@field text? string The text of the prompt.
---@field source? "here"|"diagnostics"|"quickfix"|"output"|"nothing" What to refer to. "here": the file, the entries of
---an explorer or a quickfix window, or the text of a buffer without a file. "output": the last output of a terminal.
---@field files? string[] Files to refer to instead, relative to the current directory.
---@field lines? [integer, integer] First and last line of the current buffer, 1-based.
---@field submit? boolean Whether to press Enter.

--- Sends a prompt as soon as the CLI accepts it, see |gemini-bridge-waiting|.
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
