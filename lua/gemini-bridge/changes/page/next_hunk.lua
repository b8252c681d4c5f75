--- Finds the next file with undecided hunks in the tree of the review page.
local tree = require("gemini-bridge.changes.page.tree")

local M = {}

--- Returns true if a file has undecided hunks.
---@param file gemini_bridge.PageFile
---@return boolean
local function is_left(file)
  return file.change ~= nil
end

--- Lists the files in the order of the tree. Skips files in closed groups, such as generated files.
---@param nodes gemini_bridge.Node[]
---@return gemini_bridge.Node[]
function M.list(nodes)
  local found = {}
  tree.each(nodes, function(node)
    found[#found + 1] = node.item and node or nil
    return node.is_open or node.kind ~= "group"
  end)
  return found
end

--- Returns the next or previous file with undecided hunks. Wraps around.
---@param list gemini_bridge.Node[]
---@param current? gemini_bridge.Node
---@param direction 1|-1
---@return gemini_bridge.Node? node, boolean is_wrapped
function M.file(list, current, direction)
  local count = #list
  local here = direction == 1 and 0 or count + 1
  for place, node in ipairs(list) do
    here = node == current and place or here
  end
  for step = 1, count do
    local place = here + step * direction
    local node = list[(place - 1) % count + 1]
    if is_left(node.item) then
      return node, place < 1 or place > count
    end
  end
  return nil, false
end

return M
