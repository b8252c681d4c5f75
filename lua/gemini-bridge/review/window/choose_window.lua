--- Chooses the windows that show a review.
local window = require("gemini-bridge.editor.window")

local M = {}

--- Minimum width of each window in a side-by-side layout. With less room, the layout `auto` stacks the windows.
local MIN_COLUMNS = 50
--- Minimum height of a window that is split into an upper and a lower half. A window with fewer rows is split into a
--- left and a right half.
local MIN_LINES = 16
--- Minimum size of a user's window that shows the original text. A smaller window, for example after `CTRL-W _` in
--- another window, would leave no visible room for the proposal.
local MIN_BORROWED_COLUMNS, MIN_BORROWED_LINES = 20, 4

--- Returns the non-floating windows of a tab page.
---@param tab integer
---@return integer[]
function M.windows(tab)
  return vim.tbl_filter(function(win)
    return not window.is_float(win)
  end, vim.api.nvim_tabpage_list_wins(tab))
end

--- Returns true if the user edits a file in a window. Returns false for lists, trees and previews.
---@param win integer
local function is_ordinary(win)
  local buf = vim.api.nvim_win_get_buf(win)
  local options = vim.wo[win]
  return vim.bo[buf].buftype == ""
    and vim.fn.isdirectory(vim.api.nvim_buf_get_name(buf)) == 0
    and vim.bo[buf].filetype ~= "netrw"
    and not vim.w[win].gemini_page -- belongs to the review page
    and not (options.winfixbuf or options.winfixwidth or options.winfixheight or options.previewwindow)
end

---@param win integer
local function has_room(win)
  return vim.api.nvim_win_get_width(win) >= MIN_BORROWED_COLUMNS
    and vim.api.nvim_win_get_height(win) >= MIN_BORROWED_LINES
end

--- Returns true if a buffer stays loaded when no window shows it.
---@param buf integer
local function survives_hiding(buf)
  return vim.list_contains({ "", "hide" }, vim.bo[buf].bufhidden)
end

--- Returns true if a window is compared with other windows, or scrolls together with them.
---@param win integer
---@return boolean
local function is_bound(win)
  local options = vim.wo[win]
  return options.diff or options.scrollbind or options.cursorbind
end

--- Returns true if a tab page already has windows with 'diff', 'scrollbind' or 'cursorbind'. A review must not open
--- there: Neovim would compare its windows with these windows, or scroll them together.
---@param tab integer
---@return boolean
function M.is_bound(tab)
  return vim.iter(vim.api.nvim_tabpage_list_wins(tab)):any(is_bound)
end

--- Returns the window that had the focus before the current window.
---@param tab integer
---@return integer win 0 if there is no such window.
local function previous(tab)
  local number = vim.api.nvim_tabpage_get_number(tab)
  return vim.fn.win_getid(vim.fn.tabpagewinnr(number, "#"), number)
end

--- Returns the windows in which the user is working. The review must neither show another buffer there nor move the
--- cursor. Usually this is only the current window. If the current window is a float, returns the previous window. If
--- that is a float, too, returns all windows.
---@param tab integer
---@return table<integer, true>
function M.in_use(tab)
  local current = vim.api.nvim_tabpage_get_win(tab)
  if not window.is_float(current) then
    return { [current] = true }
  end
  local behind = previous(tab)
  local taken = { [behind] = true }
  if behind == 0 or window.is_float(behind) then
    for _, win in ipairs(M.windows(tab)) do
      taken[win] = true
    end
  end
  return taken
end

--- Returns the tab page of a window, and prefers the current tab page.
---@param is_suitable fun(win: integer): boolean
---@return integer? tab nil if no window is suitable.
local function tab_with(is_suitable)
  local tabs = vim.list_extend({ vim.api.nvim_get_current_tabpage() }, vim.api.nvim_list_tabpages())
  return vim.iter(tabs):find(function(tab)
    return vim.iter(M.windows(tab)):any(is_suitable)
  end)
end

--- Chooses the tab page for a review: one that shows the file, or else the terminal of the CLI, or else the current tab
--- page.
---@param original integer Buffer of the original text.
---@param client string Name of the CLI's terminal or MCP client.
---@return integer
function M.tab(original, client)
  return tab_with(function(win)
    return vim.api.nvim_win_get_buf(win) == original and is_ordinary(win)
  end) or tab_with(function(win)
    return vim.b[vim.api.nvim_win_get_buf(win)].gemini_terminal == client
  end) or vim.api.nvim_get_current_tabpage()
end

--- Chooses a window of the user in which a buffer can be shown, such as the original text during a review. Leaves out
--- windows of a review or of another comparison, unless they show the buffer already. Leaves out minimized windows.
---@param tab integer
---@param original integer Buffer to show.
---@return integer? win nil if no window is suitable.
function M.borrow(tab, original)
  local taken = M.in_use(tab)
  local candidates = vim.iter(M.windows(tab)):filter(is_ordinary):filter(has_room):totable()
  for _, win in ipairs(candidates) do
    if vim.api.nvim_win_get_buf(win) == original then
      return win
    end
  end
  local last = previous(tab)
  table.sort(candidates, function(a, b)
    if (a == last) ~= (b == last) then
      return a == last
    end
    return a > b
  end)
  return vim.iter(candidates):find(function(win)
    return taken[win] == nil and not is_bound(win) and survives_hiding(vim.api.nvim_win_get_buf(win))
  end)
end

--- Chooses the window to split if no window of the user can show the original text. Prefers windows that are not
--- minimized, then windows in which the user edits a file, then windows that are not compared with others, then the
--- largest window.
---@param tab integer
---@return { win: integer, split: "above"|"left", ordinary: boolean }
function M.base(tab)
  local windows = M.windows(tab)
  local ranks = {}
  for _, win in ipairs(windows) do
    ranks[win] = (has_room(win) and 4 or 0) + (is_ordinary(win) and 2 or 0) + (is_bound(win) and 0 or 1)
  end
  table.sort(windows, function(a, b)
    local function area(win)
      return vim.api.nvim_win_get_width(win) * vim.api.nvim_win_get_height(win)
    end
    if ranks[a] ~= ranks[b] then
      return ranks[a] > ranks[b]
    end
    return area(a) > area(b)
  end)
  local win = windows[1]
  local tall = vim.api.nvim_win_get_height(win) >= MIN_LINES
  return { win = win, split = tall and "above" or "left", ordinary = is_ordinary(win) }
end

--- Returns the position of the proposal window: one half of an existing window.
---@param layout "auto"|"vertical"|"horizontal"|"tab"|"inline"
---@param win integer
---@return vim.api.keyset.win_config
function M.half(layout, win)
  local width = vim.api.nvim_win_get_width(win)
  if layout == "vertical" or (layout ~= "horizontal" and width > 2 * MIN_COLUMNS) then
    return { win = win, split = "right", width = math.max(math.floor((width - 1) / 2), 1) }
  end
  local height = vim.api.nvim_win_get_height(win)
  return { win = win, split = "below", height = math.max(math.floor((height - 1) / 2), 1) }
end

return M
