--- Keeps or undoes what the user has chosen on the page: a hunk, selected lines, files, a turn or all changes.
local go_to = require("gemini-bridge.changes.page.go_to")
local keep_and_undo = require("gemini-bridge.changes.keep_and_undo")
local hunks = require("gemini-bridge.difference.hunks")
local layout = require("gemini-bridge.changes.page.layout")
local notify = require("gemini-bridge.notify")
local page = require("gemini-bridge.changes.page.page")
local reviews = require("gemini-bridge.review.requests")
local signs = require("gemini-bridge.changes.signs")
local tree = require("gemini-bridge.changes.page.tree")
local tree_view = require("gemini-bridge.changes.page.tree_view")
local file_view = require("gemini-bridge.changes.page.file_view")

local M = {}

---@alias gemini_bridge.Verb "keep"|"undo"

--- Keeps or undoes changes, then goes to the next undecided hunk. The cursor stays if nothing was decided. Tells the
--- user if the choice is empty.
---@param shown gemini_bridge.Page
---@param verb gemini_bridge.Verb
---@param chosen? gemini_bridge.Chosen
---@param from? integer First line of the decided text. Default: the line of the cursor.
local function apply(shown, verb, chosen, from)
  if not chosen or #chosen.files == 0 then
    return notify("No unreviewed changes here.")
  end
  local act = verb == "keep" and keep_and_undo.keep_chosen or keep_and_undo.undo_chosen
  act(chosen, function(decided)
    if decided.path and page.get() == shown and not go_to.hunk(shown, 1, from and from - 1) then
      go_to.closed_group(shown)
    end
  end)
end

--- Returns the user's choice in the file: the selected lines, or the hunk at the cursor if nothing is selected. Tells
--- the user if there is no undecided change.
---@param shown gemini_bridge.Page
---@param lines? [integer, integer] First and last selected line.
---@return gemini_bridge.Chosen? chosen, integer? first First line of the chosen text.
local function choose_hunk(shown, lines)
  local file = page.item(shown) --[[@as gemini_bridge.PageFile?]]
  local change = file and file.change
  if not file or not change or not layout.shows_own(shown) then
    return notify("No unreviewed changes here.", "warn")
  elseif #change.hunks == 0 or change.status == "deleted" or file_view.is_notice(shown.right_buf) then
    return { files = { { path = file.path } } }
  end
  local buf = vim.api.nvim_win_get_buf(shown.right)
  if lines and vim.bo[buf].modified then
    return notify("Save the file before you decide on single lines.", "warn")
  end
  local line = vim.api.nvim_win_get_cursor(shown.right)[1]
  local first, last = unpack(lines or { line, line })
  local meant = hunks.overlapping(signs.list(buf), first, last)
  if #meant == 0 then
    return notify("No unreviewed changes here.", "warn")
  end
  local range = lines and { from = first, to = last } or nil
  local chosen = { files = { { path = file.path, hunks = signs.ids(buf, first, last), range = range } } }
  return chosen, lines and first or meant[1].first
end

--- Returns the undecided files of tree nodes, including all files below these nodes.
---@param nodes gemini_bridge.Node[]
---@return gemini_bridge.Chosen
function M.choose_nodes(nodes)
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
function M.turn_here(shown)
  if tree_view.has_focus(shown) then
    local file = tree.items(tree_view.nodes_at(shown))[1] --[[@as gemini_bridge.PageFile?]]
    return file and file.turn
  end
  local file = page.item(shown) --[[@as gemini_bridge.PageFile?]]
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
  local chosen = M.choose_nodes(nodes)
  if #chosen.files > 0 or not had_proposals then
    apply(shown, verb, chosen)
  end
end

--- Keeps or undoes the user's choice: the hunk at the cursor, the selected lines, or the selected nodes of the tree.
---@param shown gemini_bridge.Page
---@param verb gemini_bridge.Verb
function M.hunk(shown, verb)
  local lines = tree_view.selected()
  if tree_view.has_focus(shown) then
    local here = tree_view.nodes_at(shown)[1]
    if lines then
      return decide_nodes(shown, verb, tree_view.nodes_at(shown, lines))
    elseif here and not (here.item and here.item.id == shown.current) then
      return notify(
        "No hunk is under the cursor. On the line of a file: Enter shows the file, S keeps its changes, X undoes them.",
        "warn"
      )
    end
  end
  local chosen, first = choose_hunk(shown, lines)
  if chosen then
    apply(shown, verb, chosen, first)
  end
end

---@param shown gemini_bridge.Page
---@param verb gemini_bridge.Verb
function M.nodes(shown, verb)
  local lines = tree_view.selected()
  local is_in_tree = tree_view.has_focus(shown)
  local nodes = is_in_tree and tree_view.nodes_at(shown, lines) or { shown.by_id[shown.current] }
  decide_nodes(shown, verb, nodes)
end

---@param shown gemini_bridge.Page
---@param verb gemini_bridge.Verb
function M.turn(shown, verb)
  local turn = M.turn_here(shown)
  apply(shown, verb, turn and keep_and_undo.of_turn(turn))
end

---@param shown gemini_bridge.Page
---@param verb gemini_bridge.Verb
function M.all(shown, verb)
  apply(shown, verb, keep_and_undo.of_all())
end

--- Reverts the user's last decision, and goes to the first hunk that is undecided again.
---@param shown gemini_bridge.Page
function M.revert(shown)
  keep_and_undo.revert(function(decided)
    if not decided.path or page.get() ~= shown then
      return
    end
    page.draw(shown)
    local node = shown.by_id[decided.path]
    if not node then
      return
    end
    page.show(shown, node)
    local hunk = vim.iter(signs.list(shown.right_buf)):find(function(hunk)
      return hunk.id == decided.hunk
    end)
    if hunk then
      layout.go_to_line(shown, hunk.first)
    end
  end)
end

return M
