--- Where the user is, and the way back there.
local M = {}

---@class gemini_bridge.Origin
---@field win integer
---@field mode string |mode()|
---@field at_end boolean The cursor stands behind the line's last character, as it can only in Insert mode.

--- How many passages are under way.
local passages = 0

--- Whether the focus only passes through the window in which it is: the plugin moves it, or Neovim does because a
--- window of the plugin's closes. Nothing of the user's begins there, such as the automatic insert of a terminal.
---@return boolean
function M.is_passing()
  return passages > 0
end

--- Begins a passage.
---@return fun() arrive Ends it. May run twice.
function M.pass()
  passages = passages + 1
  local arrived = false
  return function()
    passages = arrived and passages or passages - 1
    arrived = true
  end
end

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
  local arrive = M.pass()
  -- The window is entered also when an autocommand fails on the way.
  pcall(vim.api.nvim_set_current_win, win)
  arrive()
end

--- Goes on in the mode in which the user left the window: Terminal mode or Insert mode.
---@param origin gemini_bridge.Origin
local function resume(origin)
  local kind = origin.mode:sub(1, 1)
  local is_terminal = vim.bo[vim.api.nvim_win_get_buf(origin.win)].buftype == "terminal"
  if not (kind == "t" and is_terminal or kind == "i" and not is_terminal) then
    return
  end
  local function insert()
    if vim.api.nvim_get_current_win() == origin.win then
      vim.cmd.startinsert({ bang = kind == "i" and origin.at_end })
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

--- Takes the user back.
---@param origin gemini_bridge.Origin
function M.back(origin)
  if vim.api.nvim_win_is_valid(origin.win) then
    M.go(origin.win)
    resume(origin)
  end
end

return M
