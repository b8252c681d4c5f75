--- Moves the cursor to the next or previous hunk or item of the page.
local hunks = require("gemini-bridge.difference.hunks")
local layout = require("gemini-bridge.changes.page.layout")
local notify = require("gemini-bridge.notify")
local page = require("gemini-bridge.changes.page.page")
local signs = require("gemini-bridge.changes.signs")
local tree = require("gemini-bridge.changes.page.tree")

local M = {}

--- Goes to the next or previous item. Skips decided files. Wraps around, and tells the user.
---@param shown gemini_bridge.Page
---@param direction 1|-1
---@param hunk? 1|-1 Goes to the first hunk (1, the default) or to the last hunk (-1).
---@return boolean found
function M.item(shown, direction, hunk)
  local list, here = shown.list, direction == 1 and 0 or #shown.list + 1
  for place, node in ipairs(list) do
    here = node.item.id and node.item.id == shown.current and place or here
  end
  for step = 1, #list do
    local place = here + step * direction
    local node = list[(place - 1) % #list + 1]
    if shown.tab.is_left(node.item) then
      if (place < 1 or place > #list) and node.item.id ~= shown.current then
        notify(
          direction == 1 and "There are no further changes: continued at the first one."
            or "There are no earlier changes: continued at the last one."
        )
      end
      page.show(shown, node, hunk)
      return true
    end
  end
  return false
end

--- Goes to the next or previous hunk. At the end of the text, goes to another item.
---@param shown gemini_bridge.Page
---@param direction 1|-1
---@param from? integer Line to start from. Default: the line of the cursor.
---@return boolean found
function M.hunk(shown, direction, from)
  if shown.current and layout.shows_own(shown) then
    local line = from or vim.api.nvim_win_get_cursor(shown.right)[1]
    local hunk = hunks.next(signs.list(shown.right_buf), line, direction)
    if hunk then
      layout.go_to_line(shown, hunk.first)
      return true
    end
  end
  return M.item(shown, direction, direction)
end

--- Moves the cursor of the tree to a closed group with items that are left.
---@param shown gemini_bridge.Page
---@return boolean found
function M.closed_group(shown)
  local left = vim.iter(shown.rows):find(function(node)
    return node.kind == "group" and not node.is_open and vim.iter(tree.items({ node })):any(shown.tab.is_left)
  end)
  if left then
    vim.api.nvim_win_set_cursor(shown.tree, { left.row, 0 })
  end
  return left ~= nil
end

return M
