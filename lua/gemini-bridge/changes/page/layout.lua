--- Lays out the pages of `:GeminiChanges` and `:GeminiHistory`: a tab page with a tree at the left and a text at the
--- right.
local focus = require("gemini-bridge.editor.focus_and_mode")
local go_to_line = require("gemini-bridge.difference.go_to_line")
local notify = require("gemini-bridge.notify")
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
---@field tab integer
---@field tree integer Window of the tree, at the left.
---@field right integer Window of the text, at the right. May be invalid.
---@field right_buf integer Buffer that the page shows at the right. The user may open another buffer in that window.
---@field lacks_room? boolean True if there was no room to open the window of the text.
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

--- Opens the window of the text. Without room at the right, for example with a large 'winminwidth', opens the window
--- below the tree. Without room there either, returns no window.
---@param tree integer Window of the tree.
---@return integer win, integer buf, any problem
local function open_right(tree)
  local buf = window.create_buffer(false, true)
  vim.bo[buf].bufhidden = "wipe"
  local ok, win = pcall(window.open, buf, { split = "right", win = tree })
  if not ok then
    ok, win = pcall(window.open, buf, { split = "below", win = tree })
  end
  if not ok then
    window.delete_buffer(buf)
    return NONE, NONE, win
  end
  window_options.reset(win)
  vim.w[win].gemini_page = true
  vim.api.nvim_win_set_config(tree, { width = tree_width() })
  return win, buf
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

--- Shows a buffer in the right window of a page. Opens the window again if the user has closed it.
---@param layout gemini_bridge.PageLayout
---@param show fun(win: integer): integer Shows a buffer in the window and returns the buffer.
---@return integer? buf nil if there is no room for the window. The user gets a message.
function M.fill(layout, show)
  if not vim.api.nvim_win_is_valid(layout.right) then
    local problem
    layout.right, layout.right_buf, problem = open_right(M.tree(layout) --[[@as integer]])
    layout.lacks_room = problem ~= nil
    if problem then
      local text = "There is no room for the text beside the list (%s). Make the window of the list larger."
      return notify(text:format(scheduler.reason(problem)), "warn")
    end
  end
  layout.is_filling = true
  local ok, result = pcall(show, layout.right)
  layout.is_filling = false
  if not ok then
    error(result, 0)
  end
  layout.right_buf = result
  return result
end

--- Shows a buffer in the right window of a page. First resets the window options, because Neovim stores window options
--- together with the earlier buffer.
---@param win integer
---@param buf integer
function M.set_buffer(win, buf)
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

--- Resets options that the user's windows inherit from the tree window or the text window, for example after a split.
---@param layout gemini_bridge.PageLayout
---@param is_own fun(buf: integer): boolean Returns true for a buffer that the page would show itself.
---@param release fun(is_closed: boolean) Called when the user closes the right window or opens another buffer there.
---@return fun() stop Resets the options of the tree window and the text window.
function M.follow(layout, is_own, release)
  local function on(event, callback)
    vim.api.nvim_create_autocmd(event, { group = layout.group, callback = callback })
  end
  local function is_of_page(win)
    return win == layout.tree or win == layout.right
  end
  -- Deletes the tree buffer after |:bdelete|, which may only hide the buffer.
  local function delete_hidden()
    if #vim.fn.win_findbuf(layout.buf) == 0 then
      window.delete_buffer(layout.buf)
    end
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
      scheduler.next(delete_hidden)
    elseif win ~= layout.right then
      -- A new window gets the options of the last window that showed the buffer. This last window may belong to the
      -- page.
      if args.buf == before and window_options.is_copy(win, layout.right) then
        window_options.reset(win)
      end
    elseif not layout.is_filling and args.buf ~= before and is_own(args.buf) then
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
  return function()
    scheduler.next(delete_hidden)
    scheduler.attempt(window_options.reset, layout.tree)
    scheduler.attempt(window_options.reset, layout.right)
  end
end

--- Moves the cursor of the right window to a line. Scrolls only if the line is at the edge or invisible.
---@param layout gemini_bridge.PageLayout
---@param line integer
function M.go_to_line(layout, line)
  if M.shows_own(layout) then
    go_to_line(layout.right, line)
  end
end

---@class gemini_bridge.PagePlace
---@field buf integer Buffer of the tree.
---@field tree integer
---@field right? integer nil if the user has closed the right window or opened another buffer there.
---@field origin { tab: integer, win: integer }

--- Returns the windows that another page can take over. Must be called before the listeners of the page are removed.
---@param layout gemini_bridge.PageLayout
---@return gemini_bridge.PagePlace
function M.place(layout)
  local right = M.shows_own(layout) and layout.right or nil
  return { buf = layout.buf, tree = M.tree(layout), right = right, origin = layout.origin }
end

--- Opens a page in a new tab page, or in the windows of another page, without moving the focus.
---@param name string Name of the tree buffer.
---@param place? gemini_bridge.PagePlace
---@return gemini_bridge.PageLayout
function M.open(name, place)
  local buf = window.create_buffer(false, true)
  window.delete_restored(name)
  window.set_name(buf, name)
  vim.bo[buf].bufhidden, vim.bo[buf].modeline = "wipe", false
  local from = { tab = vim.api.nvim_get_current_tabpage(), win = vim.api.nvim_get_current_win() }
  local tab, tree, right, right_buf
  if place then
    tab, tree, right = vim.api.nvim_win_get_tabpage(place.tree), place.tree, place.right
    window.show(tree, buf)
    window.delete_buffer(place.buf) -- also closes windows that the user has split off
  else
    tab, tree = window.open_tab(buf)
  end
  window_options.set_tree(tree)
  if right then
    right_buf = window.create_buffer(false, true)
    vim.bo[right_buf].bufhidden = "wipe"
    M.set_buffer(right, right_buf)
  else
    right, right_buf = open_right(tree)
  end
  local group = vim.api.nvim_create_augroup("gemini-bridge.page." .. buf, {})
  return {
    group = group,
    buf = buf,
    tab = tab,
    tree = tree,
    right = right,
    right_buf = right_buf,
    origin = place and place.origin or from,
  }
end

--- Closes a page with its tab page and moves the focus back. If there is no other tab page, closes only the tree.
---@param layout gemini_bridge.PageLayout
function M.close(layout)
  local end_move = focus.begin_move()
  if #vim.api.nvim_list_tabpages() > 1 and vim.api.nvim_tabpage_is_valid(layout.tab) then
    -- `hide` keeps unsaved changes in a hidden buffer, even if 'hidden' is off.
    vim.cmd(("hide tabclose %d"):format(vim.api.nvim_tabpage_get_number(layout.tab)))
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
