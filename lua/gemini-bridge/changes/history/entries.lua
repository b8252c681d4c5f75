--- Requests the history from the Node host: all proposals and all changes that CLIs made without asking.
local channel = require("gemini-bridge.bridge.channel")

local M = {}

---@class gemini_bridge.HistoryTurn
---@field cli string Name of the CLI.
---@field prompt string Prompt of the turn. Empty if unknown.
---@field at integer Time of the last entry (Unix seconds).
---@field entries { path: string, kind: string, at: integer }[] Newest entry first.

local ANSWER_TIMEOUT_MS = 1000

--- Callbacks of requests that the Node host has not answered yet, by request id.
local asked = {} ---@type table<integer, fun(entries: gemini_bridge.HistoryEntry[])>
local last_question = 0

--- Requests the history. Entries arrive newest first.
---@param take fun(entries: gemini_bridge.HistoryEntry[]) Called with the answer.
---@return integer? question Id of the request. nil if the Node host does not run.
function M.ask(take)
  local directories = require("gemini-bridge.context.workspace").get().directories
  last_question = last_question + 1
  if channel.notify("history_asked", { id = last_question, directories = directories }) then
    asked[last_question] = take
    return last_question
  end
end

--- Handles the history that the Node host has sent.
---@param params gemini_bridge.calls.history_show
function M.answered(params)
  local take = asked[params.id]
  asked[params.id] = nil
  if take then
    take(params.entries)
  end
end

--- Returns the history, newest entry first. Waits for the answer of the Node host, but at most one second.
---@return gemini_bridge.HistoryEntry[]? entries nil if the Node host does not run or does not answer.
function M.wait()
  local found
  local question = M.ask(function(entries)
    found = entries
  end)
  if not question then
    return nil
  end
  vim.wait(ANSWER_TIMEOUT_MS, function()
    return found ~= nil
  end, 5)
  asked[question] = nil
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
