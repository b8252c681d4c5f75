--- Lays out a page: a tab page with a tree at the left and a text at the right.
local focus = require("gemini-bridge.editor.focus_and_mode")
local window = require("gemini-bridge.editor.window")

local M = {}

--- Width of the tree: share of the screen, minimum and maximum (columns).
local SHARE, MIN_WIDTH, MAX_WIDTH = 0.3, 26, 56

--- Minimum number of visible lines around a hunk.
local MARGIN_LINES = 3

---@class gemini_bridge.Layout
---@field buf integer Buffer of the tree.
---@field tab integer
---@field tree integer Window of the tree.
---@field right integer Window of the file.
---@field origin { tab: integer, win: integer } Tab page and window that had the focus before.

--- Returns the width of the tree for this screen (columns).
---@return integer
local function tree_width()
  return math.max(MIN_WIDTH, math.min(MAX_WIDTH, math.floor(vim.o.columns * SHARE)))
end

--- Returns the window at the right. Opens it again if the user has closed it.
---@param layout gemini_bridge.Layout
---@return integer win
function M.right(layout)
  if not vim.api.nvim_win_is_valid(layout.right) then
    layout.right = window.open(layout.buf, { split = "right", win = layout.tree })
    window.make_plain(layout.right)
    vim.api.nvim_win_set_width(layout.tree, tree_width())
  end
  return layout.right
end

--- Moves the cursor of the window at the right to a line. Scrolls only if the line is at the edge or not visible.
---@param layout gemini_bridge.Layout
---@param line integer
function M.go_to_line(layout, line)
  local buf = vim.api.nvim_win_get_buf(layout.right)
  line = math.min(line, vim.api.nvim_buf_line_count(buf))
  vim.api.nvim_win_call(layout.right, function()
    local top, bottom = vim.fn.line("w0"), vim.fn.line("w$")
    local is_at_edge = top > 1 and line < top + MARGIN_LINES
      or bottom < vim.fn.line("$") and line > bottom - MARGIN_LINES
    vim.api.nvim_win_set_cursor(0, { line, 0 })
    vim.cmd("normal! " .. (is_at_edge and "zvzz" or "zv"))
  end)
end

---@param layout gemini_bridge.Layout
local function set_options(layout)
  window.make_plain(layout.tree)
  window.make_plain(layout.right)
  window.set(layout.tree, {
    number = false,
    relativenumber = false,
    signcolumn = "no",
    foldcolumn = "0",
    statuscolumn = "",
    wrap = false,
    list = false,
    spell = false,
    cursorline = true,
    winfixwidth = true,
  })
end

--- Opens a tab page. The focus does not move.
---@param name string Name of the tree's buffer.
---@return gemini_bridge.Layout
function M.open(name)
  local buf = window.create_buffer(false, true)
  window.set_name(buf, name)
  vim.bo[buf].bufhidden, vim.bo[buf].modeline = "wipe", false
  local from = { tab = vim.api.nvim_get_current_tabpage(), win = vim.api.nvim_get_current_win() }
  local tab, tree = window.open_tab(buf)
  local empty = window.create_buffer(false, true)
  vim.bo[empty].bufhidden = "wipe"
  local right = window.open(empty, { split = "right", win = tree })
  local layout = { buf = buf, tab = tab, tree = tree, right = right, origin = from }
  set_options(layout)
  vim.api.nvim_win_set_width(tree, tree_width())
  return layout
end

--- Closes the tab page, and moves the focus back to the previous window.
---@param layout gemini_bridge.Layout
function M.close(layout)
  if #vim.api.nvim_list_tabpages() == 1 or not vim.api.nvim_tabpage_is_valid(layout.tab) then
    return window.close(layout.tree) -- the window at the right stays, because it is the last one
  end
  local end_move = focus.begin_move()
  vim.cmd.tabclose(vim.api.nvim_tabpage_get_number(layout.tab))
  if vim.api.nvim_tabpage_is_valid(layout.origin.tab) then
    vim.api.nvim_set_current_tabpage(layout.origin.tab)
  end
  if vim.api.nvim_win_is_valid(layout.origin.win) then
    vim.api.nvim_set_current_win(layout.origin.win)
  end
  end_move()
end

return M
