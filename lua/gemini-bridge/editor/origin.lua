--- Where the user is, and the way back there.
local M = {}

---@class gemini_bridge.Origin
---@field win integer
---@field mode string |mode()|
---@field at_end boolean The cursor stands behind the line's last character, as it can only in Insert mode.

---@return gemini_bridge.Origin
function M.here()
  local mode = vim.api.nvim_get_mode().mode
  return { win = vim.api.nvim_get_current_win(), mode = mode, at_end = vim.fn.col(".") >= vim.fn.col("$") }
end

--- Moves the focus in Normal mode: keys that were meant for a file or a terminal must not change another text.
---@param win integer
function M.go(win)
  if vim.startswith(vim.api.nvim_get_mode().mode, "i") then
    vim.cmd.stopinsert()
  end
  vim.api.nvim_set_current_win(win)
end

--- Takes the user back.
---@param focus gemini_bridge.Origin
function M.back(focus)
  if not vim.api.nvim_win_is_valid(focus.win) then
    return
  end
  M.go(focus.win)
  M.resume(focus)
end

--- Goes on in the mode in which the user left the window.
---@param focus gemini_bridge.Origin
function M.resume(focus)
  local kind = focus.mode:sub(1, 1)
  local is_terminal = vim.bo[vim.api.nvim_win_get_buf(focus.win)].buftype == "terminal"
  if not (kind == "t" and is_terminal or kind == "i" and not is_terminal) then
    return
  end
  local function insert()
    if vim.api.nvim_get_current_win() == focus.win then
      vim.cmd.startinsert({ bang = kind == "i" and focus.at_end })
    end
  end
  if vim.startswith(vim.api.nvim_get_mode().mode, "i") then
    -- Until the Insert mode of the other window has ended, |:startinsert| is ignored.
    vim.api.nvim_create_autocmd(
      "ModeChanged",
      { pattern = "i*:n*", once = true, callback = vim.schedule_wrap(insert) }
    )
  else
    insert()
  end
end

return M
