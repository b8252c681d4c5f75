--- Stores the files on the review page. Files stay in the list after the user's decision, until the page closes.
local appearance = require("gemini-bridge.changes.page.appearance")
local changes = require("gemini-bridge.changes.changes")
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
---@field group string Key of the tree group for the turn.
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
  file.group = ("%s %.0f"):format(change.cli, change.turn)
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

--- Returns the tree group of a turn. Generated files form an inner group, unless the turn has no other files.
---@param key string
---@param listed gemini_bridge.PageFile[]
---@param has_several boolean True if the page lists several CLIs.
---@return gemini_bridge.TreeGroup
local function group_of(key, listed, has_several)
  local generated, others = {}, {}
  for _, file in ipairs(listed) do
    table.insert(file.is_generated and generated or others, file)
  end
  local file = listed[1]
  local name = appearance.turn_title(file.cli, file.prompt, file.turn, has_several)
  local group = { key = key, name = name, items = others }
  if #others == 0 then
    group.items = generated
  elseif #generated > 0 then
    local title = ("Generated files (%d)"):format(#generated)
    local inner = { key = key .. "\0generated", name = title, is_closed = true, is_flat = true }
    inner.items = generated
    group.groups = { inner }
  end
  return group
end

--- Returns the groups of the tree: pending proposals first, then turns from newest to oldest.
---@return gemini_bridge.TreeGroup[]
function M.groups()
  local by_turn, turns, clis = {}, {}, {}
  for _, name in ipairs(order) do
    local file = by_path[name]
    clis[file.cli] = true
    local key = file.group
    if not by_turn[key] then
      by_turn[key] = {}
      turns[#turns + 1] = { key = key, at = file.turn }
    end
    table.insert(by_turn[key], file)
  end
  table.sort(turns, function(a, b)
    return a.at > b.at or a.at == b.at and a.key < b.key
  end)
  local groups = vim.tbl_map(function(turn)
    return group_of(turn.key, by_turn[turn.key], vim.tbl_count(clis) > 1)
  end, turns)
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
