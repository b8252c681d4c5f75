--- Implements `:GeminiHistory`: lets the user choose a proposal or change, and shows it as a diff.
local channel = require("gemini-bridge.bridge.channel")
local notify = require("gemini-bridge.notify")
local path = require("gemini-bridge.disk.path")
local scheduler = require("gemini-bridge.editor.scheduler")

local M = {}

---@class gemini_bridge.HistoryTurn
---@field cli string Name of the profile.
---@field prompt string Empty if unknown.
---@field at integer Time of the last entry (Unix seconds).
---@field entries { path: string, kind: string, at: integer }[] Newest first.

--- Timeout for the host's answer.
local ANSWER_TIMEOUT_MS = 1000

--- Callbacks that wait for an answer, by number of the question.
local asked = {} ---@type table<integer, fun(entries: gemini_bridge.HistoryEntry[])>
local last_question = 0

--- Asks the host for the history.
---@param take fun(entries: gemini_bridge.HistoryEntry[])
---@return integer? question nil if there is no host.
local function ask(take)
  local directories = require("gemini-bridge.context.workspace").get().directories
  last_question = last_question + 1
  if channel.notify("history_asked", { id = last_question, directories = directories }) then
    asked[last_question] = take
    return last_question
  end
end

--- Handles the host's answer.
---@param params gemini_bridge.calls.history_show
function M.answered(params)
  local take = asked[params.id]
  asked[params.id] = nil
  if take then
    take(params.entries)
  end
end

---@param entries gemini_bridge.HistoryEntry[]
---@return gemini_bridge.HistoryTurn[]
local function by_turn(entries)
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

--- Returns the history by turn, newest first.
---@return gemini_bridge.HistoryTurn[]? turns nil if there is no host, or it does not answer.
function M.list()
  local found
  local question = ask(function(entries)
    found = entries
  end)
  if not question then
    return nil
  end
  vim.wait(ANSWER_TIMEOUT_MS, function()
    return found ~= nil
  end, 5)
  asked[question] = nil
  return found and by_turn(found)
end

---@param entry gemini_bridge.HistoryEntry
---@return string
local function line(entry)
  local by = entry.prompt ~= "" and ("%s: %s"):format(entry.cli, entry.prompt) or entry.cli
  return ("%s  %-8s  %s  %s"):format(
    os.date("%H:%M:%S", entry.at),
    entry.kind,
    path.display(entry.path),
    vim.fn.strtrans(by)
  )
end

--- Lets the user choose an entry. Runs after the host's call, which must end first.
---@param entries gemini_bridge.HistoryEntry[]
local function choose(entries)
  if #entries == 0 then
    return notify("No CLI has proposed or written anything here since yesterday")
  end
  scheduler.next(function()
    vim.ui.select(entries, { prompt = "What CLIs did", format_item = line }, function(entry)
      if entry then
        channel.notify("history_opened", { id = entry.id })
      end
    end)
  end)
end

--- Shows the history, and then the entry that the user chooses.
function M.open()
  if not ask(choose) then
    notify("The bridge is not running: run :GeminiStart.", "warn")
  end
end

--- Shows an entry after the host has sent its texts.
---@param params gemini_bridge.calls.history_diff
function M.show(params)
  scheduler.next(function()
    require("gemini-bridge.changes.history_diff").open(params.entry, params.before, params.after)
  end)
end

return M
