--- Implements the page of `:GeminiChanges` and `:GeminiHistory`: a tree at the left, and the selected text at the
--- right. A tab of the page gives the entries of the tree, their texts and further keys. The page shows one tab at a
--- time.
local appearance = require("gemini-bridge.changes.page.appearance")
local earlier_text = require("gemini-bridge.changes.page.earlier_text")
local focus = require("gemini-bridge.editor.focus_and_mode")
local hunks = require("gemini-bridge.difference.hunks")
local key_actions = require("gemini-bridge.editor.key_actions")
local layout = require("gemini-bridge.changes.page.layout")
local scheduler = require("gemini-bridge.editor.scheduler")
local signs = require("gemini-bridge.changes.signs")
local tree = require("gemini-bridge.changes.page.tree")
local tree_lines = require("gemini-bridge.changes.page.tree_lines")
local tree_view = require("gemini-bridge.changes.page.tree_view")
local window = require("gemini-bridge.editor.window")
local winbar_text = require("gemini-bridge.editor.winbar_text")

local M = {}

--- Beyond this number of rows, the tree is drawn after a delay, because the host may report thousands of files.
local MAX_FAST_ROWS, SLOW_DRAW_MS = 1000, 300

local TAB_GROUP = "gemini-bridge.page.tab"

---@class gemini_bridge.PageTab
---@field name "changes"|"history"
---@field title string
---@field hint string Key hint for the other tab.
---@field opened fun(page: gemini_bridge.Page): fun()[] Called when the tab is shown. Returns functions that the page
--- calls when it shows the tab no longer.
---@field groups fun(): gemini_bridge.TreeGroup[]
---@field face fun(node: gemini_bridge.Node): gemini_bridge.Face
---@field bar fun(item: gemini_bridge.TreeItem): gemini_bridge.BarPart[] Returns the winbar of the text.
---@field is_left fun(item: gemini_bridge.TreeItem): boolean Returns false if navigation skips the item.
---@field nothing_left string Message if navigation finds no item.
---@field closed_left string Message if only closed groups contain such items.
---@field enter? fun(page: gemini_bridge.Page, item: gemini_bridge.TreeItem): boolean Called when the user presses Enter
--- on an item. Returns true if the page has nothing more to do.
---@field load fun(item: gemini_bridge.TreeItem, show: fun(buf: integer)) Gets the buffer for the text of an item.
---@field earlier fun(item: gemini_bridge.TreeItem, take: fun(lines?: string[], problem?: string)) Gets the text with
--- which the text of an item is compared.

---@class gemini_bridge.Page: gemini_bridge.TreeView
---@field tab gemini_bridge.PageTab
---@field tab_group integer Id of the autocommand group of the tab.
---@field list gemini_bridge.Node[] Files in the order of navigation. Leaves out files in closed groups.
---@field by_id table<string, gemini_bridge.Node> Nodes of all items with an id.
---@field current? string Id of the item at the right.
---@field stops fun()[] Functions to call when the page shows the tab no longer.

local page ---@type gemini_bridge.Page?

--- Returns the open page. Removes the listeners of a page whose windows were closed by |:noautocmd|.
---@param tab? gemini_bridge.PageTab Returns the page only if it shows this tab.
---@return gemini_bridge.Page?
function M.get(tab)
  if page and not layout.tree(page) then
    M.dispose(page)
  end
  return page and (not tab or page.tab == tab) and page or nil
end

--- Returns the item at the right.
---@param shown gemini_bridge.Page
---@return gemini_bridge.TreeItem?
function M.item(shown)
  local node = shown.by_id[shown.current]
  return node and node.item
end

--- Draws the tree and the winbars. Keeps the cursor on the same node.
---@param shown gemini_bridge.Page
function M.draw(shown)
  tree_view.draw(shown, shown.tab.groups(), shown.tab.face)
  shown.list, shown.by_id = {}, {}
  tree.each(shown.nodes, function(node)
    if node.item and node.item.id then
      shown.by_id[node.item.id] = node
    end
  end)
  tree.each(shown.nodes, function(node)
    shown.list[#shown.list + 1] = node.item and node or nil
    return node.is_open or node.kind ~= "group"
  end)
  M.draw_bars(shown)
end

---@param shown gemini_bridge.Page
function M.draw_bars(shown)
  local item = M.item(shown)
  if layout.shows_own(shown) then
    winbar_text.show(shown.right, item and shown.tab.bar(item) or {})
  end
  winbar_text.show(shown.tree, {
    { text = shown.tab.title .. appearance.sum(shown.nodes) },
    { text = " · " .. shown.tab.hint, rank = 2 },
    key_actions.hints({ { "help", "keys" } }),
  })
end

local is_due = false

--- Draws the page soon, once for several calls.
local function draw_soon()
  if is_due or not page then
    return
  end
  is_due = true
  local function draw()
    is_due = false
    local shown = M.get()
    if shown then
      M.draw(shown)
    end
  end
  if #page.rows > MAX_FAST_ROWS then
    scheduler.after(SLOW_DRAW_MS, draw)
  else
    scheduler.next(draw)
  end
end

--- Draws the page soon, once for several calls, if it shows a tab.
---@param tab gemini_bridge.PageTab
function M.refresh(tab)
  if page and page.tab == tab then
    draw_soon()
  end
end

--- Opens the folders and groups that contain a node, and moves the cursor of the tree to the node.
---@param shown gemini_bridge.Page
---@param node gemini_bridge.Node
local function reveal(shown, node)
  local above, is_hidden = node.parent, false
  while above do
    if not above.is_open then
      is_hidden, shown.is_open[above.key] = true, true
    end
    above = above.parent
  end
  if is_hidden then
    M.draw(shown)
    node = shown.by_id[node.item.id]
  end
  if node and node.row then
    vim.api.nvim_win_set_cursor(shown.tree, { node.row, 0 })
  end
end

--- Shows the text of an item at the right and moves the cursor to a hunk. A comparison continues with the new
--- text.
---@param shown gemini_bridge.Page
---@param node gemini_bridge.Node
---@param direction? 1|-1 Goes to the first hunk (1, the default) or to the last hunk (-1).
function M.show(shown, node, direction)
  local id, tab = node.item.id, shown.tab
  shown.current = id
  reveal(shown, node)
  tab.load(node.item, function(buf)
    if page ~= shown or shown.tab ~= tab or shown.current ~= id then
      return
    end
    local is_compared = earlier_text.is_compared(shown) and shown.right_buf ~= buf
    if is_compared then
      earlier_text.close(shown.right)
    end
    if not layout.fill(shown, buf) then
      shown.current = nil
      return
    end
    earlier_text.mark(shown, node.item)
    local hunk = hunks.next(signs.list(buf), direction == -1 and math.huge or 0, direction or 1)
    if hunk then
      layout.go_to_line(shown, hunk.first)
    end
    M.draw_bars(shown)
    if is_compared and hunk then
      earlier_text.toggle(shown, node.item)
    end
  end)
end

--- Removes the traces of a tab.
---@param shown gemini_bridge.Page
local function leave_tab(shown)
  for _, stop in ipairs(shown.stops) do
    scheduler.attempt(stop)
  end
  shown.stops = {}
  vim.api.nvim_create_augroup(TAB_GROUP, {})
  earlier_text.unmark()
end

--- Removes all listeners of a page. Idempotent.
---@param shown gemini_bridge.Page
---@param is_closing? boolean True if the user's command is closing windows, such as |:tabclose|. If another window
--- closed meanwhile, the command would go on with a window of another tab page.
function M.dispose(shown, is_closing)
  if page ~= shown then
    return
  end
  page = nil
  vim.api.nvim_del_augroup_by_id(shown.group)
  leave_tab(shown)
  layout.release(shown)
  local delay = is_closing and scheduler.next or scheduler.attempt
  delay(function()
    earlier_text.close(shown.right)
  end)
  tree_lines.forget(shown.buf)
end

--- Closes the page and moves the focus back to the previous window.
---@param shown gemini_bridge.Page
function M.close(shown)
  M.dispose(shown)
  layout.close(shown)
end

---@return gemini_bridge.Page
local function create()
  local shown = layout.open() --[[@as gemini_bridge.Page]]
  page = shown
  shown.stops, shown.rows, shown.nodes, shown.list, shown.by_id = {}, {}, {}, {}, {}
  local function on(event, buf, act)
    vim.api.nvim_create_autocmd(event, { group = shown.group, buffer = buf, callback = act })
  end
  on("BufWipeout", shown.buf, function()
    M.dispose(shown, true)
  end)
  on("WinResized", nil, draw_soon)
  on("BufReadCmd", shown.buf, draw_soon) -- |:edit!| has emptied the tree
  -- Closes the page when Neovim exits, because plugins save the session later, at VimLeavePre.
  on("BufWinLeave", nil, function()
    if vim.v.exiting ~= vim.NIL then
      scheduler.attempt(M.close, shown)
    end
  end)
  layout.follow(shown, function(is_closed)
    earlier_text.close(shown.right)
    shown.current = is_closed and shown.current or nil
  end)
  return shown
end

--- Shows a tab of the page and moves the focus to the tree. Opens the page if it is closed.
---@param tab gemini_bridge.PageTab
---@return gemini_bridge.Page shown, boolean is_new True if the tab was not shown before.
function M.open(tab)
  focus.end_visual()
  local shown = M.get() or create()
  local is_new = shown.tab ~= tab
  if is_new then
    leave_tab(shown)
    earlier_text.close(shown.right)
    layout.clear(shown)
    shown.tab, shown.current, shown.is_open = tab, nil, {}
    window.rename(shown.buf, "gemini-page://" .. tab.name)
    shown.tab_group = vim.api.nvim_create_augroup(TAB_GROUP, {})
    shown.stops = tab.opened(shown)
    M.draw(shown)
  end
  focus.go(shown.tree)
  if is_new then
    vim.bo[shown.buf].filetype = "gemini_" .. tab.name
  end
  return shown, is_new
end

return M
