--- Changes windows and buffers by handle and without moving the focus. Errors in the user's autocommands have no
--- effect.
local scheduler = require("gemini-bridge.editor.scheduler")

local M = {}

--- Options that a new window must not inherit from the window of a terminal or list.
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

--- Options that connect a window with other windows. A new window gets them if the user has set them by |:set|. The
--- cursor and the text of the user's window would then move with the new window.
local UNBOUND = { scrollbind = false, cursorbind = false, diff = false }

--- Windows that the plugin is closing now.
---@type table<integer, true>
local closing = {}

--- Winbars that the plugin shows, by window.
---@type table<integer, { buf: integer, text: string }>
local winbars = {}

--- Sets options for one window only. `:set` would also change their global values.
---@param win integer
---@param options table<string, any>
function M.set(win, options)
  if options.winbar then
    winbars[win] = nil
  end
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { win = win, scope = "local" })
  end
end

--- Shows the winbars of the plugin again where a plugin for status lines has overwritten them.
local function restore_winbars()
  for win, winbar in pairs(winbars) do
    if not vim.api.nvim_win_is_valid(win) or vim.api.nvim_win_get_buf(win) ~= winbar.buf then
      winbars[win] = nil
    elseif vim.wo[win].winbar ~= winbar.text then
      vim.api.nvim_set_option_value("winbar", winbar.text, { win = win, scope = "local" })
    end
  end
end

local group = vim.api.nvim_create_augroup("gemini-bridge.winbars", {})
vim.api.nvim_create_autocmd("OptionSet", { group = group, pattern = "winbar", callback = restore_winbars })

local is_listening = false

--- Also restores winbars that an autocommand has overwritten, because OptionSet does not fire within autocommands.
local function listen()
  if is_listening then
    return
  end
  is_listening = true
  vim.api.nvim_create_autocmd("SafeState", {
    group = group,
    callback = function()
      restore_winbars()
      is_listening = next(winbars) ~= nil
      return not is_listening
    end,
  })
end

--- Shows a winbar. Shows it again when a plugin for status lines overwrites it, until |M.set()| sets another winbar or
--- the window shows another buffer.
---@param win integer
---@param text string
function M.set_winbar(win, text)
  M.set(win, { winbar = text })
  winbars[win] = { buf = vim.api.nvim_win_get_buf(win), text = text }
  listen()
end

--- Returns the window-local values of some options.
---@param win integer
---@param names table<string, any> Option names as keys. The values are ignored.
---@return table<string, any>
function M.options(win, names)
  local values = {}
  for name in pairs(names) do
    values[name] = vim.api.nvim_get_option_value(name, { win = win, scope = "local" })
  end
  return values
end

--- Resets options such as 'number' to their global values. A new window may have inherited other values from the window
--- of a terminal or list.
---@param win integer
function M.make_plain(win)
  for _, name in ipairs(PLAIN) do
    M.set(win, { [name] = vim.api.nvim_get_option_value(name, { scope = "global" }) })
  end
end

--- Shows a buffer in a window. Fires no autocommands and keeps the alternate file.
---@param win integer
---@param buf integer
function M.show(win, buf)
  vim.api.nvim_win_call(win, function()
    vim.cmd(("noautocmd keepalt keepjumps hide buffer %d"):format(buf))
  end)
end

---@param win integer
---@return boolean
function M.is_float(win)
  return vim.api.nvim_win_get_config(win).relative ~= ""
end

---@param win integer
---@return vim.fn.winsaveview.ret
function M.view(win)
  return vim.api.nvim_win_call(win, vim.fn.winsaveview)
end

--- Sets the cursor and scroll position of a window. Leaves out filler lines above a closed fold, because Neovim 0.10
--- hangs if a window without focus has such lines.
---@param win integer
---@param view vim.fn.winsaveview.ret
function M.set_view(win, view)
  vim.api.nvim_win_call(win, function()
    if vim.fn.foldclosed(view.topline) ~= -1 then
      view = vim.tbl_extend("force", view, { topfill = 0 })
    end
    vim.fn.winrestview(view)
  end)
end

--- Starts a new undo step for the next change of the current buffer, also in Insert mode.
function M.end_undo_step()
  vim.cmd("noautocmd let &l:undolevels = &l:undolevels")
end

--- Restores the current directory. With 'autochdir', Neovim changes the directory when a window in another tab page
--- opens or closes.
---@param directory string
function M.stay_in(directory)
  if vim.fn.getcwd() ~= directory and vim.uv.chdir(directory) then
    vim.fn.chdir(".") -- |chdir()| would expand variables in the name of the directory
  end
end

--- Closes the floats of another tab page before its last ordinary window closes. Otherwise, Neovim 0.10 would crash.
---@param win integer Window that will close next.
local function close_floats_first(win)
  local tab = vim.api.nvim_win_get_tabpage(win)
  if tab == vim.api.nvim_get_current_tabpage() or M.is_float(win) then
    return
  end
  local windows = vim.api.nvim_tabpage_list_wins(tab)
  local floats = vim.tbl_filter(M.is_float, windows)
  if #windows - #floats == 1 then
    vim.iter(floats):each(M.close)
  end
end

--- Closes a window, even if an autocommand raises an error.
---@param win integer
function M.close(win)
  close_floats_first(win)
  closing[win] = true
  pcall(vim.api.nvim_win_close, win, true)
  if vim.api.nvim_win_is_valid(win) then
    vim.cmd(("noautocmd call nvim_win_close(%d, v:true)"):format(win))
  end
  closing[win] = nil
end

--- Returns true while the plugin is closing a window. Returns false if the user or another plugin closes the window.
---@param win integer
---@return boolean
function M.is_closing(win)
  return closing[win] == true
end

--- Detaches all language servers from a buffer that will be deleted. Otherwise, Neovim 0.10 reads the deleted text
--- (E315).
---@param buf integer
local function detach_servers(buf)
  for _, client in ipairs(package.loaded["vim.lsp"] and vim.lsp.get_clients({ bufnr = buf }) or {}) do
    pcall(vim.lsp.buf_detach_client, buf, client.id)
  end
end

--- Deletes a buffer, even if an autocommand raises an error. Idempotent.
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

--- Returns the buffer with exactly this name. |bufexists()| would expand variables in the name.
---@param name string
---@return integer? buf
function M.named(name)
  return vim.iter(vim.api.nvim_list_bufs()):find(function(buf)
    return vim.api.nvim_buf_get_name(buf) == name
  end)
end

--- Deletes the buffer with a name that the plugin uses. A restored session may contain such a buffer.
---@param name string
function M.delete_restored(name)
  local buf = M.named(name)
  if buf then
    M.delete_buffer(buf)
  end
end

--- Calls a function that creates a window or buffer. If an autocommand raises an error, removes the new window or
--- buffer and returns the error.
---@param list fun(): integer[] Returns the handles of all windows or buffers.
---@param remove fun(handle: integer)
---@param create fun(...): integer
---@param ... any Arguments of `create`.
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

--- Returns true if a buffer contains no bytes. Counts the bytes, because a buffer with one empty line may contain a
--- line break.
---@param buf integer
---@return boolean
function M.is_empty(buf)
  return vim.api.nvim_buf_line_count(buf) == 1
    and vim.api.nvim_buf_get_lines(buf, 0, 1, true)[1] == ""
    and vim.api.nvim_buf_call(buf, function()
      return vim.fn.wordcount().bytes == 0
    end)
end

--- Creates a buffer, even if an autocommand raises an error.
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

--- Returns a Vim expression for a text, which also may have several lines.
---@param text string
---@return string
function M.quoted(text)
  return (vim.fn.string(text):gsub("\n", [[' .. "\\n" .. ']]))
end

--- Names a buffer, even if an autocommand raises an error. Raises an error itself only if another buffer has the name.
---@param buf integer
---@param name string Absolute path or URL.
function M.set_name(buf, name)
  pcall(vim.api.nvim_buf_set_name, buf, name)
  if vim.api.nvim_buf_get_name(buf) ~= name then
    vim.cmd(("noautocmd call nvim_buf_set_name(%d, %s)"):format(buf, M.quoted(name)))
  end
end

--- Renames a buffer of the plugin. Deletes the buffer with the old name that Neovim creates, and a restored buffer with
--- the new name.
---@param buf integer
---@param name string
function M.rename(buf, name)
  local before = vim.api.nvim_buf_get_name(buf)
  M.delete_restored(name)
  M.set_name(buf, name)
  if before ~= "" then
    M.delete_restored(before)
  end
end

--- Returns a window that can be split. Never returns a float, because Neovim 0.10 cannot split floats.
---@return integer
function M.base()
  local current = vim.api.nvim_get_current_win()
  local windows = vim.list_extend({ current }, vim.api.nvim_tabpage_list_wins(0))
  return vim.iter(windows):find(function(win)
    return not M.is_float(win)
  end) --[[@as integer]]
end

--- Opens a window beside another window. If an autocommand raises an error, tries again without autocommands. Raises an
--- error if there is no room.
---@param buf integer
---@param config vim.api.keyset.win_config
---@return integer win
function M.open(buf, config)
  local bufhidden = vim.bo[buf].bufhidden
  local function close(win)
    -- Keeps the buffer for the second attempt. With "wipe", the buffer would be deleted together with the window.
    vim.bo[buf].bufhidden = "hide"
    M.close(win)
  end
  local win, problem = try(vim.api.nvim_list_wins, close, vim.api.nvim_open_win, buf, false, config)
  if not win then
    win = vim.api.nvim_open_win(buf, false, vim.tbl_extend("force", config, { noautocmd = true }))
    vim.bo[buf].bufhidden = bufhidden
    scheduler.attempt(error, problem, 0)
  end
  M.set(win, UNBOUND)
  return win
end

--- Opens a buffer in a new tab page after all others. Uses a temporary float, so that the focus and the mode
--- stay (even Visual mode).
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
    vim.cmd("noautocmd keepalt $tab split") -- |:sbuffer| might use another window, see 'switchbuf'
    tab, win = vim.api.nvim_get_current_tabpage(), vim.api.nvim_get_current_win()
  end)
  -- The float has inherited 'diff'. With "closeoff" in 'diffopt', closing the float would end the diff mode of a window
  -- that waits for its counterpart.
  M.set(float, { diff = false })
  M.close(float)
  -- Sets 'showtabline' to its own value, which makes Neovim resize the windows of the current tab page. If the tab line
  -- has just appeared, these windows would otherwise cover the command line.
  vim.cmd("noautocmd let &showtabline = &showtabline")
  M.stay_in(directory)
  if not ok then
    error(problem, 0)
  end
  M.set(win, UNBOUND)
  return tab, win
end

return M
