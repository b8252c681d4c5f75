--- Detects by the title of a terminal that the CLI waits for a prompt, even after Esc, which no hook reports.
local scheduler = require("gemini-bridge.editor.scheduler")

local M = {}

--- Start of the title while Gemini CLI waits (0.61.0, `computeTerminalTitle`), unless `ui.dynamicWindowTitle` is off.
local READY = "◇"

---@param title? string
---@return boolean
local function says_ready(title)
  return vim.startswith(title or "", READY)
end

--- Calls `ready` on the main loop whenever the CLI begins to wait for a prompt.
---@param buf integer
---@param ready fun()
function M.watch(buf, ready)
  -- Only Vim script can watch the variables of a buffer. A variable passes the Lua function to it.
  vim.b[buf].gemini_titled = function(_, _, change)
    if says_ready(change.new) and not says_ready(change.old) then
      scheduler.next(ready)
    end
  end
  local watch = "call dictwatcheradd(getbufvar(%d, ''), 'term_title', getbufvar(%d, 'gemini_titled'))"
  vim.api.nvim_exec2(watch:format(buf, buf), {})
  vim.b[buf].gemini_titled = nil
end

return M
