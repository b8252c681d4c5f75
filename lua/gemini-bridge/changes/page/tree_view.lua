--- Draws the tree of the page, and finds nodes at the cursor or in the selection.
local focus = require("gemini-bridge.editor.focus_and_mode")
local tree = require("gemini-bridge.changes.page.tree")
local tree_lines = require("gemini-bridge.changes.page.tree_lines")

local M = {}

---@class gemini_bridge.TreeView: gemini_bridge.PageLayout
---@field nodes gemini_bridge.Node[]
---@field rows gemini_bridge.Node[] Visible nodes by row.
---@field is_open table<string, boolean> Nodes that the user has opened or closed, by key.

--- Finds a node in a new tree by its key. If a file has moved to another group, finds the file by its id.
---@param rows gemini_bridge.Node[]
---@param wanted gemini_bridge.Node
---@return gemini_bridge.Node?
local function find(rows, wanted)
  local id, moved = wanted.item and wanted.item.id, nil
  for _, node in ipairs(rows) do
    if node.key == wanted.key then
      return node
    end
    moved = id and node.item and node.item.id == id and node or moved
  end
  return moved
end

--- Draws the tree. Keeps the cursor on the same node.
---@param view gemini_bridge.TreeView
---@param groups gemini_bridge.TreeGroup[]
---@param face fun(node: gemini_bridge.Node): gemini_bridge.Face
function M.draw(view, groups, face)
  local row, column = unpack(vim.api.nvim_win_get_cursor(view.tree))
  local here = view.rows[row]
  view.nodes = tree.build(groups, view.is_open)
  view.rows = tree.rows(view.nodes)
  tree_lines.write(view, face)
  local same = here and find(view.rows, here)
  row = math.max(math.min(same and same.row or row, #view.rows), 1)
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

--- Moves the focus between the tree and the right window of the page.
---@param view gemini_bridge.TreeView
function M.switch(view)
  local to_right = M.has_focus(view) and vim.api.nvim_win_is_valid(view.right)
  focus.go(to_right and view.right or view.tree)
end

return M
