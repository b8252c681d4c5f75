--- Implements the tab for the history, which `:GeminiHistory` shows on the page: proposals and changes of CLIs by turn.
--- The text at the right follows the cursor of the tree. The user can undo entries.
local appearance = require("gemini-bridge.changes.page.appearance")
local entries = require("gemini-bridge.changes.history.entries")
local go_to = require("gemini-bridge.changes.page.go_to")
local group_by_turn = require("gemini-bridge.changes.group_by_turn")
local hunks = require("gemini-bridge.difference.hunks")
local keep_and_undo = require("gemini-bridge.changes.keep_and_undo")
local key_actions = require("gemini-bridge.editor.key_actions")
local keys = require("gemini-bridge.changes.page.keys")
local notify = require("gemini-bridge.notify")
local page = require("gemini-bridge.changes.page.page")
local path = require("gemini-bridge.disk.path")
local request = require("gemini-bridge.bridge.request")
local scheduler = require("gemini-bridge.editor.scheduler")
local signs = require("gemini-bridge.changes.signs")
local text_buffer = require("gemini-bridge.difference.text_buffer")
local tree = require("gemini-bridge.changes.page.tree")
local tree_view = require("gemini-bridge.changes.page.tree_view")

local M = {}

---@class gemini_bridge.HistoryItem: gemini_bridge.TreeItem
---@field entry gemini_bridge.HistoryEntry

---@class gemini_bridge.HistoryTexts: gemini_bridge.replies.history_texts
---@field problem? string Reason why the texts are not known.

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

---@type [string, string][]
local LEGEND = {
  { "●", "changed without a review" },
  { "✓", "proposal: accepted, or edited and accepted" },
  { "✗ ?", "proposal: rejected, or not decided" },
  { "↺", "undone on this page" },
}

local listed = {} ---@type gemini_bridge.HistoryEntry[] Newest entry first.
--- Ids of the entries that the user has undone since the tab was opened.
local undone = {} ---@type table<string, true>
--- Texts of the entry at the right.
local texts ---@type gemini_bridge.HistoryTexts?

---@type gemini_bridge.PageTab
local TAB = {
  name = "history",
  title = "History",
  hint = "gh changes",
  nothing_left = "There are no entries.",
  closed_left = "Only closed groups in the tree have entries. Enter opens a group.",
}

--- Returns true if the text of a history entry was written to the file. Other entries cannot be undone.
---@param entry gemini_bridge.HistoryEntry
---@return boolean
local function was_written(entry)
  return entry.kind ~= "proposed" and entry.kind ~= "rejected"
end

---@param found gemini_bridge.HistoryTexts
---@return boolean
local function is_deletion(found)
  return #found.after == 0 and #found.before > 0
end

function TAB.is_left()
  return true
end

--- Returns the groups of the tree, newest group first. The entries of a file are sorted from oldest to newest, even
--- within the same second.
---@param list? gemini_bridge.HistoryEntry[] Newest entry first. Default: the entries of the tab.
---@return gemini_bridge.TreeGroup[]
function TAB.groups(list)
  local groups = group_by_turn(list or listed)
  for _, group in ipairs(groups) do
    for index, entry in ipairs(group.items) do
      local key = ("%08d %s"):format(#group.items - index, entry.id)
      local relative = path.relative(entry.path)
      group.items[index] = { path = entry.path, relative = relative, id = entry.id, key = key, entry = entry }
    end
  end
  return groups
end

---@param node gemini_bridge.Node
---@return gemini_bridge.Face
function TAB.face(node)
  if node.kind ~= "file" then
    return appearance.folder(node)
  end
  local entry = node.item.entry --[[@as gemini_bridge.HistoryEntry]]
  local icon, word, highlight = unpack(undone[entry.id] and UNDONE or KINDS[entry.kind])
  return {
    icon = icon,
    icon_highlight = highlight,
    highlight = highlight == "Comment" and "Comment" or nil,
    right = { { tostring(os.date("%H:%M", entry.at)), "Comment" }, { word, highlight } },
  }
end

---@param item gemini_bridge.HistoryItem
---@return gemini_bridge.BarPart[]
function TAB.bar(item)
  local entry, hints = item.entry, { { "help", "keys" } }
  if was_written(entry) then
    table.insert(hints, 1, { "undo", "undo" })
  end
  return {
    path.part(entry.path),
    { text = " · " .. KINDS[entry.kind][2], rank = 5 },
    { text = texts and is_deletion(texts) and " (deleted)" or "", rank = 4 },
    { text = (" by %s at %s"):format(entry.cli, os.date("%H:%M:%S", entry.at)), rank = 2 },
    key_actions.hints(hints),
  }
end

--- Creates a buffer with the new text of an entry, with the old text of a deleted file, or with the reason why the
--- texts are not known.
---@param entry gemini_bridge.HistoryEntry
---@param found gemini_bridge.HistoryTexts
---@return integer buf
local function create_buffer(entry, found)
  local lines = is_deletion(found) and found.before or found.after
  if found.problem then
    lines = { (found.problem:gsub("^%l", string.upper)) }
  end
  local time = os.date("%H:%M:%S", entry.at)
  local name = ("gemini-history://%s %s (%s)"):format(path.display(entry.path), time, entry.id:sub(1, 8))
  local buf = text_buffer(name, lines, not found.problem and entry.path or nil)
  signs.place(buf, { hunks = is_deletion(found) and {} or hunks.compare(found.before, found.after) })
  return buf
end

---@param item gemini_bridge.HistoryItem
---@param show fun(buf: integer)
function TAB.load(item, show)
  request.send("history_texts", { id = item.id }, function(found, problem)
    -- Waits for the next tick, so that the call from the Node host ends before windows change.
    scheduler.next(function()
      local shown = page.get(TAB)
      if shown and shown.current == item.id then
        texts = found or { before = {}, after = {}, problem = problem }
        show(create_buffer(item.entry, texts))
      end
    end)
  end)
end

---@param take fun(lines?: string[], problem?: string)
function TAB.earlier(_, take)
  if texts then
    take(texts.before, texts.problem)
  end
end

--- Returns the history entries at the cursor or in the selected lines, newest entry first.
---@param shown gemini_bridge.Page
---@param lines? [integer, integer] First and last selected line of the tree.
---@return gemini_bridge.HistoryEntry[]
local function meant(shown, lines)
  local here = tree_view.has_focus(shown) and tree_view.nodes_at(shown, lines)
    or { shown.by_id[shown.current] }
  local ids = {}
  for _, item in ipairs(tree.items(here)) do
    ids[item.id] = true
  end
  return vim.tbl_filter(function(entry)
    return ids[entry.id]
  end, listed)
end

--- Undoes the chosen history entries. The Node host leaves out lines that were edited later, and reports them.
---@param shown gemini_bridge.Page
---@param lines? [integer, integer] First and last selected line of the tree.
local function undo(shown, lines)
  local written = vim.tbl_filter(was_written, meant(shown, lines))
  if #written == 0 then
    return notify("There is nothing to undo: this proposal was not written to the file.", "warn")
  end
  local ids, files = {}, {}
  for _, entry in ipairs(written) do
    local buf = path.buffer(entry.path)
    if buf and vim.bo[buf].modified then
      local name = path.display(entry.path, 40)
      return notify(("%s has unsaved changes: save or discard them first."):format(name), "warn")
    end
    ids[#ids + 1], files[entry.path] = entry.id, true
  end
  keep_and_undo.confirm(vim.tbl_count(files), function()
    keep_and_undo.send("history_undo", { ids = ids }, function(done)
      for _, id in ipairs(done) do
        undone[id] = true
      end
      page.refresh(TAB)
    end)
  end)
end

---@param shown gemini_bridge.Page
local function undo_selected(shown)
  undo(shown, tree_view.selected())
end

local function show_changes()
  vim.cmd.GeminiChanges()
end

local keymap = keys.define(TAB, {
  {
    "undo",
    undo_selected,
    "Undo the change, or all changes of the folder or turn",
    tree = "x",
    visual = true,
  },
  { "changes", show_changes, "Show the undecided changes", tree = "gh" },
}, LEGEND)

---@param shown gemini_bridge.Page
---@return fun()[] stops
function TAB.opened(shown)
  undone, texts = {}, nil
  vim.api.nvim_create_autocmd("CursorMoved", {
    group = shown.tab_group,
    buffer = shown.buf,
    callback = function()
      local node = tree_view.has_focus(shown) and tree_view.nodes_at(shown)[1]
      if node and node.item and node.item.id ~= shown.current then
        page.show(shown, node)
      end
    end,
  })
  return {
    keys.attach(keymap, shown, {
      undo = function(lines)
        undo(shown, lines)
      end,
    }),
  }
end

--- Shows history entries on the page, or tells the user that there are none.
---@param found gemini_bridge.HistoryEntry[] Newest entry first.
local function show(found)
  if #found == 0 then
    return notify("No proposals or changes in the open directories in the last 24 hours.")
  end
  listed = found
  local shown, is_new = page.open(TAB)
  if is_new then
    go_to.item(shown, 1)
  else
    page.draw(shown)
  end
end

--- Shows the history on the page, or reloads it.
function M.open()
  entries.ask(function(found, problem)
    if not found then
      return notify(("The history cannot be shown: %s."):format(problem), "warn")
    end
    scheduler.next(function()
      show(found)
    end)
  end)
end

M.groups = TAB.groups

return M
