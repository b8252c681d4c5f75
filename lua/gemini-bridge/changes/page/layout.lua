--- Lays out the page of `:GeminiChanges` and `:GeminiHistory`: a tab page with a tree at the left and a text at the
--- right.
local focus = require("gemini-bridge.editor.focus_and_mode")
local go_to_line = require("gemini-bridge.difference.go_to_line")
local notify = require("gemini-bridge.notify")
local path = require("gemini-bridge.disk.path")
local scheduler = require("gemini-bridge.editor.scheduler")
local window = require("gemini-bridge.editor.window")
local window_options = require("gemini-bridge.changes.page.window_options")

local M = {}

--- Width of the tree: share of the screen width, minimum and maximum (columns).
local SHARE, MIN_WIDTH, MAX_WIDTH = 0.3, 26, 56

--- Stands for a window or buffer that does not exist.
local NONE = -1

---@class gemini_bridge.PageLayout
---@field group integer Id of the autocommand group.
---@field buf integer Buffer of the tree.
---@field tab_page integer
---@field tree integer Window of the tree, at the left.
---@field right integer Window of the text, at the right. May be invalid.
---@field right_buf integer Buffer that the page shows at the right. The user may open another buffer in that window.
---@field is_filling? boolean True while the page changes the buffer of the window `right`.
---@field origin { tab: integer, win: integer } Tab page and window that had the focus before the page opened.

---@return integer
local function tree_width()
  return math.max(MIN_WIDTH, math.min(MAX_WIDTH, math.floor(vim.o.columns * SHARE)))
end

--- Returns the window of the tree. The user may have split this window and closed the first half. The other half then
--- becomes the window of the tree.
---@param layout gemini_bridge.PageLayout
---@return integer? win nil if no window shows the tree, for example after closing by |:noautocmd|.
function M.tree(layout)
  local windows = vim.fn.win_findbuf(layout.buf)
  if windows[1] and not vim.list_contains(windows, layout.tree) then
    layout.tree = windows[1]
    window_options.set_tree(layout.tree)
  end
  return windows[1] and layout.tree
end

---@return integer buf An empty buffer that disappears with its window.
local function empty_buffer()
  local buf = window.create_buffer(false, true)
  vim.bo[buf].bufhidden = "wipe"
  return buf
end

--- Opens the window of the text with an empty buffer.
---@param layout gemini_bridge.PageLayout
---@return any problem nil, or the reason why there is no room for the window.
local function open_right(layout)
  local tree, buf =
    M.tree(layout), --[[@as integer]]
    empty_buffer()
  local ok, win = pcall(window.open, buf, { split = "right", win = tree })
  if not ok then
    window.delete_buffer(buf)
    layout.right, layout.right_buf = NONE, NONE
    return win
  end
  window_options.reset(win)
  vim.w[win].gemini_page = true
  vim.api.nvim_win_set_config(tree, { width = tree_width() })
  layout.right, layout.right_buf = win, buf
end

--- Returns true if the right window shows the buffer of the page. After the user has opened another buffer there, the
--- page leaves the window alone.
---@param layout gemini_bridge.PageLayout
---@return boolean
function M.shows_own(layout)
  local win = layout.right
  return vim.api.nvim_win_is_valid(win)
    and vim.w[win].gemini_page == true
    -- Autocommands may call this function while the page changes the buffer. `right_buf` is not up to date then.
    and (layout.is_filling or vim.api.nvim_win_get_buf(win) == layout.right_buf)
end

--- Shows a buffer in the right window of a page. First resets the window options, because Neovim stores window options
--- together with the earlier buffer.
---@param win integer
---@param buf integer
local function set_buffer(win, buf)
  local is_other = vim.api.nvim_win_get_buf(win) ~= buf
  if is_other then
    window_options.reset(win)
  end
  vim.w[win].gemini_page = true
  if is_other then
    -- Fires autocommands like |:buffer|, because plugins need them when a window shows a file. Without `hide`, the
    -- command would fail if 'hidden' is off and the earlier buffer has unsaved changes.
    local ok = scheduler.attempt(vim.api.nvim_win_call, win, function()
      vim.cmd(("hide buffer %d"):format(buf))
    end)
    if not ok and vim.api.nvim_win_get_buf(win) ~= buf then
      window.show(win, buf)
    end
  end
  window.set(win, { cursorline = true })
  if vim.wo[win].signcolumn == "no" then
    window.set(win, { signcolumn = "yes" })
  end
end

--- Shows a buffer in the right window. Opens the window again if the user has closed it.
---@param layout gemini_bridge.PageLayout
---@param buf integer
---@return boolean ok False if there is no room for the window. The user gets a message.
function M.fill(layout, buf)
  local problem = not vim.api.nvim_win_is_valid(layout.right) and open_right(layout)
  if problem then
    local text = "There is no room for the text beside the list (%s). Make the window of the list larger."
    notify(text:format(scheduler.reason(problem)), "warn")
    return false
  end
  layout.is_filling = true
  scheduler.attempt(set_buffer, layout.right, buf)
  layout.is_filling = false
  layout.right_buf = buf
  return true
end

--- Empties the right window. Opens another one if the user has closed it or opened another buffer there.
---@param layout gemini_bridge.PageLayout
function M.clear(layout)
  if M.shows_own(layout) then
    M.fill(layout, empty_buffer())
  else
    open_right(layout)
  end
end

--- Deletes the tree buffer after |:bdelete|, which may only hide the buffer.
---@param layout gemini_bridge.PageLayout
local function delete_hidden(layout)
  if #vim.fn.win_findbuf(layout.buf) == 0 then
    window.delete_buffer(layout.buf)
  end
end

--- Returns true if a buffer shows the file whose deletion the other buffer shows.
---@param before integer
---@param buf integer
---@return boolean
local function is_restored(before, buf)
  return vim.api.nvim_buf_is_valid(before)
    and vim.b[before].gemini_deleted == path.real(vim.api.nvim_buf_get_name(buf))
end

--- Resets options that the user's windows inherit from the tree window or the text window, for example after a split.
---@param layout gemini_bridge.PageLayout
---@param release fun(is_closed: boolean) Called when the user closes the right window or opens another buffer there.
function M.follow(layout, release)
  local function on(event, callback)
    vim.api.nvim_create_autocmd(event, { group = layout.group, callback = callback })
  end
  local function is_of_page(win)
    return win == layout.tree or win == layout.right
  end
  on("WinNew", function()
    local win, buf = vim.api.nvim_get_current_win(), vim.api.nvim_get_current_buf()
    if not is_of_page(win) and (buf == layout.buf or buf == layout.right_buf) then
      window_options.reset(win)
    end
  end)
  on("BufWinEnter", function(args)
    local win, before = vim.api.nvim_get_current_win(), layout.right_buf
    if win == layout.tree then
      scheduler.next(function()
        delete_hidden(layout)
      end)
    elseif win ~= layout.right then
      -- A new window gets the options of the last window that showed the buffer. This last window may belong to the
      -- page.
      if args.buf == before and window_options.is_copy(win, layout.right) then
        window_options.reset(win)
      end
    elseif not layout.is_filling and args.buf ~= before and is_restored(before, args.buf) then
      layout.right_buf = args.buf
    elseif not layout.is_filling and args.buf ~= before and vim.w[win].gemini_page then
      if vim.api.nvim_buf_is_valid(before) then
        window_options.reset_later(win, before)
      end
      release(false)
      window_options.reset(win)
    end
  end)
  on("WinClosed", function(args)
    local win = tonumber(args.match) --[[@as integer]]
    if is_of_page(win) then
      window_options.reset(win)
    end
    if win == layout.right then
      scheduler.next(function()
        release(true)
      end)
    end
  end)
end

--- Resets the options of the tree window and the text window.
---@param layout gemini_bridge.PageLayout
function M.release(layout)
  scheduler.next(function()
    delete_hidden(layout)
  end)
  scheduler.attempt(window_options.reset, layout.tree)
  scheduler.attempt(window_options.reset, layout.right)
end

--- Moves the cursor of the right window to a line. Scrolls only if the line is at the edge or invisible.
---@param layout gemini_bridge.PageLayout
---@param line integer
function M.go_to_line(layout, line)
  if M.shows_own(layout) then
    go_to_line(layout.right, line)
  end
end

--- Opens the tab page without moving the focus.
---@return gemini_bridge.PageLayout
function M.open()
  local buf = window.create_buffer(false, true)
  vim.bo[buf].bufhidden, vim.bo[buf].modeline = "wipe", false
  local origin = { tab = vim.api.nvim_get_current_tabpage(), win = vim.api.nvim_get_current_win() }
  local tab, tree = window.open_tab(buf)
  window_options.set_tree(tree)
  return {
    group = vim.api.nvim_create_augroup("gemini-bridge.page." .. buf, {}),
    buf = buf,
    tab_page = tab,
    tree = tree,
    right = NONE,
    right_buf = NONE,
    origin = origin,
  }
end

--- Closes the page with its tab page and moves the focus back. If there is no other tab page, closes only the tree.
---@param layout gemini_bridge.PageLayout
function M.close(layout)
  local end_move = focus.begin_move()
  if #vim.api.nvim_list_tabpages() > 1 and vim.api.nvim_tabpage_is_valid(layout.tab_page) then
    -- `hide` keeps unsaved changes in a hidden buffer, even if 'hidden' is off.
    vim.cmd(("hide tabclose %d"):format(vim.api.nvim_tabpage_get_number(layout.tab_page)))
  end
  window.delete_buffer(layout.buf) -- also closes windows that the user has split off
  if vim.api.nvim_tabpage_is_valid(layout.origin.tab) then
    vim.api.nvim_set_current_tabpage(layout.origin.tab)
  end
  if vim.api.nvim_win_is_valid(layout.origin.win) then
    vim.api.nvim_set_current_win(layout.origin.win)
  end
  end_move()
end

return M
