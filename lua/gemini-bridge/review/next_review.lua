--- After the user has decided inside a proposal, moves the focus to the next review.
local config = require("gemini-bridge.config")
local records = require("gemini-bridge.review.records")
local screen = require("gemini-bridge.review.screen")
local status = require("gemini-bridge.bridge.status")

local M = {}

local keys = vim.api.nvim_create_namespace("gemini-bridge.series")

--- Set while the next proposal of a CLI is expected, that is, after a decision if no other review is pending. Contains
--- the window and buffer where the user was after the decision, and the keys that are disabled in that buffer.
---@type { client: string, win: integer, buf: integer, mapped: string[] }?
local expected

--- Stops waiting for the next review: when it opens, the focus does not move to it.
local function stop()
  vim.on_key(nil, keys)
  for _, key in ipairs(expected and expected.mapped or {}) do
    pcall(vim.keymap.del, "n", key, { buffer = expected.buf })
  end
  expected = nil
end

--- Stops waiting for a review if the user presses a key other than the disabled ones.
---@param typed string
local function on_key(_, typed)
  local is_disabled = vim.iter(expected.mapped):any(function(key)
    return typed == vim.api.nvim_replace_termcodes(key, true, true, true)
  end)
  if not is_disabled then
    stop()
  end
end

--- Disables the keys that accept and reject if the buffer is a terminal. Without this, if the user typed "\a" before
--- the next proposal appeared, the "a" would start Terminal mode, and all further keys would go to the CLI.
---@param buf integer The current buffer.
---@return string[] mapped
local function disable_keys(buf)
  local mapped = {}
  if vim.bo[buf].buftype ~= "terminal" then
    return mapped
  end
  for _, name in ipairs({ "accept", "reject" }) do
    local key = config.get().diff.keys[name]
    if key and vim.fn.maparg(key, "n", false, true).buffer ~= 1 then
      -- <Ignore> instead of <Nop>, because after <Nop> Neovim would wait for another key, and show nothing meanwhile.
      vim.keymap.set("n", key, "<Ignore>", { buffer = buf, desc = "No pending proposal" })
      mapped[#mapped + 1] = key
    end
  end
  return mapped
end

--- Waits for the next review of a CLI, until the user presses a key.
---@param client string
local function expect(client)
  stop()
  local win, buf = vim.api.nvim_get_current_win(), vim.api.nvim_get_current_buf()
  expected = { client = client, win = win, buf = buf, mapped = disable_keys(buf) }
  vim.on_key(on_key, keys)
end

--- Moves the focus to the next review that is not parked. If there is none, waits for the next one from the same CLI.
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

--- Moves the focus to a new review if it follows the last decision: it comes from the same CLI, in the same turn, and
--- before the user has pressed another key. The focus does not move for a CLI without hooks, because its turns are
--- unknown.
---@param review gemini_bridge.Review
function M.take(review)
  local last = expected
  if not last or last.client ~= review.client or last.win ~= vim.api.nvim_get_current_win() then
    return
  end
  stop()
  local is_same_turn = vim.iter(status.get().clients):any(function(client)
    return (client.terminal or client.name) == review.client and client.activity ~= "idle"
  end)
  if is_same_turn then
    screen.enter(review)
  end
end

return M
