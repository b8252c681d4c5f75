--- Opens and closes a page with a tree, draws the tree, and finds nodes at the cursor or in the selection.
local compare = require("gemini-bridge.changes.page.compare")
local focus = require("gemini-bridge.editor.focus_and_mode")
local layout = require("gemini-bridge.changes.page.layout")
local scheduler = require("gemini-bridge.editor.scheduler")
local tree = require("gemini-bridge.changes.page.tree")
local tree_lines = require("gemini-bridge.changes.page.tree_lines")

local M = {}

---@class gemini_bridge.TreeView: gemini_bridge.PageLayout
---@field nodes gemini_bridge.Node[]
---@field rows gemini_bridge.Node[] Visible nodes by row.
---@field columns integer[] Widths of the columns at the right edge (screen cells), from right to left.
---@field is_open table<string, boolean> Nodes that the user has opened or closed, by key.
---@field gone? { node: gemini_bridge.Node, row: integer } The node that was at the cursor and has disappeared,
--- for example while the Node host restarts. When the node exists again, the cursor moves to the node if the user has
--- left the cursor in `row`.
---@field is_disposed boolean
---@field stops fun()[] Functions to call when the page closes.

--- The page that was opened last. Changes and history are two tabs of one page: only one of them is open.
local last ---@type gemini_bridge.TreeView?

--- Opens a page with an empty tree without moving the focus. Takes over the windows of the other page.
---@param name string Name of the tree buffer.
---@param redraw fun() Draws the tree after a window was resized or |:edit!| has emptied the tree.
---@return gemini_bridge.TreeView
function M.open(name, redraw)
  local place = last and M.is_alive(last) and layout.place(last) or nil
  if last and place then
    M.dispose(last)
  end
  local view = layout.open(name, place) --[[@as gemini_bridge.TreeView]]
  last = view
  view.nodes, view.rows, view.is_open, view.is_disposed, view.stops = {}, {}, {}, false, {}
  local function on(event, buf, act)
    vim.api.nvim_create_autocmd(event, { group = view.group, buffer = buf, callback = act })
  end
  on("BufWipeout", view.buf, function()
    M.dispose(view, true)
  end)
  on("WinResized", nil, redraw)
  on("BufReadCmd", view.buf, redraw)
  -- Closes the page when Neovim exits, because plugins save the session later, at VimLeavePre.
  on("BufWinLeave", nil, function()
    if vim.v.exiting ~= vim.NIL then
      scheduler.attempt(M.close, view)
    end
  end)
  return view
end

--- Removes all listeners of a page. Idempotent.
---@param view gemini_bridge.TreeView
---@param is_closing? boolean True if the user's command is closing windows, such as |:tabclose|. If another window
--- closed meanwhile, the command would go on with a window of another tab page.
function M.dispose(view, is_closing)
  if view.is_disposed then
    return
  end
  view.is_disposed = true
  vim.api.nvim_del_augroup_by_id(view.group)
  for _, stop in ipairs(view.stops) do
    scheduler.attempt(stop)
  end
  local delay = is_closing and scheduler.next or scheduler.attempt
  delay(function()
    compare.close(view.right)
  end)
  tree_lines.forget(view.buf)
end

--- Closes a page and moves the focus back to the previous window.
---@param view gemini_bridge.TreeView
function M.close(view)
  M.dispose(view)
  layout.close(view)
end

--- Returns true if a page is open. Removes the listeners of a page whose windows were closed by |:noautocmd|.
---@param view gemini_bridge.TreeView
---@return boolean
function M.is_alive(view)
  if not view.is_disposed and not layout.tree(view) then
    M.dispose(view)
  end
  return not view.is_disposed
end

--- Finds a node in a new tree by its key. If a file has moved to another group, finds the file by its path.
---@param rows gemini_bridge.Node[]
---@param wanted gemini_bridge.Node
---@return gemini_bridge.Node?
local function find(rows, wanted)
  local moved
  for _, node in ipairs(rows) do
    if node.key == wanted.key then
      return node
    elseif node.item and wanted.item and node.item.path == wanted.item.path then
      moved = node.item.key == wanted.item.key and node or moved
    end
  end
  return moved
end

--- Returns true for nodes of pending proposals. These nodes come and go with each review.
---@param node gemini_bridge.Node
---@return boolean
local function is_proposal(node)
  return node.key == "proposed" or node.item ~= nil and node.item.state == "proposed"
end

--- Draws the tree. Keeps the cursor on the same node.
---@param view gemini_bridge.TreeView
---@param groups gemini_bridge.TreeGroup[]
---@param face fun(node: gemini_bridge.Node): gemini_bridge.Face
function M.draw(view, groups, face)
  local row, column = unpack(vim.api.nvim_win_get_cursor(view.tree))
  local here = view.rows[row]
  local wanted = view.gone and view.gone.row == row and view.gone.node or here
  view.nodes = tree.build(groups, view.is_open)
  view.rows = tree.rows(view.nodes)
  tree_lines.write(view, face)
  local found = wanted and find(view.rows, wanted)
  local same = found or here and find(view.rows, here)
  row = math.max(math.min(same and same.row or row, #view.rows), 1)
  local is_awaited = wanted and not found and not is_proposal(wanted)
  view.gone = is_awaited and { node = wanted, row = row } or nil
  vim.api.nvim_win_set_cursor(view.tree, { row, column })
end

---@param view gemini_bridge.TreeView
---@return boolean
function M.has_focus(view)
  return vim.api.nvim_get_current_buf() == view.buf -- in any window, because the user may have split the tree
end

--- Ends Visual mode and returns the first and last selected line. Returns nil if nothing was selected.
---@return [integer, integer]?
function M.selected()
  if not vim.api.nvim_get_mode().mode:find("^[vV\22]") then
    return nil
  end
  local from, to = vim.fn.line("v"), vim.fn.line(".")
  focus.end_visual()
  return { math.min(from, to), math.max(from, to) }
end

--- Returns the nodes at the cursor or in the selected lines of the tree. Leaves out a node if its parent is returned.
---@param view gemini_bridge.TreeView
---@param lines? [integer, integer] First and last selected line.
---@return gemini_bridge.Node[]
function M.nodes_at(view, lines)
  local line = vim.api.nvim_win_get_cursor(M.has_focus(view) and 0 or view.tree)[1]
  local first, bottom = unpack(lines or { line, line })
  local taken, found = {}, {}
  for row = first, bottom do
    local node = view.rows[row]
    if node then
      local is_inside = node.parent and taken[node.parent]
      taken[node] = true
      found[#found + 1] = not is_inside and node or nil
    end
  end
  return found
end

--- Moves the focus between the tree and the right window of a page.
---@param view gemini_bridge.TreeView
function M.switch(view)
  local to_right = M.has_focus(view) and vim.api.nvim_win_is_valid(view.right)
  focus.go(to_right and view.right or view.tree)
end

return M
