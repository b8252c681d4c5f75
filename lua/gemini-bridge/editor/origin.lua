--- Moves the focus for the user, always into Normal mode.
local M = {}

--- Number of passages that have begun and not ended.
local passages = 0

--- Whether the plugin moves the focus right now, or Neovim does because a window of the plugin closes. Nothing of the
--- user's begins in a window that is entered meanwhile, such as the Terminal mode of a CLI.
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

--- Ends Visual and Select mode. Neovim 0.10 keeps them when the focus moves, and the next key would change the other
--- text.
function M.end_visual()
  if vim.api.nvim_get_mode().mode:find("^[vVsS\22\19]") then
    vim.cmd.normal({ "\27", bang = true })
  end
end

--- Moves the focus and ends in Normal mode: keys that are meant for one text must not reach another one, or a CLI.
---@param win integer
function M.go(win)
  M.end_visual()
  if vim.api.nvim_get_mode().mode:find("^[iR]") then
    vim.cmd.stopinsert()
  end
  local arrive = M.pass()
  -- The window is entered also when an autocommand fails on the way.
  pcall(vim.api.nvim_set_current_win, win)
  arrive()
  if vim.bo.buftype == "terminal" then
    -- Many users start Terminal mode in an autocommand.
    vim.cmd.stopinsert()
  end
end

return M
