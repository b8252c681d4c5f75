--- Sends events to the attached host.
local config = require("gemini-bridge.config")
local decisions = require("gemini-bridge.bridge.decisions")

local M = {}

--- Channel of the attached host.
local channel ---@type integer?

--- Sets the host for events.
---@param attached? integer Channel of the host; nil for none.
function M.set(attached)
  channel = attached
end

---@return boolean
function M.is_open()
  return channel ~= nil
end

---@param event string
---@param payload table
---@return boolean sent
local function send(event, payload)
  if not channel then
    return false
  elseif config.get().host == "shared" then
    return (pcall(vim.fn.GeminiBridgeEvent, event, payload))
  end
  return (pcall(vim.rpcnotify, channel, "gemini_bridge", event, payload))
end

--- Sends an event to the host. Without a host the event is dropped, because a new host asks for the current state.
---@param event string See `events` in src/contract/neovim.ts.
---@param payload table
---@return boolean sent
function M.notify(event, payload)
  return send(event, payload)
end

--- Sends the user's decision on a review. The decision is kept until the host has settled it, also across a crash.
---@param event "diff_accepted"|"diff_rejected"
---@param payload { id: integer, content?: string, version?: string }
---@param asker string Name of the CLI for messages.
---@param text_id? string Id by which the host knows the content, sent instead of the content.
function M.decide(event, payload, asker, text_id)
  decisions.add(event, payload, asker)
  send(event, text_id and { id = payload.id, textId = text_id, version = payload.version } or payload)
end

return M
