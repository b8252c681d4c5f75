--- What is said to the attached host: events, each with its data.
local config = require("gemini-bridge.config")
local decisions = require("gemini-bridge.bridge.decisions")

local M = {}

--- Of the host that has attached.
local channel ---@type integer?

--- Events go to this host from now on, or to none.
---@param attached? integer Its channel.
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

--- Sends an event to the host. One that cannot be sent is dropped: a host that starts asks for the state of things.
---@param event string See `events` in src/contract/neovim.ts.
---@param payload table
---@return boolean sent
function M.notify(event, payload)
  return send(event, payload)
end

--- Sends what the user decided of a review. It is kept until it has arrived, over a crash of the host.
---@param event "diff_accepted"|"diff_rejected"
---@param payload { id: integer, content?: string }
---@param asker string What the user knows the CLI as.
---@param text_id? string What the host knows the content by, which then need not travel.
function M.decide(event, payload, asker, text_id)
  decisions.add(event, payload, asker)
  send(event, text_id and { id = payload.id, textId = text_id } or payload)
end

return M
