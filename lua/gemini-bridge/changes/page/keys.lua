--- Defines the keys of the review page.
local appearance = require("gemini-bridge.changes.page.appearance")
local compare = require("gemini-bridge.changes.page.compare")
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
local signs = require("gemini-bridge.changes.signs")
local tree = require("gemini-bridge.changes.page.tree")
local tree_view = require("gemini-bridge.changes.page.tree_view")
local file_view = require("gemini-bridge.changes.page.file_view")
local next_hunk = require("gemini-bridge.changes.page.next_hunk")

local M = {}

---@alias gemini_bridge.Verb "keep"|"undo"

--- Returns true if at least one chosen hunk can be undone. A hunk cannot be undone after the user has edited the hunk.
---@param chosen gemini_bridge.ChosenFile
---@return boolean
local function is_undoable(chosen)
  local file = files.get(chosen.path)
  local change = file and file.change
  if not change or change.fixed then
    return false
  end
  local meant = vim.tbl_filter(function(hunk)
    return not chosen.hunks or vim.list_contains(chosen.hunks, hunk.id)
  end, change.hunks)
  return #meant == 0 or vim.iter(meant):any(function(hunk)
    return not hunk.conflict
  end)
end

--- Keeps or undoes changes, then goes to the next undecided hunk. The cursor stays if none of the chosen hunks can be
--- undone. Tells the user if the choice is empty.
---@param shown gemini_bridge.Page
---@param verb gemini_bridge.Verb
---@param chosen? gemini_bridge.Chosen
---@param from? integer First selected line. nil for whole hunks. With selected lines, a part of a hunk may stay
--- undecided, so the cursor moves only after the host has answered.
local function apply(shown, verb, chosen, from)
  if not chosen or #chosen.files == 0 then
    return notify("No unreviewed changes here.")
  end
  local act = verb == "keep" and keep_and_undo.keep_chosen or keep_and_undo.undo_chosen
  act(chosen, function(sent)
    if verb == "undo" and not vim.iter(sent):any(is_undoable) then
      return
    end
    if from then
      -- After the Node host has confirmed the decision, `page` moves the cursor to the goal.
      local name = chosen.files[1].path
      next_hunk.note_decided({ { path = name, hunks = {} } })
      shown.goal = { path = name, line = from }
      return
    end
    next_hunk.note_decided(sent)
    if #sent > 0 then
      page.go_on(shown)
    end
  end)
end

--- Returns the user's choice in the file: the selected lines, or the hunk at the cursor if nothing is selected. Tells
--- the user if there is no undecided change.
---@param shown gemini_bridge.Page
---@param lines? [integer, integer] First and last selected line.
---@return gemini_bridge.Chosen?
local function choose_hunk(shown, lines)
  local file = shown.current and files.get(shown.current)
  local change = file and file.change
  if not file or not change or not layout.shows_own(shown) then
    return notify("No unreviewed changes here.", "warn")
  elseif #change.hunks == 0 or change.status == "deleted" or file_view.is_notice(shown.right) then
    return { files = { { path = file.path } } }
  end
  local buf = vim.api.nvim_win_get_buf(shown.right)
  if lines and vim.bo[buf].modified then
    return notify("Save the file before you decide on single lines.", "warn")
  end
  local line = vim.api.nvim_win_get_cursor(shown.right)[1]
  local first, last = unpack(lines or { line, line })
  local ids = signs.ids(buf, first, last)
  if #ids == 0 then
    return notify("No unreviewed changes here.", "warn")
  end
  local range = lines and { from = first, to = last } or nil
  return { files = { { path = file.path, hunks = ids, range = range } } }
end

--- Returns the undecided files of tree nodes, including all files below these nodes.
---@param nodes gemini_bridge.Node[]
---@return gemini_bridge.Chosen
local function choose_nodes(nodes)
  local chosen = {}
  for _, file in ipairs(tree.items(nodes)) do
    ---@cast file gemini_bridge.PageFile
    chosen[#chosen + 1] = file.change and { path = file.path } or nil
  end
  return { files = chosen }
end

--- Returns the turn under the cursor of the tree. If the tree has no focus, returns the turn of the shown file.
---@param shown gemini_bridge.Page
---@return number?
local function turn_here(shown)
  if tree_view.has_focus(shown) then
    local file = tree.items(tree_view.nodes_at(shown))[1] --[[@as gemini_bridge.PageFile?]]
    return file and file.turn
  end
  local file = shown.current and files.get(shown.current)
  return file and file.change and file.turn or nil
end

---@param nodes gemini_bridge.Node[]
---@param verb gemini_bridge.Verb
---@return boolean were_any
local function decide_proposals(nodes, verb)
  local any = false
  for _, file in ipairs(tree.items(nodes)) do
    ---@cast file gemini_bridge.PageFile
    if file.state == "proposed" then
      any = true
      reviews[verb == "keep" and "accept" or "reject"]({ path = file.path })
    end
  end
  return any
end

---@param shown gemini_bridge.Page
---@param verb gemini_bridge.Verb
---@param nodes gemini_bridge.Node[]
local function decide_nodes(shown, verb, nodes)
  local had_proposals = decide_proposals(nodes, verb)
  local chosen = choose_nodes(nodes)
  if #chosen.files > 0 or not had_proposals then
    apply(shown, verb, chosen)
  end
end

--- Keeps or undoes the user's choice: the hunk at the cursor, the selected lines, or the selected nodes of the tree.
---@param shown gemini_bridge.Page
---@param verb gemini_bridge.Verb
local function on_hunk(shown, verb)
  local lines = tree_view.selected()
  if tree_view.has_focus(shown) then
    local here = tree_view.nodes_at(shown)[1]
    if lines then
      return decide_nodes(shown, verb, tree_view.nodes_at(shown, lines))
    elseif here and not (here.item and here.item.path == shown.current) then
      return notify(
        "No hunk is under the cursor. On the line of a file: Enter shows the file, S keeps its changes, X undoes them.",
        "warn"
      )
    end
  end
  local chosen = choose_hunk(shown, lines)
  if chosen then
    apply(shown, verb, chosen, lines and lines[1])
  end
end

---@param shown gemini_bridge.Page
---@param verb gemini_bridge.Verb
local function on_nodes(shown, verb)
  local lines = tree_view.selected()
  local is_in_tree = tree_view.has_focus(shown)
  local nodes = is_in_tree and tree_view.nodes_at(shown, lines) or { page.current_node(shown) }
  decide_nodes(shown, verb, nodes)
end

---@param shown gemini_bridge.Page
---@param verb gemini_bridge.Verb
local function on_turn(shown, verb)
  local turn = turn_here(shown)
  apply(shown, verb, turn and keep_and_undo.of_turn(turn))
end

---@param shown gemini_bridge.Page
---@param verb gemini_bridge.Verb
local function on_all(shown, verb)
  apply(shown, verb, keep_and_undo.of_all())
end

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
  next_hunk.settle()
  for _ = 1, vim.v.count1 do
    if not page.go(shown, direction) then
      return tell_end(shown)
    end
  end
end

---@param shown gemini_bridge.Page
---@param direction 1|-1
local function step_file(shown, direction)
  next_hunk.settle()
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
  next_hunk.settle()
  shown.is_reverting = true
  keep_and_undo.revert()
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
  { "keep", on_hunk, "Keep the hunk or the selected lines", with = "keep", tree = "s", visual = true },
  { "undo", on_hunk, "Undo the hunk or the selected lines", with = "undo", tree = "x", visual = true },
  {
    "keep-file",
    on_nodes,
    "Keep the file, folder or turn",
    with = "keep",
    key = "<LocalLeader>S",
    tree = "S",
    visual = true,
  },
  {
    "undo-file",
    on_nodes,
    "Undo the file, folder or turn",
    with = "undo",
    key = "<LocalLeader>X",
    tree = "X",
    visual = true,
  },
  { "keep-turn", on_turn, "Keep the turn", with = "keep", tree = "gs" },
  { "undo-turn", on_turn, "Undo the turn", with = "undo", tree = "gx" },
  { "keep-all", on_all, "Keep all changes", with = "keep", tree = "gS" },
  { "undo-all", on_all, "Undo all changes", with = "undo", tree = "gX" },
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
      return tree_view.has_focus(shown) and choose_nodes(tree_view.nodes_at(shown, lines)) or nil
    end,
    turn = function()
      return turn_here(shown)
    end,
  })
end

--- Opens the review page or moves the focus to the page.
---@param name? string Path of a file to go to.
function M.open(name)
  page.open(attach, name)
end

return M
