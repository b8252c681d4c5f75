--- Maps keys in the proposal buffer. Each action also has a <Plug> mapping, for users who set no key in the options.
local config = require("gemini-bridge.config")
local decision = require("gemini-bridge.review.decision")
local hunk_updates = require("gemini-bridge.review.hunk_updates")
local diff_hunks = require("gemini-bridge.review.diff_hunks")
local go_to_line = require("gemini-bridge.difference.go_to_line")
local held_keys = require("gemini-bridge.editor.held_keys")
local hunks = require("gemini-bridge.difference.hunks")
local key_actions = require("gemini-bridge.editor.key_actions")
local notify = require("gemini-bridge.notify")
local records = require("gemini-bridge.review.records")

local M = {}

--- Returns the built-in commands that `g?` lists after the mapped keys.
---@return [string, string][]
local function commands()
  return {
    { config.get().diff.write_accepts and ":w" or ":GeminiAccept", "Accept the proposal as it stands" },
    { ":q", "Reject the proposal" },
    { "do, dp", "Get this hunk from the other side, or put it there" },
    { "u", "Undo an edit" },
  }
end

---@param hunk? gemini_bridge.ReviewHunk
local function go_to(hunk)
  if hunk then
    go_to_line(0, hunk.first)
  end
end

---@param review gemini_bridge.Review
---@param direction 1|-1
local function step(review, direction)
  for _ = 1, vim.v.count1 do
    go_to(hunks.next(review.hunks, vim.fn.line("."), direction))
  end
end

--- Keeps or undoes the hunk at the cursor, then moves the cursor to the next hunk.
---@param review gemini_bridge.Review
---@param verb "keep"|"undo"
local function on_hunk(review, verb)
  hunk_updates.update(review)
  local line = vim.fn.line(".")
  local hunk = hunks.overlapping(review.hunks, line, line)[1]
  if hunk then
    table.insert(review.reverts, diff_hunks[verb](review.buffers, hunk))
    hunk_updates.update(review)
    go_to(hunks.next(review.hunks, line, 1))
  end
end

--- Reverts the last keep or undo of a hunk.
---@param review gemini_bridge.Review
local function revert(review)
  local last = table.remove(review.reverts)
  if not last then
    notify("There is no keep or undo to revert. Press u to undo an edit.")
  elseif not last() then
    notify(
      "You have edited this hunk since you kept or undid it. Press u to undo your edits one by one.",
      "warn"
    )
  end
  hunk_updates.update(review)
end

---@type gemini_bridge.KeyAction[]
local ACTIONS = {
  { "accept", decision.accept, "Accept the proposal", with = "now" },
  { "reject", decision.reject, "Reject the proposal", with = "now" },
  { "keep", on_hunk, "Keep this hunk", with = "keep" },
  { "undo", on_hunk, "Undo this hunk: restore the lines of the file", with = "undo" },
  { "revert", revert, "Revert the last keep or undo" },
  { "next", step, "Next hunk", with = 1 },
  { "prev", step, "Previous hunk", with = -1 },
}

local keymap = key_actions.define("gemini", ACTIONS, commands, function()
  local buf = vim.api.nvim_get_current_buf()
  return vim.iter(records.pending()):find(function(review)
    return review.buffers and review.buffers.proposal == buf
  end)
end)

--- Maps the keys for a review in its proposal buffer.
---@param review gemini_bridge.Review
function M.map(review)
  local buf = review.buffers.proposal
  review.reverts = {}
  for _, key in ipairs(key_actions.keys(keymap)) do
    vim.keymap.set(key.mode, key.lhs, key.plug, { buffer = buf, remap = true, desc = key.desc })
  end
  vim.keymap.set("n", "ZZ", function()
    decision.accept_by_write(review, "now")
  end, { buffer = buf, desc = "Accept the proposal, like :x" })
end

--- Holds the keys of a review that scripts have not overridden by now. See `held_keys`.
---@param review gemini_bridge.Review
function M.hold(review)
  local buf = review.buffers.proposal
  local held = vim.api.nvim_buf_call(buf, function()
    return vim.tbl_filter(function(key)
      return vim.fn.maparg(key.lhs, key.mode) == key.plug
    end, key_actions.keys(keymap))
  end)
  table.insert(review.stops, held_keys.hold(buf, held))
end

return M
