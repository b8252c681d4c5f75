--- Defines the keys of the review page.
local appearance = require("gemini-bridge.changes.page.appearance")
local compare = require("gemini-bridge.changes.page.compare")
local decide = require("gemini-bridge.changes.page.decide")
local keep_and_undo = require("gemini-bridge.changes.keep_and_undo")
local files = require("gemini-bridge.changes.page.files")
local key_actions = require("gemini-bridge.editor.key_actions")
local keymap = require("gemini-bridge.changes.page.keymap")
local layout = require("gemini-bridge.changes.page.layout")
local notes = require("gemini-bridge.notes.notes")
local notify = require("gemini-bridge.notify")
local focus = require("gemini-bridge.editor.focus_and_mode")
local page = require("gemini-bridge.changes.page.page")
local redraw = require("gemini-bridge.changes.page.redraw")
local reviews = require("gemini-bridge.review.requests")
local tree_view = require("gemini-bridge.changes.page.tree_view")
local file_view = require("gemini-bridge.changes.page.file_view")
local next_hunk = require("gemini-bridge.changes.page.next_hunk")

local M = {}

--- Tells the user that no undecided hunk is left, or that only closed groups contain undecided hunks.
---@param shown gemini_bridge.Page
local function tell_end(shown)
  if page.go_to_closed(shown) then
    notify(
      "Only a closed group in the tree still has unreviewed changes. "
        .. "On its line: Enter opens the group, S keeps its changes, X undoes them."
    )
  else
    notify("No unreviewed changes are left.")
  end
end

---@param shown gemini_bridge.Page
---@param direction 1|-1
local function step(shown, direction)
  for _ = 1, vim.v.count1 do
    if not page.go(shown, direction) then
      return tell_end(shown)
    end
  end
end

---@param shown gemini_bridge.Page
---@param direction 1|-1
local function step_file(shown, direction)
  local node = next_hunk.file(shown.list, page.current_node(shown), direction)
  if node then
    page.show(shown, node)
  else
    tell_end(shown)
  end
end

--- Shows the file under the cursor of the tree. Opens or closes a folder.
---@param shown gemini_bridge.Page
local function open_node(shown)
  local node = tree_view.nodes_at(shown)[1]
  local file = node and node.item --[[@as gemini_bridge.PageFile?]]
  if not node or not tree_view.has_focus(shown) then
    return
  elseif not file then
    shown.is_open[node.key] = not node.is_open
    redraw.all(shown)
  elseif file.state == "proposed" then
    reviews.review({ path = file.path })
  elseif shown.current ~= file.path or not layout.shows_own(shown) then
    page.show(shown, node)
  elseif file_view.is_notice(shown.right) then
    file_view.want(file.path)
    page.show(shown, node)
  else
    focus.go(shown.right)
  end
end

--- Shows or hides the earlier text beside the file.
---@param shown gemini_bridge.Page
local function toggle_compare(shown)
  local file = shown.current and files.get(shown.current)
  local change = layout.shows_own(shown) and file and file.change
  if layout.shows_own(shown) and compare.is_open(shown.right) then
    compare.close(shown.right)
  elseif file and change and change.status ~= "deleted" and not file_view.is_notice(shown.right) then
    compare.ask(shown.right, file.path)
  else
    return notify("There is no earlier text to compare with.", "warn")
  end
  file_view.mark(vim.api.nvim_win_get_buf(shown.right), shown.current or "", not compare.is_open(shown.right))
end

--- Reverts the user's last decision.
---@param shown gemini_bridge.Page
local function revert(shown)
  keep_and_undo.revert(function(decided)
    if decided.path and page.get() == shown then
      page.go_to_hunk(shown, decided.path, decided.hunk)
    end
  end)
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

---@type gemini_bridge.KeyAction[]
local ACTIONS = {
  { "open", open_node, "Show the file, open or close the folder", tree = "<CR>" },
  { "next", step, "Next undecided hunk, in any file", with = 1, tree = "<Tab>" },
  { "prev", step, "Previous undecided hunk", with = -1, tree = "<S-Tab>" },
  { "next-file", step_file, "Next file", with = 1, key = "]f" },
  { "prev-file", step_file, "Previous file", with = -1, key = "[f" },
  { "keep", decide.hunk, "Keep the hunk or the selected lines", with = "keep", tree = "s", visual = true },
  { "undo", decide.hunk, "Undo the hunk or the selected lines", with = "undo", tree = "x", visual = true },
  {
    "keep-file",
    decide.nodes,
    "Keep the file, folder or turn",
    with = "keep",
    key = "<LocalLeader>S",
    tree = "S",
    visual = true,
  },
  {
    "undo-file",
    decide.nodes,
    "Undo the file, folder or turn",
    with = "undo",
    key = "<LocalLeader>X",
    tree = "X",
    visual = true,
  },
  { "keep-turn", decide.turn, "Keep the turn", with = "keep", tree = "gs" },
  { "undo-turn", decide.turn, "Undo the turn", with = "undo", tree = "gx" },
  { "keep-all", decide.all, "Keep all changes", with = "keep", tree = "gS" },
  { "undo-all", decide.all, "Undo all changes", with = "undo", tree = "gX" },
  { "revert", revert, "Revert the last keep or undo", tree = "u" },
  {
    "compare",
    toggle_compare,
    "Show or hide the earlier text side by side",
    key = "<LocalLeader>d",
    tree = "d",
  },
  { "note", note, "Write a note on the line or the selected lines", key = "<LocalLeader>n", visual = true },
  { "send-notes", send_notes, "Send all notes to the CLI", tree = "gn" },
  { "switch", tree_view.switch, "Go to the file, or back to the tree", key = "<LocalLeader>t" },
  {
    "history",
    function()
      vim.cmd.GeminiHistory()
    end,
    "Show the history",
    tree = "gh",
  },
  { "close", tree_view.close, "Close the page", key = "q" },
}

local keys = key_actions.define("gemini-changes", ACTIONS, appearance.legend, function()
  local shown = page.get()
  if shown then
    page.ensure_shown(shown)
  end
  return shown
end)

---@param shown gemini_bridge.Page
---@return fun() detach
local function attach(shown)
  return keymap.attach(keys, shown, {
    chosen = function(lines)
      return tree_view.has_focus(shown) and decide.choose_nodes(tree_view.nodes_at(shown, lines)) or nil
    end,
    turn = function()
      return decide.turn_here(shown)
    end,
  })
end

--- Opens the review page or moves the focus to the page.
---@param name? string Path of a file to go to.
function M.open(name)
  page.open(attach, name)
end

return M
