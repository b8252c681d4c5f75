--- Keeping and undoing changes: by hunk, by file, or all of them.
local changes = require("gemini-bridge.changes.changes")
local channel = require("gemini-bridge.bridge.channel")
local notify = require("gemini-bridge.notify")
local past_diff = require("gemini-bridge.changes.past_diff")
local path = require("gemini-bridge.disk.path")
local signs = require("gemini-bridge.changes.signs")

local M = {}

---@class gemini_bridge.ChangeOptions
---@field path? string The whole of this file.
---@field file? boolean The whole of the current buffer's file.
---@field all? boolean All files.
---@field lines? [integer, integer] Hunks in these lines of the current buffer, 1-based. Without any: at the cursor.

---@alias gemini_bridge.ChosenFile { path: string, hunks?: integer[] }

--- The hunks in these lines of the current buffer.
---@param change gemini_bridge.Change
---@param first integer
---@param last integer
---@return gemini_bridge.ChosenFile[]? chosen nil for none.
local function hunks_in(change, first, last)
  local ids = {}
  for _, placed in ipairs(signs.list(vim.api.nvim_get_current_buf())) do
    if placed.first <= last and placed.last >= first then
      ids[#ids + 1] = placed.hunk.id
    end
  end
  return #ids > 0 and { { path = change.path, hunks = ids } } or nil
end

---@param opts gemini_bridge.ChangeOptions
---@return gemini_bridge.ChosenFile[]? chosen, string? problem
local function choose(opts)
  if opts.all then
    local all = vim.tbl_map(function(change)
      return { path = change.path }
    end, changes.all())
    return #all > 0 and all or nil, "No unreviewed changes."
  elseif opts.path then
    local change = changes.find(opts.path)
    return change and { { path = change.path } }, ("%s has no changes to keep or undo"):format(opts.path)
  end
  local change = changes.of_buffer(vim.api.nvim_get_current_buf())
  if not change then
    return nil, "No agent has changed this file, or it is kept"
  elseif opts.file or change.status == "deleted" then
    return { { path = change.path } }
  end
  local line = vim.api.nvim_win_get_cursor(0)[1]
  local first, last = unpack(opts.lines or { line, line })
  return hunks_in(change, first, last), "No change here: see :GeminiChanges, or go to the next one"
end

--- Has the host keep or undo changes. It tells the user the result in one message.
---@param event "changes_keep"|"changes_undo"
---@param files gemini_bridge.ChosenFile[]
---@param unsaved string[] Files that were left out because they have unsaved changes.
local function decide(event, files, unsaved)
  if not channel.notify(event, { files = files, unsaved = unsaved }) then
    notify("The bridge is not running: run :GeminiStart, then try again.", "warn")
  end
end

--- Keeps changes: what is marked now is the user's.
---@param opts gemini_bridge.ChangeOptions
function M.keep(opts)
  local chosen, problem = choose(opts)
  if not chosen then
    return notify(problem or "", "warn")
  end
  decide("changes_keep", chosen, {})
end

--- Undoes changes: the file gets back the bytes that it had, and its buffer follows, one undo step later. Where the
--- history is shown, what it shows.
---@param opts gemini_bridge.ChangeOptions
function M.undo(opts)
  if not opts.path and not opts.all and past_diff.take_back() then
    return
  end
  local chosen, problem = choose(opts)
  if not chosen then
    return notify(problem or "", "warn")
  end
  local saved, unsaved = {}, {} ---@type gemini_bridge.ChosenFile[], string[]
  for _, file in ipairs(chosen) do
    local buf = path.buffer(file.path)
    if buf and vim.bo[buf].modified then
      unsaved[#unsaved + 1] = file.path
    else
      saved[#saved + 1] = file
    end
  end
  decide("changes_undo", saved, unsaved)
end

return M
