--- What is highlighted in the current window, in Visual or Select mode, and where the cursor is: both as they were when
--- a command line opened, as long as it is open.
local region = require("gemini-bridge.context.region")

local M = {}

--- Each key of a block-wise mode shows whether the block reaches to the end of the lines: `:` has forgotten it by the
--- time the mode ends.
local namespace = vim.api.nvim_create_namespace("gemini-bridge.context.highlighted")
local to_end = false
--- The kind of selection being made; still so while the command line asks for a pattern to move to.
local visual ---@type gemini_bridge.VisualKind?
--- The cursor and what was highlighted when a command line opened: incremental search moves them until it closes.
---@type { win: integer, cursor: integer[], region?: gemini_bridge.Region }?
local command_line

--- Visual or Select mode begins, or changes its kind.
---@param mode string
function M.started(mode)
  to_end = false
  visual = region.kind(mode)
  vim.on_key(visual == "\22" and function()
    to_end = region.is_to_end()
  end or nil, namespace)
end

--- The mode has ended.
---@return gemini_bridge.Region? # What was highlighted, when it was in an ordinary buffer.
function M.ended()
  visual = nil
  vim.on_key(nil, namespace)
  return vim.bo.buftype == "" and region.ended(to_end) or nil
end

--- What is highlighted while a command is typed: Neovim has left Visual mode by then.
function M.command_line_opened()
  command_line = {
    win = vim.api.nvim_get_current_win(),
    cursor = vim.api.nvim_win_get_cursor(0),
    region = visual and region.live(visual),
  }
end

--- The command is given, or given up.
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

--- The cursor of a window, as |nvim_win_get_cursor()| has it.
---@param win integer
---@return integer[]
function M.cursor(win)
  return command_line and command_line.win == win and command_line.cursor or vim.api.nvim_win_get_cursor(win)
end

return M
