--- A window's own options and buffer, changed by handle: no focus moves and no autocommand runs.
local M = {}

--- Options of a window in a review. 'foldmethod' stays: "diff" would destroy manual folds.
local REVIEW =
  { diff = true, scrollbind = true, cursorbind = true, foldenable = false, wrap = false, winbar = "" }

--- Options that a window split off from a terminal or a list should not inherit.
local PLAIN = {
  "number",
  "relativenumber",
  "signcolumn",
  "foldcolumn",
  "statuscolumn",
  "cursorline",
  "list",
  "spell",
  "winhighlight",
  "winfixbuf",
  "winfixwidth",
  "winfixheight",
}

--- Sets options for this window alone; `:set` would set their global values, too.
---@param win integer
---@param options table<string, any>
function M.set(win, options)
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { win = win, scope = "local" })
  end
end

--- The values of the options that a review changes.
---@param win integer
---@return table<string, any>
function M.options(win)
  local values = {}
  for name in pairs(REVIEW) do
    values[name] = vim.api.nvim_get_option_value(name, { win = win, scope = "local" })
  end
  return values
end

--- Makes a window part of a review.
---@param win integer
function M.compare(win)
  M.set(win, REVIEW)
end

--- Makes a window that a review leaves behind an ordinary one.
---@param win integer
function M.stop_comparing(win)
  M.set(win, {
    diff = false,
    scrollbind = false,
    cursorbind = false,
    winbar = "",
    foldenable = vim.go.foldenable,
    wrap = vim.go.wrap,
  })
end

---@param win integer
function M.make_plain(win)
  for _, name in ipairs(PLAIN) do
    M.set(win, { [name] = vim.api.nvim_get_option_value(name, { scope = "global" }) })
  end
end

--- Shows a buffer. To the user nothing is entered or left, and the alternate file stays.
---@param win integer
---@param buf integer
function M.show(win, buf)
  vim.api.nvim_win_call(win, function()
    vim.cmd(("noautocmd keepalt keepjumps hide buffer %d"):format(buf))
  end)
end

---@param win integer
---@return vim.fn.winsaveview.ret
function M.view(win)
  return vim.api.nvim_win_call(win, vim.fn.winsaveview)
end

---@param win integer
---@param view vim.fn.winsaveview.ret
function M.set_view(win, view)
  vim.api.nvim_win_call(win, function()
    vim.fn.winrestview(view)
  end)
end

--- Goes back to the current directory: with 'autochdir' other tab pages take it along when windows open and close.
---@param directory string
function M.stay_in(directory)
  if vim.fn.getcwd() ~= directory then
    vim.fn.chdir(directory)
  end
end

--- Puts a buffer into a tab page of its own, behind the current one. It is opened from within another window, a float
--- that lives no longer than this: from there focus and mode, Visual mode too, stay as they are.
---@param buf integer
---@return integer tab, integer win
function M.open_tab(buf)
  local directory = vim.fn.getcwd()
  local float = vim.api.nvim_open_win(buf, false, {
    relative = "editor",
    row = 0,
    col = 0,
    width = 9,
    height = 9, -- room for a winbar
    noautocmd = true,
  })
  local tab, win
  local ok, problem = pcall(vim.api.nvim_win_call, float, function()
    vim.cmd(("noautocmd keepalt $tab sbuffer %d"):format(buf))
    tab, win = vim.api.nvim_get_current_tabpage(), vim.api.nvim_get_current_win()
  end)
  vim.api.nvim_win_close(float, true)
  M.stay_in(directory)
  if not ok then
    error(problem, 0)
  end
  return tab, win
end

return M
