--- Sets and resets the window options that compare two windows.
local window = require("gemini-bridge.editor.window")

local M = {}

--- Options of a compared window. 'foldmethod' stays: "diff" would destroy manual folds.
local COMPARED =
  { diff = true, scrollbind = true, cursorbind = true, foldenable = false, wrap = false, winbar = "" }

--- Returns the window's values of the options that a review changes.
---@param win integer
---@return table<string, any>
function M.options(win)
  return window.options(win, COMPARED)
end

--- Sets the options of a comparison in a window.
---@param win integer
function M.start(win)
  window.set(win, COMPARED)
end

--- Sets the options again, because file type plugins may have changed them and misaligned the two sides.
---@param win integer
function M.start_again(win)
  local options = vim.deepcopy(COMPARED)
  options.winbar = nil
  window.set(win, options)
end

--- Resets the options of a comparison in a window.
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
