--- Finds the next undecided hunk in the files of the review page.
local signs = require("gemini-bridge.changes.signs")
local tree = require("gemini-bridge.changes.page.tree")

local M = {}

--- Decisions that the host has not confirmed yet, by path: the ids of the hunks, or true for a whole file.
local pending = {} ---@type table<string, table<integer, true>|true>

--- Records a decision, so that navigation skips these hunks.
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

--- Handles the host's answer to the decisions on a file.
---@param name? string Path of the file. Default: drops all decisions that have no answer.
---@return boolean was_pending Whether a decision on the file had no answer yet.
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

--- Whether a file has undecided hunks.
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

--- Lists the files in the order of the tree. Skips closed groups, such as generated files.
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
---@param line integer 1-based. 0 or math.huge to start at an end.
---@param direction 1|-1
---@return gemini_bridge.PlacedHunk?
function M.hunk(buf, file, line, direction)
  return signs.next(buf, line, direction, function(hunk)
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
