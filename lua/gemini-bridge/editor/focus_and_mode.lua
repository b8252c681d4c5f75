--- Moves the focus to another window and returns to Normal mode.
local scheduler = require("gemini-bridge.editor.scheduler")

local M = {}

--- Matches Visual and Select modes.
local VISUAL = "^[vVsS\22\19]"

--- Time after which |stay_in()| looks at the focus again. zen-mode.nvim moves the focus 10 ms after |WinEnter|.
local SETTLE_MS = 50

--- Number of unfinished focus changes.
local moves = 0

--- Returns true while the plugin moves the focus, also indirectly by closing a window. During this time, autocommands
--- that fire on entering a window must not start Insert or Terminal mode.
---@return boolean
function M.is_moving()
  return moves > 0
end

--- Starts a focus change. |is_moving()| is true until the change ends.
---@return fun() end_move Ends the focus change. Idempotent.
function M.begin_move()
  moves = moves + 1
  local ended = false
  return function()
    moves = ended and moves or moves - 1
    ended = true
  end
end

--- Ends Visual or Select mode. Neovim 0.10 would otherwise keep the mode in the next window, where the user's next key
--- could change text.
function M.end_visual()
  if vim.api.nvim_get_mode().mode:find(VISUAL) then
    vim.cmd.normal({ "\27", bang = true })
  end
end

--- Runs a step that triggers the user's autocommands. If they move the focus, moves the focus back. Otherwise, the
--- user's next keys would reach another window.
---@param step fun(...): any
---@param ... any Arguments of the step.
function M.stay(step, ...)
  local win, mode = vim.api.nvim_get_current_win(), vim.api.nvim_get_mode().mode
  local end_move = M.begin_move()
  scheduler.attempt(step, ...)
  if vim.api.nvim_get_current_win() ~= win and vim.api.nvim_win_is_valid(win) then
    pcall(vim.api.nvim_set_current_win, win)
    if mode:find(VISUAL) and vim.api.nvim_get_mode().mode == "n" then
      vim.cmd.normal({ mode:find("^[sS\19]") and "gv\7" or "gv", bang = true }) -- CTRL-G starts Select mode
    end
  end
  end_move()
end

--- Moves the focus to a window and switches to Normal mode. Otherwise, keys that the user typed for the previous window
--- could edit text in the new window or reach a CLI.
---@param win integer
function M.go(win)
  M.end_visual()
  if vim.api.nvim_get_mode().mode:find("^[iR]") then
    vim.cmd.stopinsert()
  end
  local end_move = M.begin_move()
  -- Ignores errors of autocommands: Neovim moves the focus in spite of such errors.
  pcall(vim.api.nvim_set_current_win, win)
  end_move()
  if vim.bo.buftype == "terminal" then
    -- Leaves Terminal mode twice: now, and in the next tick, because an autocommand may start it again.
    vim.cmd.stopinsert()
    scheduler.next(vim.cmd.stopinsert)
  end
end

--- Moves the focus to a window like |go()|. If a plugin moves the focus to another window shortly afterwards, and the
--- user has pressed no key, moves the focus back once. A float keeps the focus, because it may ask the user.
---@param win integer
function M.stay_in(win)
  M.go(win)
  local has_typed = false
  local keys = vim.on_key(function(_, typed)
    has_typed = has_typed or typed ~= ""
  end)
  scheduler.after(SETTLE_MS, function()
    vim.on_key(nil, keys)
    local here = vim.api.nvim_get_current_win()
    local is_float = vim.api.nvim_win_get_config(here).relative ~= ""
    if not has_typed and not is_float and here ~= win and vim.api.nvim_win_is_valid(win) then
      M.go(win)
    end
  end)
end

return M
