--- Implements the tab for undecided changes and pending proposals, which `:GeminiChanges` shows on the page.
local appearance = require("gemini-bridge.changes.page.appearance")
local changes = require("gemini-bridge.changes.changes")
local channel = require("gemini-bridge.bridge.channel")
local decide = require("gemini-bridge.changes.page.decide")
local earlier_text = require("gemini-bridge.changes.page.earlier_text")
local file_view = require("gemini-bridge.changes.page.file_view")
local files = require("gemini-bridge.changes.page.files")
local focus = require("gemini-bridge.editor.focus_and_mode")
local go_to = require("gemini-bridge.changes.page.go_to")
local keep_and_undo = require("gemini-bridge.changes.keep_and_undo")
local key_actions = require("gemini-bridge.editor.key_actions")
local keys = require("gemini-bridge.changes.page.keys")
local layout = require("gemini-bridge.changes.page.layout")
local modified_event = require("gemini-bridge.editor.modified_event")
local notes = require("gemini-bridge.notes.notes")
local page = require("gemini-bridge.changes.page.page")
local path = require("gemini-bridge.disk.path")
local request = require("gemini-bridge.bridge.request")
local reviews = require("gemini-bridge.review.requests")
local scheduler = require("gemini-bridge.editor.scheduler")
local tree_view = require("gemini-bridge.changes.page.tree_view")

local M = {}

--- Minimum width of the path in a winbar. With less room, the winbar contains no key hints.
local MIN_PATH_CELLS = 30
--- Texts for undecided files that were created or deleted.
local STATUSES = { added = " (new)", deleted = " (deleted)" }

---@type gemini_bridge.PageTab
local TAB = {
  name = "changes",
  title = "Changes",
  hint = "gh history",
  groups = files.groups,
  face = appearance.of,
  nothing_left = "No unreviewed changes are left.",
  closed_left = "Only a closed group in the tree still has unreviewed changes. "
    .. "On its line: Enter opens the group, S keeps its changes, X undoes them.",
}

---@param file gemini_bridge.PageFile
function TAB.is_left(file)
  return file.change ~= nil
end

---@param file gemini_bridge.PageFile
---@param show fun(buf: integer)
function TAB.load(file, show)
  show(file_view.buffer(file))
end

---@param file gemini_bridge.PageFile
---@param take fun(lines?: string[], problem?: string)
function TAB.earlier(file, take)
  if file.change and file.change.status == "deleted" then
    return take(nil, "it is deleted")
  end
  request.send("earlier_text", { path = file.path }, function(found, problem)
    take(found and found.lines, problem or found.problem)
  end)
end

---@param file gemini_bridge.PageFile
---@return gemini_bridge.BarPart[]
function TAB.bar(file)
  local change = file.change
  local reason = change and (change.fixed or change.together)
  return {
    path.part(file.path, MIN_PATH_CELLS),
    { text = change and STATUSES[change.status] or "", rank = 4 },
    { text = (" · %d/%d"):format(file.decided, file.hunks), rank = 3 },
    { text = reason and " · " .. reason or "", rank = 2 },
    key_actions.hints({ { "next", "next" }, { "keep", "keep" }, { "undo", "undo" } }),
    key_actions.hints({ { "help", "keys" } }, 2),
  }
end

--- Goes to the review of a proposal, or loads a large file.
---@param shown gemini_bridge.Page
---@param file gemini_bridge.PageFile
---@return boolean is_done
function TAB.enter(shown, file)
  if file.state == "proposed" then
    reviews.review({ path = file.path })
    return true
  elseif shown.current == file.id and file_view.is_notice(shown.right_buf) and layout.shows_own(shown) then
    file_view.want(file.path)
    page.show(shown, shown.by_id[file.id])
    return true
  end
  return false
end

--- Asks the user for a note on the selected lines of the file or the line of the cursor.
---@param shown gemini_bridge.Page
local function note(shown)
  local lines = tree_view.selected()
  if tree_view.has_focus(shown) then
    lines = nil
    tree_view.switch(shown)
  end
  local line = vim.api.nvim_win_get_cursor(0)[1]
  notes.edit(lines or { line, line })
end

local function send_notes()
  vim.cmd.GeminiSend("--notes")
end

local function show_history()
  vim.cmd.GeminiHistory()
end

--- Returns an action that waits for the answers to earlier decisions, so that it acts on the next hunk even if the user
--- types fast.
---@param act fun(shown: gemini_bridge.Page, verb: gemini_bridge.Verb)
---@return fun(shown: gemini_bridge.Page, verb: gemini_bridge.Verb)
local function in_turn(act)
  return function(shown, verb)
    keep_and_undo.after_answers(function()
      if page.get(TAB) == shown then
        act(shown, verb)
      end
    end)
  end
end

local KEEP_FILE, UNDO_FILE = "Keep the file, folder or turn", "Undo the file, folder or turn"

local hunk, nodes = in_turn(decide.hunk), in_turn(decide.nodes)

local keymap = keys.define(TAB, {
  { "keep", hunk, "Keep the hunk or the selected lines", with = "keep", tree = "s", visual = true },
  { "undo", hunk, "Undo the hunk or the selected lines", with = "undo", tree = "x", visual = true },
  { "keep-file", nodes, KEEP_FILE, with = "keep", key = "<LocalLeader>S", tree = "S", visual = true },
  { "undo-file", nodes, UNDO_FILE, with = "undo", key = "<LocalLeader>X", tree = "X", visual = true },
  { "keep-turn", in_turn(decide.turn), "Keep the turn", with = "keep", tree = "gs" },
  { "undo-turn", in_turn(decide.turn), "Undo the turn", with = "undo", tree = "gx" },
  { "keep-all", in_turn(decide.all), "Keep all changes", with = "keep", tree = "gS" },
  { "undo-all", in_turn(decide.all), "Undo all changes", with = "undo", tree = "gX" },
  { "revert", in_turn(decide.revert), "Revert the last keep or undo", tree = "u" },
  { "note", note, "Write a note on the line or the selected lines", key = "<LocalLeader>n", visual = true },
  { "send-notes", send_notes, "Send all notes to the CLI", tree = "gn" },
  { "history", show_history, "Show the history", tree = "gh" },
}, appearance.LEGEND)

local function refresh()
  page.refresh(TAB)
end

---@param shown gemini_bridge.Page
---@return fun()[] stops
function TAB.opened(shown)
  files.reset()
  local group = shown.tab_group
  vim.api.nvim_create_autocmd("User", { group = group, pattern = "GeminiDiff*", callback = refresh })
  modified_event.listen({ group = group }, file_view.keep)
  return {
    function()
      scheduler.next(function()
        if not page.get(TAB) then
          file_view.clear()
        end
      end)
    end,
    changes.listen(function(name, change, decision)
      if not name then
        files.drop_undecided()
        return refresh()
      end
      files.update(name, change, decision)
      local item = page.item(shown)
      if item and item.path == name and layout.shows_own(shown) and path.buffer(name) == shown.right_buf then
        earlier_text.mark(shown, item)
      end
      refresh()
    end),
    keys.attach(keymap, shown, {
      chosen = function(lines)
        return tree_view.has_focus(shown) and decide.choose_nodes(tree_view.nodes_at(shown, lines)) or nil
      end,
      turn = function()
        return decide.turn_here(shown)
      end,
    }),
  }
end

--- Returns true if the page shows this tab.
---@return boolean
function M.is_open()
  return page.get(TAB) ~= nil
end

---@param shown gemini_bridge.Page
---@param node gemini_bridge.Node
local function show_with_focus(shown, node)
  page.show(shown, node)
  focus.go(shown.right)
end

--- Shows the undecided changes on the page.
---@param name? string Path of a file to go to.
function M.open(name)
  channel.notify("changes_refresh", vim.empty_dict())
  local shown, is_new = page.open(TAB)
  local wanted = name and shown.by_id[name]
  local is_single = #shown.list == 1 and vim.tbl_count(shown.by_id) == 1
  if wanted or is_new and is_single then
    show_with_focus(shown, wanted or shown.list[1])
  elseif is_new then
    -- Draws the tree first and shows the file later, because file type plugins may make loading slow.
    scheduler.next(function()
      if page.get(TAB) == shown and not shown.current then
        go_to.item(shown, 1)
      end
    end)
  end
end

return M
