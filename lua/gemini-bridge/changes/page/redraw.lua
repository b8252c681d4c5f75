--- Draws the tree and the winbars of the review page.
local appearance = require("gemini-bridge.changes.page.appearance")
local files = require("gemini-bridge.changes.page.files")
local key_actions = require("gemini-bridge.editor.key_actions")
local layout = require("gemini-bridge.changes.page.layout")
local next_hunk = require("gemini-bridge.changes.page.next_hunk")
local path = require("gemini-bridge.disk.path")
local tree = require("gemini-bridge.changes.page.tree")
local tree_lines = require("gemini-bridge.changes.page.tree_lines")
local tree_view = require("gemini-bridge.changes.page.tree_view")
local winbar_text = require("gemini-bridge.editor.winbar_text")

local M = {}

--- Minimum width of the path in a winbar. With less room, the winbar contains no key hints.
local MIN_PATH_CELLS = 30
--- Texts for undecided files that were created or deleted.
local STATUSES = { added = " (new)", deleted = " (deleted)" }

--- Draws the winbars of both windows on the review page.
---@param shown gemini_bridge.Page
function M.bars(shown)
  local file = shown.current and files.get(shown.current)
  if layout.shows_own(shown) then
    winbar_text.show(shown.right, file and {
      path.part(file.path, MIN_PATH_CELLS),
      { text = file.change and STATUSES[file.change.status] or "", rank = 4 },
      { text = (" · %d/%d"):format(file.decided, file.hunks), rank = 3 },
      key_actions.hints({ { "next", "next" }, { "keep", "keep" }, { "undo", "undo" } }),
      key_actions.hints({ { "help", "keys" } }, 2),
    } or {})
  end
  local decided, hunks = 0, 0
  for _, node in ipairs(shown.nodes) do
    decided, hunks = decided + node.decided, hunks + node.hunks
  end
  winbar_text.show(shown.tree, {
    { text = ("Changes %d/%d"):format(decided, hunks) },
    { text = " · gh history", rank = 2 },
    key_actions.hints({ { "help", "keys" } }),
  })
end

--- Draws the whole tree. Keeps the cursor on the same node.
---@param shown gemini_bridge.Page
function M.all(shown)
  tree_view.draw(shown, files.groups(), appearance.of)
  shown.list, shown.by_path = next_hunk.list(shown.nodes), {}
  tree.each(shown.nodes, function(node)
    if node.item and node.item.state ~= "proposed" then
      shown.by_path[node.item.path] = node
    end
  end)
  M.bars(shown)
end

--- Redraws the lines of some files, and of the folders and groups that contain these files.
---@param shown gemini_bridge.Page
---@param names table<string, true> Paths of the files.
function M.files(shown, names)
  local touched = {} ---@type table<gemini_bridge.Node, true>
  for name in pairs(names) do
    for _, node in ipairs(tree.update(shown.by_path[name])) do
      touched[node] = true
    end
  end
  tree_lines.patch(shown, vim.tbl_keys(touched), appearance.of)
  M.bars(shown)
end

return M
