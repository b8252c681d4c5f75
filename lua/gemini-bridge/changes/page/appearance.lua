--- Defines icons, highlights and counts for the tree on the review page.
local M = {}

---@type table<gemini_bridge.FileState, [string, string]>
local STATES = {
  undecided = { "●", "GeminiChangesChange" },
  kept = { "✓", "Comment" },
  undone = { "↺", "Comment" },
  changed = { "!", "GeminiChangesConflict" },
  proposed = { "?", "GeminiChangesConflict" },
}

--- Highlight groups for undecided files that were added or deleted.
---@type table<string, string>
local STATUS_HIGHLIGHTS = { added = "GeminiChangesAdd", deleted = "GeminiChangesDelete" }

--- Meaning of the icons. Shown below the list of keys.
---@type [string, string][]
M.LEGEND = {
  { "● ✓ ↺", "undecided, kept, undone" },
  { "!", "edited by you or others since, or cannot be undone" },
  { "?", "pending proposal" },
}

--- Returns the counts of a node. "+3 -1 2/5" means: 3 added lines and 1 removed line are undecided, and 2 of 5 hunks
--- are decided.
---@param node gemini_bridge.Node
---@return gemini_bridge.Words
local function counts(node)
  local hunks = { ("%d/%d"):format(node.decided, node.hunks), "Comment" }
  if node.decided == node.hunks then
    return { hunks }
  end
  return {
    { ("+%d"):format(node.added), "GeminiChangesAdd" },
    { ("-%d"):format(node.removed), "GeminiChangesDelete" },
    hunks,
  }
end

--- Returns the numbers of decided and all hunks, such as " 2/5", or an empty text if there are no hunks.
---@param nodes gemini_bridge.Node[]
---@return string
function M.sum(nodes)
  local decided, hunks = 0, 0
  for _, node in ipairs(nodes) do
    decided, hunks = decided + node.decided, hunks + node.hunks
  end
  return hunks > 0 and (" %d/%d"):format(decided, hunks) or ""
end

--- Returns the appearance of a folder or group in the tree.
---@param node gemini_bridge.Node
---@param right? gemini_bridge.Words Words at the right edge.
---@return gemini_bridge.Face
function M.folder(node, right)
  return {
    icon = node.is_open and "▾" or "▸",
    icon_highlight = "Comment",
    highlight = node.kind == "group" and "Title" or "Directory",
    right = right,
  }
end

---@param node gemini_bridge.Node
---@return gemini_bridge.Face
function M.of(node)
  local right = node.hunks > 0 and counts(node) or nil
  if node.kind ~= "file" then
    return M.folder(node, right)
  end
  local file = node.item --[[@as gemini_bridge.PageFile]]
  local icon, highlight = unpack(STATES[file.state])
  local is_decided = file.state == "kept" or file.state == "undone"
  return {
    icon = icon,
    icon_highlight = highlight,
    highlight = is_decided and "Comment" or file.change and STATUS_HIGHLIGHTS[file.change.status],
    right = right,
  }
end

return M
