--- Finds the next undecided hunk in the files of the review page.
local hunks = require("gemini-bridge.difference.hunks")
local signs = require("gemini-bridge.changes.signs")
local tree = require("gemini-bridge.changes.page.tree")

local M = {}

--- Ids of hunks with a decision that the Node host has not confirmed yet, by path. True stands for the whole file.
local pending = {} ---@type table<string, table<integer, true>|true>

--- Records decisions of the user, so that navigation skips the decided hunks.
---@param chosen gemini_bridge.ChosenFile[]
function M.note_decided(chosen)
  for _, file in ipairs(chosen) do
    local ids = pending[file.path]
    if not file.hunks then
      pending[file.path] = true
    elseif ids ~= true then
      pending[file.path] = ids or {}
      for _, id in ipairs(file.hunks) do
        pending[file.path][id] = true
      end
    end
  end
end

--- Drops the recorded decisions on a file after the Node host has confirmed them.
---@param name? string Path of the file. Default: all files.
---@return boolean was_pending True if decisions on this file were not confirmed before.
function M.settle(name)
  if not name then
    pending = {}
    return false
  end
  local was_pending = pending[name] ~= nil
  pending[name] = nil
  return was_pending
end

---@param file gemini_bridge.PageFile
---@param hunk gemini_bridge.ChangeHunk
---@return boolean
local function is_undecided(file, hunk)
  local ids = pending[file.path]
  return ids == nil or ids ~= true and not ids[hunk.id]
end

--- Returns true if a file has undecided hunks.
---@param file gemini_bridge.PageFile
---@return boolean
function M.is_left(file)
  local change = file.change
  if not change then
    return false
  elseif #change.hunks == 0 then
    return pending[file.path] == nil
  end
  return vim.iter(change.hunks):any(function(hunk)
    return is_undecided(file, hunk)
  end)
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

--- Returns the next or previous undecided hunk in a buffer.
---@param buf integer
---@param file gemini_bridge.PageFile
---@param line integer Line to start from, 1-based. 0 and math.huge start at the ends of the buffer.
---@param direction 1|-1
---@return gemini_bridge.PlacedChange?
function M.hunk(buf, file, line, direction)
  return hunks.next(signs.list(buf), line, direction, function(hunk)
    return is_undecided(file, hunk)
  end)
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
    if M.is_left(node.item) then
      return node, place < 1 or place > count
    end
  end
  return nil, false
end

return M
