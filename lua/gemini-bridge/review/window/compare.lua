--- What makes two windows a comparison, and undoes it.
local window = require("gemini-bridge.editor.window")

local M = {}

--- Options of a window in a review. 'foldmethod' stays: "diff" would destroy manual folds.
local COMPARED =
  { diff = true, scrollbind = true, cursorbind = true, foldenable = false, wrap = false, winbar = "" }

--- The values of the options that a review changes.
---@param win integer
---@return table<string, any>
function M.options(win)
  local values = {}
  for name in pairs(COMPARED) do
    values[name] = vim.api.nvim_get_option_value(name, { win = win, scope = "local" })
  end
  return values
end

--- Makes a window part of a review.
---@param win integer
function M.start(win)
  window.set(win, COMPARED)
end

--- Once more, for a file type's plugins may have set options of their own: the two sides would not be aligned.
---@param win integer
function M.insist(win)
  for name, value in pairs(COMPARED) do
    if name ~= "winbar" then
      window.set(win, { [name] = value })
    end
  end
end

--- Makes a window that a review leaves behind an ordinary one.
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
