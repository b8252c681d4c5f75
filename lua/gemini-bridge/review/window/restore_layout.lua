--- Saves the layout of a tab page before a review, and restores the layout afterwards.
local choose_window = require("gemini-bridge.review.window.choose_window")
local window = require("gemini-bridge.editor.window")

local M = {}

---@class gemini_bridge.Layout
---@field tab integer
---@field tree table Result of |winlayout()|.
---@field columns integer Width of the screen.
---@field rows integer Screen rows for windows, without command line, status line and tab line.
---@field sizes string Result of |winrestcmd()|.
---@field windows table<integer, gemini_bridge.LayoutWindow>

---@class gemini_bridge.LayoutWindow
---@field buf integer
---@field size { width: integer, height: integer }
---@field view vim.fn.winsaveview.ret

---@param tab integer
local function tree(tab)
  return vim.fn.winlayout(vim.api.nvim_tabpage_get_number(tab))
end

---@param win integer
local function size(win)
  return { width = vim.api.nvim_win_get_width(win), height = vim.api.nvim_win_get_height(win) }
end

---@param win integer
---@return gemini_bridge.LayoutWindow
function M.window(win)
  return { buf = vim.api.nvim_win_get_buf(win), size = size(win), view = window.view(win) }
end

--- Returns the number of screen rows for windows. Depends on the tab line, the status line and 'cmdheight'.
---@return integer
local function rows()
  local tabline = vim.o.showtabline == 2 or vim.o.showtabline == 1 and #vim.api.nvim_list_tabpages() > 1
  return vim.o.lines - vim.o.cmdheight - (tabline and 1 or 0) - (vim.o.laststatus == 3 and 1 or 0)
end

--- Returns the layout of a tab page.
---@param tab integer
---@return gemini_bridge.Layout
function M.save(tab)
  local order = choose_window.windows(tab)
  -- Runs |winrestcmd()| in a window of `tab`, because the function describes the current tab page.
  local sizes = vim.api.nvim_win_call(order[1], vim.fn.winrestcmd)
  local layout = {
    tab = tab,
    tree = tree(tab),
    columns = vim.o.columns,
    rows = rows(),
    sizes = sizes,
    windows = {},
  }
  for _, win in ipairs(order) do
    layout.windows[win] = M.window(win)
  end
  return layout
end

--- Records which windows the user resizes outside of the review. Ignores resizing while a window of the review has the
--- focus: after `CTRL-W _` there, other windows must not stay small.
---@param shown gemini_bridge.Layout Layout right after the review was shown.
---@param is_own fun(win: integer): boolean Returns true for the windows of the review.
---@return table<integer, { width?: integer, height?: integer }> chosen Filled while the user resizes windows.
---@return fun() stop Idempotent.
function M.follow_sizes(shown, is_own)
  local chosen, last = {}, {}
  for win, was in pairs(shown.windows) do
    last[win] = was.size
  end
  local listener = vim.api.nvim_create_autocmd("WinResized", {
    callback = function()
      -- Ignores resizing while an additional window is open, such as the command-line window.
      if not vim.api.nvim_tabpage_is_valid(shown.tab) or not vim.deep_equal(tree(shown.tab), shown.tree) then
        return
      end
      local own = is_own(vim.api.nvim_get_current_win())
      for win, was in pairs(last) do
        local now = vim.api.nvim_win_is_valid(win) and size(win) or was
        for dimension, cells in pairs(now) do
          if cells ~= was[dimension] and not own then
            chosen[win] = vim.tbl_extend("force", chosen[win] or {}, { [dimension] = cells })
          end
        end
        last[win] = now
      end
    end,
  })
  return chosen, function()
    pcall(vim.api.nvim_del_autocmd, listener)
  end
end

--- Returns true if a window has another window above or below. Setting the height of other windows would change the
--- height of the command line.
---@param node table Result of |winlayout()|.
---@param win integer
---@param is_in_column? boolean
---@return boolean
local function is_stacked(node, win, is_in_column)
  local kind, content = unpack(node)
  if kind == "leaf" then
    return content == win and is_in_column == true
  end
  return vim.iter(content):any(function(child)
    return is_stacked(child, win, is_in_column or kind == "col")
  end)
end

---@param before gemini_bridge.Layout
---@param chosen table<integer, { width?: integer, height?: integer }>
local function restore_sizes(before, chosen)
  local order = choose_window.windows(before.tab)
  local has_columns, has_rows = vim.o.columns == before.columns, rows() == before.rows
  local function has_height(win)
    return has_rows and is_stacked(before.tree, win)
  end
  -- Neovim gives the window in which |:resize| runs at least one row and column. With 'winminheight' 0, a minimized
  -- window would grow.
  local visible = vim.iter(order):find(function(win)
    local was = before.windows[win]
    return was and was.size.width > 0 and was.size.height > 0
  end)
  vim.api.nvim_win_call(visible or order[1], function()
    for command in vim.gsplit(before.sizes, "|", { trimempty = true }) do
      -- Skips floats, because floats may have been opened or closed since the layout was saved. Floats have the highest
      -- window numbers, so the numbers of other windows are indexes of `order`.
      local win = order[tonumber(command:match("%d+"))]
      local is_width = vim.startswith(command, "vert")
      if win and (is_width and has_columns or not is_width and has_height(win)) then
        vim.cmd("noautocmd " .. command)
      end
    end
    for win, cells in pairs(chosen) do
      if cells.width and vim.api.nvim_win_is_valid(win) then
        vim.api.nvim_win_set_config(win, { width = cells.width })
      end
      if cells.height and vim.api.nvim_win_is_valid(win) and has_height(win) then
        vim.api.nvim_win_set_config(win, { height = cells.height })
      end
    end
  end)
end

--- Restores size and scroll position of each window. Keeps sizes and positions that the user has changed.
---@param before gemini_bridge.Layout
---@param shown gemini_bridge.Layout Layout right after the review was shown.
---@param ended gemini_bridge.Layout Layout when the review ended.
---@param chosen table<integer, { width?: integer, height?: integer }> Sizes from |follow_sizes()|.
function M.restore(before, shown, ended, chosen)
  if not vim.api.nvim_tabpage_is_valid(before.tab) or not vim.deep_equal(tree(before.tab), before.tree) then
    return
  end
  restore_sizes(before, chosen)
  for win, was in pairs(before.windows) do
    local at_first, at_last = shown.windows[win], ended.windows[win]
    local same = at_first and at_last and vim.deep_equal(at_first.view, at_last.view)
    local shows_it = vim.api.nvim_win_get_buf(win) == was.buf and vim.bo[was.buf].buftype ~= "terminal"
    if same and shows_it then
      window.set_view(win, was.view)
    end
  end
end

return M
