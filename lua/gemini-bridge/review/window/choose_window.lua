--- Chooses the windows in which a review is shown.
local window = require("gemini-bridge.editor.window")

local M = {}

--- Minimum width of each window if two are side by side. With less room, the layout `auto` stacks them.
local MIN_COLUMNS = 50
--- Minimum height for splitting a window into an upper and a lower half. With fewer lines, it is split into a left and
--- a right half.
local MIN_LINES = 16

--- Returns the non-floating windows of a tab page.
---@param tab integer
---@return integer[]
function M.windows(tab)
  return vim.tbl_filter(function(win)
    return not window.is_float(win)
  end, vim.api.nvim_tabpage_list_wins(tab))
end

--- Whether a window is one in which the user edits files.
---@param win integer
local function is_ordinary(win)
  local buf = vim.api.nvim_win_get_buf(win)
  local options = vim.wo[win]
  return vim.bo[buf].buftype == ""
    and vim.fn.isdirectory(vim.api.nvim_buf_get_name(buf)) == 0
    and vim.bo[buf].filetype ~= "netrw"
    and not vim.w[win].gemini_page -- shows what the user chooses on the review page
    and not (options.winfixbuf or options.winfixwidth or options.winfixheight or options.previewwindow)
end

--- Whether a buffer stays loaded, with its changes, undo history and marks, when no window shows it.
---@param buf integer
local function survives_hiding(buf)
  return vim.list_contains({ "", "hide" }, vim.bo[buf].bufhidden)
end

--- Whether a tab page cannot show a review, because it already has windows with 'diff', 'scrollbind' or 'cursorbind':
--- the windows of the review would be compared with them, or scroll with them.
---@param tab integer
---@return boolean
function M.is_bound(tab)
  return vim.iter(vim.api.nvim_tabpage_list_wins(tab)):any(function(win)
    local options = vim.wo[win]
    return options.diff or options.scrollbind or options.cursorbind
  end)
end

--- Returns the window that had the focus before the current one.
---@param tab integer
---@return integer win 0 if there is none.
local function previous(tab)
  local number = vim.api.nvim_tabpage_get_number(tab)
  return vim.fn.win_getid(vim.fn.tabpagewinnr(number, "#"), number)
end

--- Returns the windows that must keep their buffers because the user is working in them: usually only the current
--- window. While a float such as a picker has the focus: the previous window or, if that is a float too, all windows.
---@param tab integer
---@return table<integer, true>
local function in_use(tab)
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

--- Chooses one of the user's windows for showing the original text during a review.
---@param tab integer
---@param original integer Buffer to show.
---@return integer? win nil if no window can be used.
function M.borrow(tab, original)
  local taken = in_use(tab)
  local candidates = vim.tbl_filter(is_ordinary, M.windows(tab))
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
    return taken[win] == nil and survives_hiding(vim.api.nvim_win_get_buf(win))
  end)
end

--- Chooses the window to split if no window of the user can show the original text.
---@param tab integer
---@return { win: integer, split: "above"|"left", ordinary: boolean }
function M.base(tab)
  local windows = M.windows(tab)
  local ordinary = vim.tbl_filter(is_ordinary, windows)
  local pool = #ordinary > 0 and ordinary or windows
  table.sort(pool, function(a, b)
    local function area(win)
      return vim.api.nvim_win_get_width(win) * vim.api.nvim_win_get_height(win)
    end
    return area(a) > area(b)
  end)
  local tall = vim.api.nvim_win_get_height(pool[1]) >= MIN_LINES
  return { win = pool[1], split = tall and "above" or "left", ordinary = #ordinary > 0 }
end

--- Returns the place of the proposal's window: one half of an existing window.
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
