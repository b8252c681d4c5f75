--- Tracks the cursor and, in Visual or Select mode, the highlighted region of the current window. While a command line
--- is open, returns those from before it opened.
local region = require("gemini-bridge.context.region")

local M = {}

--- Watches the keys of blockwise mode for `$`, because Neovim has reset 'curswant' when `:` ends the mode.
local namespace = vim.api.nvim_create_namespace("gemini-bridge.context.visual_selection")
local to_end = false
--- The kind of the current selection. Stays set while the command line asks for a search pattern.
local visual ---@type gemini_bridge.VisualKind?
--- Cursor and highlighted region when a command line opened. Incremental search moves both until it closes.
---@type { win: integer, cursor: integer[], region?: gemini_bridge.Region }?
local command_line

--- Called when Visual or Select mode starts or changes its kind.
---@param mode string
function M.started(mode)
  to_end = false
  visual = region.kind(mode)
  vim.on_key(visual == "\22" and function()
    to_end = region.is_to_end()
  end or nil, namespace)
end

--- Called when the mode has ended.
---@return gemini_bridge.Region? # The highlighted region, if the buffer is an ordinary one.
function M.ended()
  visual = nil
  vim.on_key(nil, namespace)
  return vim.bo.buftype == "" and region.ended(to_end) or nil
end

--- Saves the highlighted region and the cursor. Neovim may have left Visual mode already.
function M.command_line_opened()
  command_line = {
    win = vim.api.nvim_get_current_win(),
    cursor = vim.api.nvim_win_get_cursor(0),
    region = visual and region.live(visual),
  }
end

--- Called when the command was run or cancelled.
function M.command_line_closed()
  command_line = nil
end

--- May run twice.
function M.forget()
  vim.on_key(nil, namespace)
  command_line, visual = nil, nil
end

---@return boolean
function M.in_command_line()
  return command_line ~= nil
end

---@return gemini_bridge.Region?
function M.region()
  if command_line then
    return command_line.region
  end
  local kind = region.kind(vim.fn.mode())
  return kind and region.live(kind)
end

--- Returns the cursor of a window, in the format of |nvim_win_get_cursor()|.
---@param win integer
---@return integer[]
function M.cursor(win)
  return command_line and command_line.win == win and command_line.cursor or vim.api.nvim_win_get_cursor(win)
end

return M
