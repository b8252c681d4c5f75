--- The active file: where the user is in it and what is selected.
local selection = require("gemini-bridge.context.selection")

local M = {}

---@param text string
local function utf16_length(text)
  if vim.fn.has("nvim-0.11") == 1 then
    return vim.str_utfindex(text, "utf-16")
  end
  local _, units = vim.str_utfindex(text)
  return units
end

--- Where the user is, or was last, in the active file: row 1-based, column in bytes.
---@param active gemini_bridge.Focus
local function cursor_of(active)
  local win = active.win
  if not vim.api.nvim_win_is_valid(win) or vim.api.nvim_win_get_buf(win) ~= active.buf then
    win = vim.fn.win_findbuf(active.buf)[1]
  end
  if win then
    return selection.cursor(win)
  end
  local left = vim.api.nvim_buf_is_loaded(active.buf) and vim.api.nvim_buf_get_mark(active.buf, '"')
    or { 1, 0 }
  return left
end

--- The active file in the terms of the wire: line and character 1-based, the character in UTF-16 units.
---@param active gemini_bridge.Focus
---@param limit integer At least so many UTF-16 units of a longer selection.
---@return { bufnr: integer, line: integer, character: integer, selection?: string }
function M.describe(active, limit)
  local cursor = cursor_of(active)
  -- A position that was remembered may be behind what is left of the text by now.
  local line = math.max(1, math.min(cursor[1], vim.api.nvim_buf_line_count(active.buf)))
  local ok, before = pcall(vim.api.nvim_buf_get_text, active.buf, line - 1, 0, line - 1, cursor[2], {})
  return {
    bufnr = active.buf,
    line = line,
    character = ok and before[1] and utf16_length(before[1]) + 1 or 1,
    selection = selection.text(active.buf, limit),
  }
end

return M
