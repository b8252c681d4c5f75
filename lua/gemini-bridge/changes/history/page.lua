--- Implements the page of `:GeminiHistory`. A tree at the left lists the proposals and changes of CLIs by turn. A
--- window at the right shows the entry under the cursor. The user can undo entries.
local compare = require("gemini-bridge.changes.page.compare")
local entries = require("gemini-bridge.changes.history.entries")
local focus = require("gemini-bridge.editor.focus_and_mode")
local groups = require("gemini-bridge.changes.history.groups")
local hunks = require("gemini-bridge.difference.hunks")
local keep_and_undo = require("gemini-bridge.changes.keep_and_undo")
local key_actions = require("gemini-bridge.editor.key_actions")
local keymap = require("gemini-bridge.changes.page.keymap")
local layout = require("gemini-bridge.changes.page.layout")
local notify = require("gemini-bridge.notify")
local path = require("gemini-bridge.disk.path")
local request = require("gemini-bridge.bridge.request")
local scheduler = require("gemini-bridge.editor.scheduler")
local signs = require("gemini-bridge.changes.signs")
local tree = require("gemini-bridge.changes.page.tree")
local tree_view = require("gemini-bridge.changes.page.tree_view")
local entry_view = require("gemini-bridge.changes.history.entry_view")
local winbar_text = require("gemini-bridge.editor.winbar_text")

local M = {}

local NAME = "gemini-page://history"

---@class gemini_bridge.HistoryPage: gemini_bridge.TreeView
---@field entries gemini_bridge.HistoryEntry[] Newest entry first.
---@field undone table<string, true> Ids of the entries that the user has undone on this page.
---@field current? gemini_bridge.HistoryEntry Entry shown at the right.
---@field texts? gemini_bridge.HistoryTexts Texts of the current entry. nil until the Node host has sent them.

local page ---@type gemini_bridge.HistoryPage?

---@return gemini_bridge.HistoryPage?
local function get()
  return page and tree_view.is_alive(page) and page or nil
end

---@param shown gemini_bridge.HistoryPage
local function draw(shown)
  tree_view.draw(shown, groups.of(shown.entries, shown.undone), groups.face)
  winbar_text.show(shown.tree, { { text = "History" }, key_actions.hints({ { "help", "keys" } }) })
  if shown.current and shown.texts and layout.shows_own(shown) then
    entry_view.set_bar(shown.right, shown.current, shown.texts)
  end
end

---@param shown gemini_bridge.HistoryPage
local function toggle_compare(shown)
  local texts = shown.texts
  if compare.is_open(shown.right) then
    compare.close(shown.right)
  elseif texts and not texts.problem and layout.shows_own(shown) then
    compare.show(shown.right, shown.current.path, texts.before)
  end
  if texts and layout.shows_own(shown) then
    entry_view.mark(shown.right, texts)
  end
end

--- Shows the current entry.
---@param shown gemini_bridge.HistoryPage
---@param texts gemini_bridge.HistoryTexts
local function show_texts(shown, texts)
  local was_compared = compare.is_open(shown.right)
  compare.close(shown.right)
  shown.texts = texts
  local buf = layout.fill(shown, function(win)
    return entry_view.show(win, shown.current, texts)
  end)
  if not buf then
    shown.current, shown.texts = nil, nil -- the user can select the entry again
    return
  end
  entry_view.set_bar(shown.right, shown.current, texts)
  if was_compared then
    toggle_compare(shown)
  end
end

--- Requests the texts of the current entry, and shows them if the entry is still the current one.
---@param shown gemini_bridge.HistoryPage
local function request_texts(shown)
  local entry = shown.current
  request.send("history_texts", { id = entry.id }, function(texts, problem)
    -- Waits for the next tick, so that the call from the Node host ends before windows change.
    scheduler.next(function()
      if get() == shown and shown.current == entry then
        show_texts(shown, texts or { before = {}, after = {}, problem = problem })
      end
    end)
  end)
end

---@param shown gemini_bridge.HistoryPage
---@param node gemini_bridge.Node
local function select(shown, node)
  vim.api.nvim_win_set_cursor(shown.tree, { node.row, 0 })
  local entry = node.item.entry --[[@as gemini_bridge.HistoryEntry]]
  if not shown.current or shown.current.id ~= entry.id then
    shown.current, shown.texts = entry, nil
    request_texts(shown)
  end
end

--- Goes to the next or previous history entry.
---@param shown gemini_bridge.HistoryPage
---@param direction 1|-1
local function step_entry(shown, direction)
  local row = vim.api.nvim_win_get_cursor(shown.tree)[1]
  repeat
    row = row + direction
  until not shown.rows[row] or shown.rows[row].item
  if shown.rows[row] then
    select(shown, shown.rows[row])
  else
    notify("No more entries.")
  end
end

--- Goes to the next or previous hunk. At the end of an entry, goes to the next entry.
---@param shown gemini_bridge.HistoryPage
---@param direction 1|-1
local function step(shown, direction)
  local found
  if shown.texts and layout.shows_own(shown) then
    found = hunks.next(signs.list(shown.right_buf), vim.api.nvim_win_get_cursor(shown.right)[1], direction)
  end
  if found then
    layout.go_to_line(shown, found.first)
  else
    step_entry(shown, direction)
  end
end

---@param shown gemini_bridge.HistoryPage
local function open_node(shown)
  local node = tree_view.nodes_at(shown)[1]
  if not node or not tree_view.has_focus(shown) then
    return
  elseif node.item then
    return tree_view.switch(shown)
  end
  shown.is_open[node.key] = not node.is_open
  draw(shown)
end

--- Returns the history entries at the cursor or in the selected lines, newest entry first.
---@param shown gemini_bridge.HistoryPage
---@param lines? [integer, integer] First and last selected line of the tree.
---@return gemini_bridge.HistoryEntry[]
local function meant(shown, lines)
  if not tree_view.has_focus(shown) then
    return { shown.current }
  end
  local ids = {}
  for _, item in ipairs(tree.items(tree_view.nodes_at(shown, lines))) do
    ids[item.entry.id] = true
  end
  return vim.tbl_filter(function(entry)
    return ids[entry.id]
  end, shown.entries)
end

--- Undoes the chosen history entries. The Node host leaves out lines that were edited later, and reports them.
---@param shown gemini_bridge.HistoryPage
---@param lines? [integer, integer] First and last selected line of the tree.
local function undo(shown, lines)
  local written = vim.tbl_filter(groups.was_written, meant(shown, lines))
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
    keep_and_undo.send("history_undo", { ids = ids }, function(undone)
      for _, id in ipairs(undone) do
        shown.undone[id] = true
      end
      if get() == shown then
        draw(shown)
      end
    end)
  end)
end

---@type gemini_bridge.KeyAction[]
local ACTIONS = {
  { "open", open_node, "Go to the text, open or close the folder", tree = "<CR>" },
  { "next", step, "Next hunk, in any entry", with = 1, tree = "<Tab>" },
  { "prev", step, "Previous hunk", with = -1, tree = "<S-Tab>" },
  { "next-file", step_entry, "Next entry", with = 1, key = "]f" },
  { "prev-file", step_entry, "Previous entry", with = -1, key = "[f" },
  {
    "undo",
    function(shown)
      undo(shown, tree_view.selected())
    end,
    "Undo the change, or all changes of the folder or turn",
    tree = "x",
    visual = true,
  },
  {
    "compare",
    toggle_compare,
    "Show or hide the earlier text side by side",
    key = "<LocalLeader>d",
    tree = "d",
  },
  { "switch", tree_view.switch, "Go to the text, or back to the tree", key = "<LocalLeader>t" },
  {
    "changes",
    function()
      vim.cmd.GeminiChanges()
    end,
    "Show the undecided changes",
    tree = "gh",
  },
  { "close", tree_view.close, "Close the page", key = "q" },
}

local keys = key_actions.define("gemini-history", ACTIONS, groups.legend, get)

---@return gemini_bridge.HistoryPage
local function create()
  local shown = tree_view.open(NAME, function()
    local shown = get()
    if shown then
      draw(shown)
    end
  end) --[[@as gemini_bridge.HistoryPage]]
  shown.entries, shown.undone = {}, {}
  page = shown
  vim.api.nvim_create_autocmd("CursorMoved", {
    group = shown.group,
    buffer = shown.buf,
    callback = function()
      local node = tree_view.has_focus(shown) and tree_view.nodes_at(shown)[1]
      if node and node.item then
        select(shown, node)
      end
    end,
  })
  shown.stops = {
    function()
      page = nil
    end,
    layout.follow(shown, function()
      return false
    end, function()
      compare.close(shown.right)
      shown.current, shown.texts = nil, nil
    end),
    keymap.attach(keys, shown, {
      undo = function(lines)
        undo(shown, lines)
      end,
    }),
  }
  return shown
end

--- Shows history entries on the page, or tells the user that there are none.
---@param found gemini_bridge.HistoryEntry[] Newest entry first.
---@param id? string Entry to go to. Default on a new page: the first entry of the tree.
local function show(found, id)
  if #found == 0 then
    return notify("No proposals or changes in the open directories in the last 24 hours.")
  end
  local opened = get()
  local is_new = opened == nil
  local shown = opened or create()
  shown.entries = found
  draw(shown)
  focus.go(shown.tree)
  if is_new then
    vim.bo[shown.buf].filetype = "gemini_history"
  end
  local node = vim.iter(shown.rows):find(function(row)
    return row.item and (id and row.item.entry.id == id or not id and is_new)
  end)
  if node then
    select(shown, node)
  end
end

--- Opens or reloads the history page and moves the focus to the page.
---@param id? string Id of an entry to go to.
function M.open(id)
  focus.end_visual()
  entries.ask(function(found, problem)
    if not found then
      return notify(("The history cannot be shown: %s."):format(problem), "warn")
    end
    scheduler.next(function()
      show(found, id)
    end)
  end)
end

return M
