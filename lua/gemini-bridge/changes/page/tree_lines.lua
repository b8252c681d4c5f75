--- Draws the lines of a tree, one line for each node. Highlights only visible lines, because extmarks for a long tree
--- would be slow.
local M = {}

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
function M.write(view, face)
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
    M.write(view, face)
  end
end

--- Forgets the highlights of a tree.
---@param buf integer
function M.forget(buf)
  spans_of[buf] = nil
end

return M
