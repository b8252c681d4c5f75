--- What a CLI says of itself in the title of its terminal: that it is ready, also after Esc, of which no hook tells.
local M = {}

--- How Gemini CLI begins such a title (0.61.0, `computeTerminalTitle`), unless its `ui.dynamicWindowTitle` is off.
local READY = "◇"

---@param title? string
---@return boolean
local function says_ready(title)
  return vim.startswith(title or "", READY)
end

--- Calls `ready`, on Neovim's main loop, whenever the CLI in this terminal begins to wait for a prompt.
---@param buf integer
---@param ready fun()
function M.watch(buf, ready)
  -- Lua has copies of a buffer's variables, which cannot be watched: Vim script gets the function through one.
  vim.b[buf].gemini_titled = function(_, _, change)
    if says_ready(change.new) and not says_ready(change.old) then
      vim.schedule(ready)
    end
  end
  local watch = "call dictwatcheradd(getbufvar(%d, ''), 'term_title', getbufvar(%d, 'gemini_titled'))"
  vim.api.nvim_exec2(watch:format(buf, buf), {})
  vim.b[buf].gemini_titled = nil
end

return M
