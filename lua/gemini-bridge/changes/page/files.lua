--- Stores the files on the review page. Files stay in the list after the user's decision, until the page closes.
local changes = require("gemini-bridge.changes.changes")
local group_by_turn = require("gemini-bridge.changes.group_by_turn")
local path = require("gemini-bridge.disk.path")
local patterns = require("gemini-bridge.config.patterns")
local reviews = require("gemini-bridge.review.requests")

local M = {}

---@alias gemini_bridge.FileState "undecided"|"kept"|"undone"|"changed"|"proposed"

---@class gemini_bridge.PageFile: gemini_bridge.TreeItem
---@field state gemini_bridge.FileState "changed": others have edited the file, or it cannot be undone.
---@field change? gemini_bridge.Change nil if the user has decided all hunks.
---@field turn number Start of the turn (Unix milliseconds).
---@field cli string
---@field prompt string Prompt of the turn. Empty if unknown.
---@field is_generated boolean True if the path matches `GENERATED`.

--- Patterns, as in a `.gitignore`, of generated files.
-- stylua: ignore
local GENERATED = {
  "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb", "Cargo.lock",
  "Gemfile.lock", "composer.lock", "poetry.lock", "uv.lock", "Pipfile.lock", "flake.lock", "go.sum", "*.min.js",
  "*.min.css", "*.map", "*.snap", "*.pb.go", "*_pb2.py", "*.generated.*", "__generated__/",
}

local by_path = {} ---@type table<string, gemini_bridge.PageFile>
local order = {} ---@type string[]
--- Directory to which all paths on the page are relative: the current directory when the page was opened. With |:lcd|
--- or 'autochdir', the current directory may change while the page is open.
local directory ---@type string

---@param change gemini_bridge.Change
---@return gemini_bridge.FileState
local function state_of(change)
  local is_changed = change.fixed
    or change.together
    or vim.iter(change.hunks):any(function(hunk)
      return hunk.conflict
    end)
  return is_changed and "changed" or "undecided"
end

---@param name string
---@return gemini_bridge.PageFile
local function create(name)
  local relative = path.relative(name, directory)
  local file = { path = name, id = name, relative = relative } ---@type gemini_bridge.PageFile
  file.is_generated = patterns.match(GENERATED, relative)
  by_path[name] = file
  order[#order + 1] = name
  return file
end

--- Updates a file after a report about its changes.
---@param name string
---@param change? gemini_bridge.Change
---@param decision? "kept"|"undone"
function M.update(name, change, decision)
  local file = by_path[name]
  if not change then
    if file then
      file.change, file.state = nil, decision or "kept"
      file.added, file.removed, file.decided = 0, 0, file.hunks
    end
    return
  end
  file = file or create(name)
  file.change, file.state = change, state_of(change)
  file.turn, file.cli, file.prompt = change.turn, change.cli, change.prompt
  file.added, file.removed = change.added, change.removed
  file.decided = change.decided
  -- Counts a file without hunks as one hunk, because the user decides on the whole file. An example is an empty new
  -- file.
  file.hunks = file.decided + math.max(#change.hunks, 1)
end

--- Loads all current changes. Drops files that the user has already decided.
function M.reset()
  by_path, order, directory = {}, {}, vim.fn.getcwd()
  for _, change in ipairs(changes.all()) do
    M.update(change.path, change)
  end
end

--- Drops undecided files after the Node host has ended, or before the host reports all changes again.
function M.drop_undecided()
  order = vim.tbl_filter(function(name)
    local is_decided = by_path[name].change == nil
    by_path[name] = is_decided and by_path[name] or nil
    return is_decided
  end, order)
end

---@param name string
---@return gemini_bridge.PageFile?
function M.get(name)
  return by_path[name]
end

--- Moves the generated files of a turn to an inner group, unless the turn has no other files.
---@param group gemini_bridge.TreeGroup
local function fold_generated(group)
  local generated, others = {}, {}
  for _, file in ipairs(group.items) do
    table.insert(file.is_generated and generated or others, file)
  end
  if #others > 0 and #generated > 0 then
    local inner = { key = group.key .. "\0generated", is_closed = true, is_flat = true, items = generated }
    inner.name = ("Generated files (%d)"):format(#generated)
    group.items, group.groups = others, { inner }
  end
end

--- Returns the groups of the tree: pending proposals first, then turns from newest to oldest.
---@return gemini_bridge.TreeGroup[]
function M.groups()
  local groups = group_by_turn(vim.tbl_map(M.get, order))
  table.sort(groups, function(a, b)
    local first, second = a.items[1].turn, b.items[1].turn
    return first > second or first == second and a.key < b.key
  end)
  vim.iter(groups):each(fold_generated)
  local proposed = vim.tbl_map(function(diff)
    local relative = path.relative(diff.filePath, directory)
    return { path = diff.filePath, relative = relative, state = "proposed" }
  end, reviews.list())
  if #proposed > 0 then
    table.insert(groups, 1, { key = "proposed", name = "Proposals", items = proposed })
  end
  return groups
end

return M
