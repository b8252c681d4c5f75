--- Opens and closes a page with a tree, draws the tree, and finds nodes at the cursor or in the selection. Draws one
--- line for each node. Highlights only visible lines, because extmarks for a long tree would be slow.
local compare = require("gemini-bridge.changes.page.compare")
local focus = require("gemini-bridge.editor.focus_and_mode")
local layout = require("gemini-bridge.changes.page.layout")
local scheduler = require("gemini-bridge.editor.scheduler")
local tree = require("gemini-bridge.changes.page.tree")

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

---@class gemini_bridge.Face
---@field icon string Character of one cell.
---@field icon_highlight string
---@field highlight? string Highlight group of the name.
---@field right? gemini_bridge.Words Words at the right edge.

---@alias gemini_bridge.Words [string, string][] Words with their highlights.

---@alias gemini_bridge.Span [integer, integer, string] First and last column (0-based, exclusive), and highlight.

--- Minimum widths of a file name and of a group title, in screen cells. With less room, the words at the right edge are
--- reduced to the last word or to none.
local MIN_NAME_CELLS, MIN_TITLE_CELLS = 9, 16
--- Maximum share of the window width for the columns at the right edge. Wider columns are not aligned.
local MAX_COLUMNS_SHARE = 0.5

local namespace = vim.api.nvim_create_namespace("gemini-bridge.changes.tree")

--- Highlights of each line, by buffer.
local spans_of = {} ---@type table<integer, gemini_bridge.Span[][]>

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
  spans_of[view.buf] = nil
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

---@param text string
---@return integer
local function cells(text)
  return text:find("[\128-\255]") and vim.fn.strdisplaywidth(text) or #text
end

---@param text string Text without control characters.
---@param width integer
---@return string
local function shorten(text, width)
  if cells(text) <= width then
    return text
  end
  return vim.fn.printf(("%%.%dS…"):format(math.max(width - cells("…"), 0)), text)
end

--- Returns the total width of words, with a blank before each word.
---@param words gemini_bridge.Words
---@return integer
local function width_of(words)
  local sum = 0
  for _, word in ipairs(words) do
    sum = sum + cells(word[1]) + 1
  end
  return sum
end

---@param columns integer[]
---@param words gemini_bridge.Words
---@return boolean is_wider
local function widen(columns, words)
  local is_wider = false
  for index, word in ipairs(words) do
    local column = #words - index + 1
    if cells(word[1]) > (columns[column] or 0) then
      columns[column], is_wider = cells(word[1]), true
    end
  end
  return is_wider
end

--- Returns true if columns leave enough room for names.
---@param columns integer[]
---@param width integer Width of the window in screen cells.
---@return boolean
local function are_narrow(columns, width)
  local sum = 0
  for _, column in ipairs(columns) do
    sum = sum + column + 1
  end
  return sum <= width * MAX_COLUMNS_SHARE
end

---@param words gemini_bridge.Words
---@param columns integer[]
---@return gemini_bridge.Words
local function align(words, columns)
  local padded = {}
  for index, word in ipairs(words) do
    local blanks = (" "):rep(columns[#words - index + 1] - cells(word[1]))
    padded[index] = { blanks .. word[1], word[2] }
  end
  return padded
end

---@param node gemini_bridge.Node
---@param face gemini_bridge.Face
---@param width integer
---@param columns integer[]
---@return string line, gemini_bridge.Span[] spans
local function draw(node, face, width, columns)
  local spans = {} ---@type gemini_bridge.Span[]
  local parts, length = { (" "):rep(node.depth) }, node.depth
  local function add(text, highlight)
    if highlight then
      spans[#spans + 1] = { length, length + #text, highlight }
    end
    parts[#parts + 1] = text
    length = length + #text
  end
  local room = width - node.depth - cells(face.icon .. " ")
  local name = node.name:find("%c") and vim.fn.strtrans(node.name) or node.name
  local right, name_cells = face.right or {}, cells(name)
  if are_narrow(columns, width) then
    right = align(right, columns)
  end
  local shortest = math.min(name_cells, node.kind == "group" and MIN_TITLE_CELLS or MIN_NAME_CELLS)
  if room - width_of(right) < shortest then
    right = { right[#right] }
  end
  if room - width_of(right) < shortest then
    right = {}
  end
  local right_cells = width_of(right)
  add(face.icon .. " ", face.icon_highlight)
  name = shorten(name, math.max(room - right_cells, 1))
  add(name, face.highlight)
  if #right > 0 then
    add((" "):rep(room - right_cells - cells(name)))
  end
  for _, word in ipairs(right) do
    add(" ")
    add(word[1], word[2])
  end
  return table.concat(parts), spans
end

vim.api.nvim_set_decoration_provider(namespace, {
  on_win = function(_, _, buf)
    return spans_of[buf] ~= nil
  end,
  on_line = function(_, _, buf, row)
    for _, span in ipairs(spans_of[buf][row + 1] or {}) do
      vim.api.nvim_buf_set_extmark(buf, namespace, row, span[1], {
        end_col = span[2],
        hl_group = span[3],
        ephemeral = true,
      })
    end
  end,
})

--- Draws all lines of the tree.
---@param view gemini_bridge.TreeView
---@param face fun(node: gemini_bridge.Node): gemini_bridge.Face
local function write(view, face)
  local width, columns, faces = vim.api.nvim_win_get_width(view.tree), {}, {}
  for index, node in ipairs(view.rows) do
    faces[index] = face(node)
    widen(columns, faces[index].right or {})
  end
  local lines, spans = {}, {}
  for index, node in ipairs(view.rows) do
    lines[index], spans[index] = draw(node, faces[index], width, columns)
  end
  spans_of[view.buf], view.columns = spans, columns
  vim.bo[view.buf].modifiable = true
  vim.api.nvim_buf_set_lines(view.buf, 0, -1, false, lines)
  vim.bo[view.buf].modifiable = false
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
  write(view, face)
  local found = wanted and find(view.rows, wanted)
  local same = found or here and find(view.rows, here)
  row = math.max(math.min(same and same.row or row, #view.rows), 1)
  local is_awaited = wanted and not found and not is_proposal(wanted)
  view.gone = is_awaited and { node = wanted, row = row } or nil
  vim.api.nvim_win_set_cursor(view.tree, { row, column })
end

--- Redraws the lines of some nodes. If a column becomes wider, redraws all lines.
---@param view gemini_bridge.TreeView
---@param nodes gemini_bridge.Node[]
---@param face fun(node: gemini_bridge.Node): gemini_bridge.Face
function M.patch(view, nodes, face)
  local width, fits = vim.api.nvim_win_get_width(view.tree), true
  vim.bo[view.buf].modifiable = true
  for _, node in ipairs(nodes) do
    local row = node.row
    if row then
      local seen = face(node)
      fits = not widen(view.columns, seen.right or {}) and fits
      local line
      line, spans_of[view.buf][row] = draw(node, seen, width, view.columns)
      vim.api.nvim_buf_set_text(view.buf, row - 1, 0, row - 1, -1, { line })
    end
  end
  vim.bo[view.buf].modifiable = false
  if not fits then
    write(view, face)
  end
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
