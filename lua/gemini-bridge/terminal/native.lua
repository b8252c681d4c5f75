--- Shows a terminal in a Neovim window: a split at the edge of the editor, a float or a tab page.
local layout = require("gemini-bridge.terminal.layout")
local focus = require("gemini-bridge.editor.focus_and_mode")
local follow_output = require("gemini-bridge.terminal.follow_output")
local scheduler = require("gemini-bridge.editor.scheduler")
local set_buffer_name = require("gemini-bridge.terminal.set_buffer_name")

local M = {}

---@class gemini_bridge.TerminalView
---@field buf integer
---@field place gemini_bridge.Place
---@field insert boolean Whether to start Terminal mode when the user enters the window.
---@field scroll? vim.fn.winsaveview.ret The view of the window if the user has scrolled back.
local View = {}
View.__index = View

--- Handles BufLeave: stores the view if the user has scrolled back.
function View:leave()
  self.insert = follow_output.is_following()
  self.scroll = not self.insert and vim.fn.winsaveview() or nil
end

--- Handles BufEnter: restores the view, or starts Terminal mode.
function View:resume()
  if focus.is_moving() then
    return
  end
  local win = vim.api.nvim_get_current_win()
  if self.scroll then
    vim.fn.winrestview(self.scroll)
  elseif self.insert and vim.bo[self.buf].buftype == "terminal" then
    -- Waits one tick, because the user may only pass through this window. Terminal mode would stop the user there.
    scheduler.next(function()
      local is_here = vim.api.nvim_get_current_win() == win and vim.api.nvim_get_current_buf() == self.buf
      if is_here and not focus.is_moving() then
        vim.cmd.startinsert()
      end
    end)
  end
end

--- Returns the terminal's window in the current tab page.
---@return integer?
function View:window()
  return vim.iter(vim.api.nvim_tabpage_list_wins(0)):find(function(win)
    return vim.api.nvim_win_get_buf(win) == self.buf
  end)
end

---@return boolean
function View:focused()
  return vim.api.nvim_get_current_buf() == self.buf
end

--- Returns a window in the current tab page that shows another terminal at the same position.
---@return integer?
function View:shared_window()
  return vim.iter(vim.api.nvim_tabpage_list_wins(0)):find(function(win)
    local buf = vim.api.nvim_win_get_buf(win)
    return vim.w[win].gemini_terminal == self.place.position
      and vim.bo[buf].buftype == "terminal"
      and not vim.wo[win].winfixbuf
  end)
end

--- Shows the terminal in the current tab page.
---@param enter boolean Whether to move the focus to the terminal.
function View:show(enter)
  if enter then
    focus.end_visual()
  end
  local win = self:window()
  if win then
    if enter then
      vim.api.nvim_set_current_win(win)
      self:resume()
    end
    return
  end
  if self.place.position == "tab" then
    local back = vim.api.nvim_get_current_tabpage()
    local other = vim.fn.win_findbuf(self.buf)[1]
    if other then
      vim.api.nvim_set_current_win(other)
    else
      vim.cmd("tab split")
      vim.api.nvim_win_set_buf(0, self.buf)
    end
    win = vim.api.nvim_get_current_win()
    if not enter then
      vim.api.nvim_set_current_tabpage(back)
    end
  else
    win = self:shared_window()
    if win then
      vim.api.nvim_win_set_buf(win, self.buf)
    else
      win = vim.api.nvim_open_win(self.buf, false, layout.config(self.place))
    end
    if enter then
      vim.api.nvim_set_current_win(win)
    end
  end
  layout.dress(win, self.place)
  if enter then
    self:resume()
  end
end

--- Returns the buffer that replaces the terminal in a window: the alternate file, or the last used file.
---@param win integer
---@return integer buf
local function other_buffer(win)
  local files = vim.tbl_filter(function(info)
    return vim.bo[info.bufnr].buftype ~= "terminal"
  end, vim.fn.getbufinfo({ buflisted = 1 }))
  table.sort(files, function(a, b)
    return a.lastused > b.lastused
  end)
  local alternate = vim.api.nvim_win_call(win, function()
    return vim.fn.bufnr("#")
  end)
  local found = vim.iter(files):find(function(info)
    return info.bufnr == alternate
  end) or files[1]
  return found and found.bufnr or vim.api.nvim_create_buf(true, false)
end

--- Closes the terminal's windows in the current tab page. The program continues.
function View:hide()
  self:close_windows(vim.tbl_filter(function(win)
    return vim.api.nvim_win_get_tabpage(win) == vim.api.nvim_get_current_tabpage()
  end, vim.fn.win_findbuf(self.buf)))
end

---@param windows integer[]
function View:close_windows(windows)
  local previous = vim.fn.win_getid(vim.fn.winnr("#"))
  local was_here = self:focused()
  for _, win in ipairs(windows) do
    -- Neovim cannot hide the last window, so another buffer replaces the terminal there.
    if not pcall(vim.api.nvim_win_hide, win) then
      layout.undress(win)
      vim.api.nvim_win_set_buf(win, other_buffer(win))
    end
  end
  if was_here and vim.api.nvim_win_is_valid(previous) then
    vim.api.nvim_set_current_win(previous)
  end
end

--- Closes the terminal's windows and ends the program.
function View:close()
  if vim.api.nvim_buf_is_valid(self.buf) then
    self:close_windows(vim.fn.win_findbuf(self.buf))
    vim.api.nvim_buf_delete(self.buf, { force = true })
  end
end

--- Runs a program in the terminal's buffer.
---@param spec gemini_bridge.TerminalSpec
---@return string? problem
function View:start(spec)
  local options = { cwd = spec.cwd, env = spec.env }
  local function run()
    if vim.fn.has("nvim-0.11") == 1 then
      options.term = true
      return vim.fn.jobstart(spec.cmd, options)
    end
    return vim.fn.termopen(spec.cmd, options)
  end
  if not vim.api.nvim_buf_is_valid(self.buf) then
    return "its buffer was closed"
  end
  local win = vim.fn.win_findbuf(self.buf)[1]
  vim.bo[self.buf].modifiable = true
  local ok, job
  -- Starts the program in the terminal's window, because Neovim gives a new terminal the size of the current window.
  if win then
    ok, job = pcall(vim.api.nvim_win_call, win, run)
  else
    ok, job = pcall(vim.api.nvim_buf_call, self.buf, run)
  end
  if not ok or job <= 0 then
    return tostring(job)
  end
  set_buffer_name(self.buf, spec.name)
  if self:focused() then
    self:resume()
  end
end

--- Creates a view for an existing terminal buffer. Without `buf`, creates a buffer in which `View:start` runs a
--- program.
---@param place gemini_bridge.Place
---@param buf? integer
---@return gemini_bridge.TerminalView
function M.new(place, buf)
  if not buf then
    buf = vim.api.nvim_create_buf(false, true)
    -- Prevents typing into the buffer before the terminal starts.
    vim.bo[buf].modifiable = false
  end
  local view = setmetatable({ buf = buf, place = place, insert = true }, View)
  local group = vim.api.nvim_create_augroup("gemini-bridge.terminal." .. buf, {})
  vim.bo[buf].bufhidden = "hide"
  local function on(event, run)
    vim.api.nvim_create_autocmd(event, { group = group, buffer = buf, callback = run })
  end
  on("BufLeave", function()
    view:leave()
  end)
  local is_closing = false
  vim.api.nvim_create_autocmd("WinClosed", {
    group = group,
    callback = function()
      is_closing = true
      scheduler.next(function()
        is_closing = false
      end)
    end,
  })
  on("BufEnter", function()
    -- Does not start Terminal mode if the closing of another window has moved the focus here. The user's next keys
    -- would otherwise reach the CLI.
    if not is_closing then
      view:resume()
    end
  end)
  if place.position == "float" then
    vim.api.nvim_create_autocmd("VimResized", {
      group = group,
      callback = function()
        local win = view:window()
        if win then
          vim.api.nvim_win_set_config(win, layout.config(place))
        end
      end,
    })
  end
  on("BufWipeout", function()
    vim.api.nvim_del_augroup_by_id(group)
  end)
  return view
end

return M
