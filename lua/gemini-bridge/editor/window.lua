--- Windows and buffers by handle: no focus moves, and what an autocommand of the user's does wrong stops nothing.
local scheduler = require("gemini-bridge.editor.scheduler")

local M = {}

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

--- Windows that are being closed here, which is no wish of the user's.
---@type table<integer, true>
local closing = {}

--- Sets options for this window alone; `:set` would set their global values, too.
---@param win integer
---@param options table<string, any>
function M.set(win, options)
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { win = win, scope = "local" })
  end
end

--- Makes a window, split off from whatever it was, an ordinary one.
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

--- Closes the floats of another tab page whose last ordinary window is about to close. Neovim 0.10 crashes otherwise.
---@param win integer
local function close_floats_above(win)
  local tab = vim.api.nvim_win_get_tabpage(win)
  local function is_float(other)
    return vim.api.nvim_win_get_config(other).relative ~= ""
  end
  if tab == vim.api.nvim_get_current_tabpage() or is_float(win) then
    return
  end
  local others = vim.api.nvim_tabpage_list_wins(tab)
  local floats = vim.tbl_filter(is_float, others)
  if #others - #floats == 1 then
    vim.iter(floats):each(M.close)
  end
end

--- Closes a window, also if an autocommand fails.
---@param win integer
function M.close(win)
  close_floats_above(win)
  closing[win] = true
  pcall(vim.api.nvim_win_close, win, true)
  if vim.api.nvim_win_is_valid(win) then
    vim.cmd(("noautocmd call nvim_win_close(%d, v:true)"):format(win))
  end
  closing[win] = nil
end

--- Whether a window closes because the plugin closes it.
---@param win integer
---@return boolean
function M.is_closing(win)
  return closing[win] == true
end

--- Language servers are told of the last changes first: Neovim 0.10 reads them when the text is gone (E315).
---@param buf integer
local function detach_servers(buf)
  for _, client in ipairs(package.loaded["vim.lsp"] and vim.lsp.get_clients({ bufnr = buf }) or {}) do
    pcall(vim.lsp.buf_detach_client, buf, client.id)
  end
end

--- Deletes a buffer, also when an autocommand fails at that. May run twice.
---@param buf integer
function M.delete_buffer(buf)
  detach_servers(buf)
  if vim.api.nvim_buf_is_valid(buf) then
    pcall(vim.api.nvim_buf_delete, buf, { force = true })
  end
  if vim.api.nvim_buf_is_valid(buf) then
    vim.cmd(("noautocmd call nvim_buf_delete(%d, {'force': v:true})"):format(buf))
  end
end

--- Calls what creates something. When an autocommand fails at that, what is there nevertheless is removed.
---@param list fun(): integer[] Handles of all there are.
---@param remove fun(handle: integer)
---@param create fun(...): integer
---@param ... any What it is called with.
---@return integer? handle, any problem
local function try(list, remove, create, ...)
  local before = list()
  local ok, result = pcall(create, ...)
  if ok then
    return result
  end
  for _, handle in ipairs(list()) do
    if not vim.list_contains(before, handle) then
      remove(handle)
    end
  end
  return nil, result
end

--- Creates a buffer, also when an autocommand fails at that.
---@param listed boolean
---@param scratch boolean
---@return integer buf
function M.create_buffer(listed, scratch)
  local buf = try(vim.api.nvim_list_bufs, M.delete_buffer, vim.api.nvim_create_buf, listed, scratch)
  if buf then
    return buf
  end
  local quietly = ("noautocmd echo nvim_create_buf(v:%s, v:%s)"):format(listed, scratch)
  return assert(tonumber(vim.api.nvim_exec2(quietly, { output = true }).output))
end

--- Names a buffer, also when an autocommand fails at that. Raises when another buffer has the name.
---@param buf integer
---@param name string As Neovim gives it back: an absolute path or a URL.
function M.set_name(buf, name)
  pcall(vim.api.nvim_buf_set_name, buf, name)
  if vim.api.nvim_buf_get_name(buf) ~= name then
    local quoted = vim.fn.string(name):gsub("\n", [[' .. "\\n" .. ']])
    vim.cmd(("noautocmd call nvim_buf_set_name(%d, %s)"):format(buf, quoted))
  end
end

--- The window that a new one is split off from: Neovim 0.10 cannot split a float.
---@return integer
function M.base()
  local function is_ordinary(win)
    return vim.api.nvim_win_get_config(win).relative == ""
  end
  local current = vim.api.nvim_get_current_win()
  local windows = vim.list_extend({ current }, vim.api.nvim_tabpage_list_wins(0))
  return vim.iter(windows):find(is_ordinary) --[[@as integer]]
end

--- Opens a window beside another. When an autocommand fails at that, without any. Raises when there is no room.
---@param buf integer
---@param config vim.api.keyset.win_config
---@return integer win
function M.open(buf, config)
  local win, problem = try(vim.api.nvim_list_wins, M.close, vim.api.nvim_open_win, buf, false, config)
  if not win then
    win = vim.api.nvim_open_win(buf, false, vim.tbl_extend("force", config, { noautocmd = true }))
    scheduler.attempt(error, problem, 0)
  end
  return win
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
  M.close(float)
  M.stay_in(directory)
  if not ok then
    error(problem, 0)
  end
  return tab, win
end

return M
