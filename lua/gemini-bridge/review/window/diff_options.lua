--- Sets and resets the window options for comparing two windows.
local window = require("gemini-bridge.editor.window")

local M = {}

--- Options of compared windows. Leaves out 'foldmethod', because the value "diff" would destroy manual folds.
local COMPARED =
  { diff = true, scrollbind = true, cursorbind = true, foldenable = false, wrap = false, winbar = "" }

--- Returns the current values of the options that `M.start` sets.
---@param win integer
---@return table<string, any>
function M.options(win)
  return window.options(win, COMPARED)
end

--- Sets the diff options of a window.
---@param win integer
function M.start(win)
  window.set(win, COMPARED)
end

--- Sets the diff options again after file type plugins may have changed them. Other values would misalign the two
--- windows. Keeps 'winbar'.
---@param win integer
function M.start_again(win)
  local options = vim.deepcopy(COMPARED)
  options.winbar = nil
  window.set(win, options)
end

--- Resets the diff options of a window to ordinary values.
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
