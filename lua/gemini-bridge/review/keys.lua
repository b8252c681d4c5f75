--- Maps keys in the proposal buffer. Each action also has a <Plug> mapping, for users who set no key in the options.
local config = require("gemini-bridge.config")
local decision = require("gemini-bridge.review.decision")
local hunk_updates = require("gemini-bridge.review.hunk_updates")
local diff_hunks = require("gemini-bridge.review.diff_hunks")
local held_keys = require("gemini-bridge.editor.held_keys")
local hunks = require("gemini-bridge.difference.hunks")
local key_list = require("gemini-bridge.editor.key_list")
local notify = require("gemini-bridge.notify")

local M = {}

---@alias gemini_bridge.ReviewAction [string, string, fun()] Name in the option `keys`, description, and function.

--- Built-in commands that `g?` lists after the mapped keys.
---@type [string, string][]
local COMMANDS = {
  { ":w", "Accept the proposal as it stands" },
  { ":q", "Reject the proposal" },
  { "do, dp", "Get this hunk from the other side, or put it there" },
  { "u", "Undo an edit" },
}

---@param actions gemini_bridge.ReviewAction[]
---@return [string, string][]
local function key_rows(actions)
  local options, rows = config.get(), {}
  for _, action in ipairs(actions) do
    local key = options.keys[action[1]]
    if key then
      rows[#rows + 1] = { key_list.name(key), action[2] }
    end
  end
  for _, command in ipairs(COMMANDS) do
    if command[1] ~= ":w" or options.diff.write_accepts then
      rows[#rows + 1] = command
    end
  end
  return rows
end

---@param review gemini_bridge.Review
---@param hunk? gemini_bridge.ReviewHunk
local function go_to(review, hunk)
  if hunk then
    local last = vim.api.nvim_buf_line_count(review.buffers.proposal)
    vim.api.nvim_win_set_cursor(0, { math.min(hunk.first, last), 0 })
  end
end

---@param review gemini_bridge.Review
---@param direction 1|-1
local function step(review, direction)
  for _ = 1, vim.v.count1 do
    go_to(review, hunks.next(review.hunks, vim.fn.line("."), direction))
  end
end

--- Reverts the last keep or undo of a hunk.
---@param steps (fun(): boolean)[] Functions that each revert one action. The latest action comes last.
local function revert(steps)
  local last = table.remove(steps)
  if not last then
    notify("There is no keep or undo to revert. Press u to undo an edit.")
  elseif not last() then
    notify(
      "You have edited this hunk since you kept or undid it. Press u to undo your edits one by one.",
      "warn"
    )
  end
end

--- Returns the actions for a proposal in the order of the list that `g?` shows.
---@param review gemini_bridge.Review
---@return gemini_bridge.ReviewAction[]
local function actions_of(review)
  local proposal = review.buffers.proposal
  local steps = {} ---@type (fun(): boolean)[]

  --- Returns a function that applies an action to the hunk at the cursor, then moves the cursor to the next hunk.
  ---@param act fun(hunk: gemini_bridge.ReviewHunk): fun(): boolean Returns a function that reverts the action.
  local function on_hunk(act)
    return function()
      hunk_updates.update(review)
      local line = vim.fn.line(".")
      local hunk = hunks.overlapping(review.hunks, line, line)[1]
      if hunk then
        steps[#steps + 1] = act(hunk)
        hunk_updates.update(review)
        go_to(review, hunks.next(review.hunks, line, 1))
      end
    end
  end
  local function accept()
    decision.accept(review, "now")
  end
  local function reject()
    decision.reject(review, "now")
  end
  local function keep(hunk)
    return diff_hunks.keep(proposal, hunk)
  end
  local function undo(hunk)
    return diff_hunks.undo(review.buffers.original, proposal, hunk)
  end
  local function revert_last()
    revert(steps)
    hunk_updates.update(review)
  end
  local function next_hunk()
    step(review, 1)
  end
  local function previous_hunk()
    step(review, -1)
  end

  local actions = {
    { "accept", "Accept the proposal", accept },
    { "reject", "Reject the proposal", reject },
    { "keep", "Keep this hunk", on_hunk(keep) },
    { "undo", "Undo this hunk: restore the lines of the file", on_hunk(undo) },
    { "revert", "Revert the last keep or undo", revert_last },
    { "next", "Next hunk", next_hunk },
    { "prev", "Previous hunk", previous_hunk },
  }
  local function help()
    key_list.show(key_rows(actions))
  end
  actions[#actions + 1] = { "help", "Show these keys", help }
  return actions
end

--- Maps the keys for a review in its proposal buffer.
---@param review gemini_bridge.Review
function M.map(review)
  local buf = review.buffers.proposal
  for _, action in ipairs(actions_of(review)) do
    local name, desc, run = unpack(action)
    local plug = ("<Plug>(gemini-%s)"):format(name)
    vim.keymap.set("n", plug, run, { buffer = buf, desc = desc })
    local key = config.get().keys[name]
    if key then
      vim.keymap.set("n", key, plug, { buffer = buf, remap = true, desc = desc })
    end
  end
  vim.keymap.set("n", "ZZ", function()
    decision.accept_by_write(review, "now")
  end, { buffer = buf, desc = "Accept the proposal, like :x" })
end

--- Holds the keys of a review that scripts have not overridden by now. See `held_keys`.
---@param review gemini_bridge.Review
function M.hold(review)
  local buf = review.buffers.proposal
  local held = {} ---@type gemini_bridge.HeldKey[]
  vim.api.nvim_buf_call(buf, function()
    for name, key in pairs(config.get().keys) do
      local plug = ("<Plug>(gemini-%s)"):format(name)
      if key and vim.fn.maparg(key, "n") == plug then
        held[#held + 1] =
          { mode = "n", lhs = key, plug = plug, desc = vim.fn.maparg(key, "n", false, true).desc }
      end
    end
  end)
  table.insert(review.stops, held_keys.hold(buf, held))
end

return M
