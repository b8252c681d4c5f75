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
  request.send(
    "history",
    { directories = require("gemini-bridge.context.workspace").get().directories },
    take
  )
end

--- Returns the history, newest entry first. Waits for the answer of the Node host, but at most one second.
---@return gemini_bridge.HistoryEntry[]? entries nil if the Node host does not run or does not answer.
function M.wait()
  local found, is_answered
  M.ask(function(entries)
    found, is_answered = entries, true
  end)
  vim.wait(ANSWER_TIMEOUT_MS, function()
    return is_answered
  end, 5)
  return found
end

--- Returns the history grouped by turn, newest turn first. Waits for the Node host, but at most one second.
---@return gemini_bridge.HistoryTurn[]? turns nil if the Node host does not run or does not answer.
function M.by_turn()
  local entries = M.wait()
  if not entries then
    return nil
  end
  local turns, known = {}, {}
  for _, entry in ipairs(entries) do
    local key = entry.cli .. entry.turn
    if not known[key] then
      known[key] = { cli = entry.cli, prompt = entry.prompt, at = entry.at, entries = {} }
      turns[#turns + 1] = known[key]
    end
    table.insert(known[key].entries, { path = entry.path, kind = entry.kind, at = entry.at })
  end
  return turns
end

return M
