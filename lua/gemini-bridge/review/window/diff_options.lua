--- Sets and resets the window options for comparing two windows.
local window = require("gemini-bridge.editor.window")

local M = {}

--- Options of a compared window. 'foldmethod' is not among them, because its value "diff" would destroy manual folds.
local COMPARED =
  { diff = true, scrollbind = true, cursorbind = true, foldenable = false, wrap = false, winbar = "" }

--- Returns the current values of the options that `M.start` changes.
---@param win integer
---@return table<string, any>
function M.options(win)
  return window.options(win, COMPARED)
end

--- Sets the options of one of the two windows that are compared.
---@param win integer
function M.start(win)
  window.set(win, COMPARED)
end

--- Sets the options again, except the winbar, because file type plugins may have changed them: the two windows would
--- then not align.
---@param win integer
function M.start_again(win)
  local options = vim.deepcopy(COMPARED)
  options.winbar = nil
  window.set(win, options)
end

--- Gives a window that was compared ordinary options again.
---@param win integer
function M.stop(win)
  window.set(win, {
    diff = false,
    scrollbind = false,
    cursorbind = false,
    winbar = "",
    foldenable = vim.go.foldenable,
    wrap = vim.go.wrap,
  })
end

return M
