--- Returns a short text about the bridge for status lines.
local changes = require("gemini-bridge.changes.changes")
local reviews = require("gemini-bridge.review.requests")
local status = require("gemini-bridge.bridge.status")

local M = {}

--- Returns the names of the CLIs with pending reviews, without duplicates.
---@param diffs { client: string, label: string }[]
---@return string[]
local function askers(diffs)
  local names = {}
  for _, diff in ipairs(diffs) do
    local name = status.plain(diff.client, diff.label)
    if not vim.list_contains(names, name) then
      names[#names + 1] = name
    end
  end
  return names
end

--- Activities of agents and their texts. The most important activity comes first.
local ACTIVITIES = { { "waiting", "Gemini: waits for you" }, { "working", "Gemini: working" } }

---@param now gemini_bridge.HostStatus
---@return string text
---@return string[] names The CLIs to which the text applies. Empty if only one CLI is connected.
local function connection(now)
  if #now.clients == 0 then
    return "Gemini: waiting", {}
  end
  for _, activity in ipairs(ACTIVITIES) do
    local names = status.names(activity[1])
    if #names > 0 then
      return activity[2], #now.clients > 1 and names or {}
    end
  end
  local is_connected = vim.iter(now.clients):any(function(client)
    return not client.interrupted
  end)
  local text = is_connected and "Gemini: connected" or "Gemini: disconnected, /ide enable"
  return text, #now.clients > 1 and status.names() or {}
end

--- Adds the number of changed files to a text. Replaces the texts "connected" and "waiting", which are less important.
---@param text string
---@param now gemini_bridge.HostStatus
---@return string
local function with_changes(text, now)
  local count = changes.count().files
  if count == 0 then
    return text
  end
  local words = ("%d %s"):format(count, count == 1 and "change" or "changes")
  local is_quiet = text == "Gemini: connected" or #now.clients == 0 and text == "Gemini: waiting"
  return is_quiet and "Gemini: " .. words or text .. ", " .. words
end

---@return string # Empty if the bridge is stopped.
function M.text()
  local now = status.get()
  if now.state ~= "running" then
    return now.state == "stopped" and "" or ("Gemini: " .. now.state)
  end
  local text, names = connection(now)
  local diffs = reviews.list()
  if #diffs > 0 then
    text = ("Gemini: %d %s"):format(#diffs, #diffs == 1 and "review" or "reviews")
    names = #now.clients > 1 and askers(diffs) or {}
  end
  text = with_changes(text, now)
  text = #names > 0 and ("%s (%s)"):format(text, table.concat(names, ", ")) or text
  local shared = require("gemini-bridge.context.consent").shared()
  local gate = require("gemini-bridge.turns.gate").text()
  text = text .. (gate ~= "" and ", " .. gate or "")
  text = text .. (shared.paused and ", paused" or shared.excluded and ", file not shared" or "")
  return text .. (require("gemini-bridge.context.pinned_selection").is_shown() and ", selection pinned" or "")
end

return M
