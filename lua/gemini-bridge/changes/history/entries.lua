--- Requests the history from the Node host: all proposals and all changes that CLIs made without asking.
local group_by_turn = require("gemini-bridge.changes.group_by_turn")
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
    and vim.tbl_map(function(group)
      local newest = group.items[1]
      local listed = vim.tbl_map(function(entry)
        return { path = entry.path, kind = entry.kind, at = entry.at }
      end, group.items)
      return { cli = newest.cli, prompt = newest.prompt, at = newest.at, entries = listed }
    end, group_by_turn(found))
end

return M
