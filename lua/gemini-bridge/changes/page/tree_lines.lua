--- Draws the lines of a tree, one line for each node. Highlights only visible lines, because extmarks for a long tree
--- would be slow.
local M = {}

---@class gemini_bridge.Face
---@field icon string Character of one cell.
---@field icon_highlight string
---@field highlight? string Highlight group of the name.
---@field right? gemini_bridge.Words ASCII words at the right edge.

---@alias gemini_bridge.Words [string, string][] Words with their highlights.

---@alias gemini_bridge.Span [integer, integer, string] First and last column (0-based, exclusive), and highlight.

--- Minimum widths of a file name and of a group title, in screen cells. With less room, the words at the right edge are
--- reduced to the last word or to none.
local MIN_NAME_CELLS, MIN_TITLE_CELLS = 9, 16
--- Width of an icon with the blank after the icon, in screen cells.
local ICON_CELLS = 2
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

--- Returns the widths of the columns at the right edge (screen cells), from right to left. Returns no widths if the
--- columns would leave too little room for names.
---@param faces gemini_bridge.Face[]
---@param width integer Width of the window in screen cells.
---@return integer[]
local function columns_of(faces, width)
  local columns, sum = {}, 0
  for _, face in ipairs(faces) do
    for index, word in ipairs(face.right or {}) do
      local column = #face.right - index + 1
      columns[column] = math.max(#word[1], columns[column] or 0)
    end
  end
  for _, column in ipairs(columns) do
    sum = sum + column + 1
  end
  return sum <= width * MAX_COLUMNS_SHARE and columns or {}
end

--- Returns the words that fit beside the name: all words, the last word, or none.
---@param face gemini_bridge.Face
---@param room integer
---@param columns integer[]
---@return string[] words A blank and the padded word, for each word.
---@return integer width
local function fitting(face, room, columns)
  local words, width = {}, 0
  for index, word in ipairs(face.right or {}) do
    words[index] = (" "):rep((columns[#face.right - index + 1] or 0) - #word[1] + 1) .. word[1]
    width = width + #words[index]
  end
  if width > room then
    words = { words[#words] }
    width = #words[1]
  end
  if width > room then
    return {}, 0
  end
  return words, width
end

---@param node gemini_bridge.Node
---@param face gemini_bridge.Face
---@param width integer
---@param columns integer[]
---@return string line, gemini_bridge.Span[] spans
local function draw(node, face, width, columns)
  local name = node.name:find("%c") and vim.fn.strtrans(node.name) or node.name
  local start, name_cells = (" "):rep(node.depth) .. face.icon .. " ", cells(name)
  local room = width - node.depth - ICON_CELLS
  local shortest = math.min(name_cells, node.kind == "group" and MIN_TITLE_CELLS or MIN_NAME_CELLS)
  local words, words_cells = fitting(face, room - shortest, columns)
  if name_cells > room - words_cells then
    name = shorten(name, math.max(room - words_cells, 1))
    name_cells = cells(name)
  end
  local line = start .. name
  local spans = { { node.depth, #start, face.icon_highlight } }
  if face.highlight then
    spans[2] = { #start, #line, face.highlight }
  end
  if #words > 0 then
    line = line .. (" "):rep(room - words_cells - name_cells)
  end
  local left = face.right and #face.right - #words or 0
  for index, word in ipairs(words) do
    spans[#spans + 1] = { #line, #line + #word, face.right[left + index][2] }
    line = line .. word
  end
  return line, spans
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
  local width, faces = vim.api.nvim_win_get_width(view.tree), vim.tbl_map(face, view.rows)
  local columns, lines, spans = columns_of(faces, width), {}, {}
  for index, node in ipairs(view.rows) do
    lines[index], spans[index] = draw(node, faces[index], width, columns)
  end
  spans_of[view.buf] = spans
  vim.bo[view.buf].modifiable = true
  vim.api.nvim_buf_set_lines(view.buf, 0, -1, false, lines)
  vim.bo[view.buf].modifiable = false
end

--- Forgets the highlights of a tree.
---@param buf integer
function M.forget(buf)
  spans_of[buf] = nil
end

return M
