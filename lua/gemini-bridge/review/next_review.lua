--- Moves the focus to the next review after the user has decided inside a proposal.
local config = require("gemini-bridge.config")
local records = require("gemini-bridge.review.records")
local screen = require("gemini-bridge.review.screen")
local status = require("gemini-bridge.bridge.status")

local M = {}

local keys = vim.api.nvim_create_namespace("gemini-bridge.series")

--- Set while the plugin waits for the next proposal of a CLI after a decision. The wait ends when the proposal opens or
--- the user presses a key. `mapped` lists the keys that are disabled in the buffer with the focus.
---@type { client: string, win: integer, buf: integer, mapped: string[] }?
local expected

--- Stops waiting for the next review. When a review opens later, the focus does not move.
local function stop()
  vim.on_key(nil, keys)
  for _, key in ipairs(expected and expected.mapped or {}) do
    pcall(vim.keymap.del, "n", key, { buffer = expected.buf })
  end
  expected = nil
end

--- Stops waiting for the next review when the user presses a key that is not disabled.
---@param typed string
local function on_key(_, typed)
  local is_disabled = vim.iter(expected.mapped):any(function(key)
    return typed == vim.api.nvim_replace_termcodes(key, true, true, true)
  end)
  if not is_disabled then
    stop()
  end
end

--- In a terminal buffer, disables the keys that accept and reject proposals. If the user typed "\a" before the next
--- proposal opened, the "a" would otherwise start Terminal mode, and later keys would reach the CLI.
---@param buf integer Buffer with the focus.
---@return string[] mapped
local function disable_keys(buf)
  local mapped = {}
  if vim.bo[buf].buftype ~= "terminal" then
    return mapped
  end
  for _, name in ipairs({ "accept", "reject" }) do
    local key = config.get().keys[name]
    if key and vim.fn.maparg(key, "n", false, true).buffer ~= 1 then
      -- <Ignore> ends the mapping at once. After <Nop>, Neovim would wait for another key.
      vim.keymap.set("n", key, "<Ignore>", { buffer = buf, desc = "No pending proposal" })
      mapped[#mapped + 1] = key
    end
  end
  return mapped
end

--- Waits for the next review of a CLI until the user presses a key.
---@param client string
local function expect(client)
  stop()
  local win, buf = vim.api.nvim_get_current_win(), vim.api.nvim_get_current_buf()
  expected = { client = client, win = win, buf = buf, mapped = disable_keys(buf) }
  vim.on_key(on_key, keys)
end

--- Moves the focus to the next review that is shown or waiting. If there is none, waits for the next review of the same
--- CLI.
---@param decided gemini_bridge.Review
function M.continue(decided)
  local first, next_one
  for _, review in ipairs(records.pending()) do
    if review.state ~= "parked" then
      first = first or review
      next_one = next_one or review.id > decided.id and review or nil
    end
  end
  if first then
    screen.enter(next_one or first)
  else
    expect(decided.client)
  end
end

--- Moves the focus to a new review that directly follows the user's decision: the CLI is the same, its turn has not
--- ended, and the user has pressed no key. Ignores CLIs without hooks, because only hooks report the end of a turn.
---@param review gemini_bridge.Review
function M.take(review)
  local last = expected
  if not last or last.client ~= review.client or last.win ~= vim.api.nvim_get_current_win() then
    return
  end
  stop()
  local is_same_turn = vim.iter(status.get().clients):any(function(client)
    return (client.terminal or client.name) == review.client and client.turn
  end)
  if is_same_turn then
    screen.enter(review)
  end
end

return M
