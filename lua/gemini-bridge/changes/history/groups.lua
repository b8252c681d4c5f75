--- Groups history entries by turn for the tree on the history page. Defines icons and colors of the entries.
local appearance = require("gemini-bridge.changes.page.appearance")
local path = require("gemini-bridge.disk.path")

local M = {}

---@class gemini_bridge.HistoryItem: gemini_bridge.TreeItem
---@field entry gemini_bridge.HistoryEntry
---@field is_undone boolean True if the user has undone the entry on this page.

--- Icon, word and highlight group for each kind of history entry.
---@type table<string, [string, string, string]>
local KINDS = {
  written = { "●", "changed", "GeminiChangesChange" },
  accepted = { "✓", "accepted", "GeminiChangesAdd" },
  edited = { "✓", "edited", "GeminiChangesAdd" },
  rejected = { "✗", "rejected", "Comment" },
  proposed = { "?", "proposed", "Comment" },
}
local UNDONE = { "↺", "undone", "Comment" }

--- Meaning of the icons. Shown below the list of keys.
---@type [string, string][]
function M.legend()
  return {
    { "●", "changed without a review" },
    { "✓", "proposal: accepted, or edited and accepted" },
    { "✗ ?", "proposal: rejected, or not decided" },
    { "↺", "undone on this page" },
  }
end

--- Returns the word for a history entry, such as "accepted".
---@param entry gemini_bridge.HistoryEntry
---@return string
function M.kind(entry)
  return KINDS[entry.kind][2]
end

--- Returns true if the text of a history entry was written to the file. Other entries cannot be undone.
---@param entry gemini_bridge.HistoryEntry
---@return boolean
function M.was_written(entry)
  return entry.kind ~= "proposed" and entry.kind ~= "rejected"
end

--- Returns the groups of the history tree, newest group first.
---@param entries gemini_bridge.HistoryEntry[] Newest entry first.
---@param undone table<string, true> Ids of the entries that the user has undone.
---@return gemini_bridge.TreeGroup[]
function M.of(entries, undone)
  local groups, by_key, clis = {}, {}, {}
  for _, entry in ipairs(entries) do
    clis[entry.cli] = true
  end
  local has_several = vim.tbl_count(clis) > 1
  for index, entry in ipairs(entries) do
    local key = ("%s %.0f"):format(entry.cli, entry.turn)
    if not by_key[key] then
      local began = entry.turn > 0 and entry.turn or entry.at * 1000
      local name = appearance.turn_title(entry.cli, entry.prompt, began, has_several)
      by_key[key] = { key = key, name = name, items = {} }
      groups[#groups + 1] = by_key[key]
    end
    table.insert(by_key[key].items, {
      path = entry.path,
      relative = path.relative(entry.path),
      -- Sorts the entries of a file from oldest to newest, even within the same second.
      key = ("%08d %s"):format(#entries - index, entry.id),
      entry = entry,
      is_undone = undone[entry.id] == true,
    })
  end
  return groups
end

---@param node gemini_bridge.Node
---@return gemini_bridge.Face
function M.face(node)
  if node.kind ~= "file" then
    return appearance.folder(node)
  end
  local item = node.item --[[@as gemini_bridge.HistoryItem]]
  local icon, word, highlight = unpack(item.is_undone and UNDONE or KINDS[item.entry.kind])
  return {
    icon = icon,
    icon_highlight = highlight,
    highlight = highlight == "Comment" and "Comment" or nil,
    right = { { tostring(os.date("%H:%M", item.entry.at)), "Comment" }, { word, highlight } },
  }
end

return M
