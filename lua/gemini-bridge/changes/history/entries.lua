--- Requests the history from the Node host: all proposals and all changes that CLIs made without asking.
local request = require("gemini-bridge.bridge.request")

local M = {}

---@class gemini_bridge.HistoryTurn
---@field cli string Name of the CLI.
---@field prompt string Prompt of the turn. Empty if unknown.
---@field at integer Time of the last entry (Unix seconds).
---@field entries { path: string, kind: string, at: integer }[] Newest entry first.

local ANSWER_TIMEOUT_MS = 1000

--- Requests the history. Entries arrive newest first.
---@param take fun(entries?: gemini_bridge.HistoryEntry[], problem?: string) See `bridge.request`.
function M.ask(take)
  local directories = require("gemini-bridge.context.workspace").get().directories
  request.send("history", { directories = directories }, take)
end

--- Groups history entries by turn, newest turn first.
---@param entries gemini_bridge.HistoryEntry[] Newest entry first.
---@return gemini_bridge.HistoryEntry[][] turns
function M.by_turn(entries)
  local turns, known = {}, {}
  for _, entry in ipairs(entries) do
    local key = entry.cli .. entry.turn
    if not known[key] then
      known[key] = {}
      turns[#turns + 1] = known[key]
    end
    table.insert(known[key], entry)
  end
  return turns
end

--- Returns the history grouped by turn, newest turn first. Waits for the Node host, but at most one second.
---@return gemini_bridge.HistoryTurn[]? turns nil if the Node host does not run or does not answer.
function M.list()
  local found, is_answered
  M.ask(function(entries)
    found, is_answered = entries, true
  end)
  vim.wait(ANSWER_TIMEOUT_MS, function()
    return is_answered
  end, 5)
  return found
    and vim.tbl_map(function(turn)
      local entries = vim.tbl_map(function(entry)
        return { path = entry.path, kind = entry.kind, at = entry.at }
      end, turn)
      return { cli = turn[1].cli, prompt = turn[1].prompt, at = turn[1].at, entries = entries }
    end, M.by_turn(found))
end

return M
