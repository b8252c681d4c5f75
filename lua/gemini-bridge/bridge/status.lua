--- Stores the status that the host sends, so that Lua can read it without a request. Fires the `User` events.
local contract = require("gemini-bridge.bridge.contract")
local scheduler = require("gemini-bridge.editor.scheduler")

local M = {}

---@type gemini_bridge.HostStatus
local current = { state = "stopped", workspace = {}, clients = {} }

--- Port and tokens of the last host. The next host reuses them, so that running CLIs and their hooks stay connected.
---@type { port?: integer, tokens?: table<string, string> }
local address = {}

--- Redraws all status lines. Waits for the next tick, because some events fire before the state is updated.
M.redraw = scheduler.coalesce(function()
  vim.cmd.redrawstatus({ bang = true })
end)

--- Fires a `User` autocommand that scripts may listen to. Redraws the status lines, which may show the new state.
---@param pattern string
---@param data? table
function M.emit(pattern, data)
  local event = { pattern = pattern, data = data, modeline = false }
  scheduler.attempt(vim.api.nvim_exec_autocmds, "User", event)
  M.redraw()
end

---@param clients gemini_bridge.ClientInfo[]
local function by_id(clients)
  local map = {}
  for _, client in ipairs(clients) do
    map[client.id] = client
  end
  return map
end

--- Returns the data of the events GeminiConnected and GeminiDisconnected.
---@param client gemini_bridge.ClientInfo
local function event_data(client)
  return {
    id = client.id,
    name = client.name,
    version = client.version,
    cli = client.cli,
    terminal = client.terminal,
  }
end

---@return gemini_bridge.HostStatus
function M.get()
  return current
end

---@return { port?: integer, tokens?: table<string, string> } # Port and tokens for the next host.
function M.address()
  return address
end

--- Returns the name of a client for the user. Many CLIs report the same technical name in all instances. For these
--- CLIs, returns `label`.
---@param client string Name of the client or of its terminal.
---@param label string Name of the CLI to show to the user.
---@return string
function M.plain(client, label)
  local is_technical = client == contract.CLI_NAME
    or vim.iter(require("gemini-bridge.config.cli_option").known()):any(function(profile)
      return profile.socket and profile.socket.client == client
    end)
  return is_technical and label or client
end

--- Returns the name of a connected CLI for the user. Prefers the name of the CLI's terminal.
---@param client gemini_bridge.ClientInfo
---@return string
function M.name(client)
  return client.terminal or M.plain(client.name, client.label)
end

--- Returns the names of the connected CLIs, as shown to the user.
---@param activity? "idle"|"working"|"waiting" Only CLIs with this activity.
---@return string[]
function M.names(activity)
  return vim
    .iter(current.clients)
    :filter(function(client)
      return not activity or client.activity == activity
    end)
    :map(M.name)
    :totable()
end

--- Stores a new status, and fires `User` events for the differences.
---@param new gemini_bridge.HostStatus
function M.set(new)
  local old = current
  current = new
  if new.port and new.tokens then
    address = { port = new.port, tokens = new.tokens }
  end
  local function shown(status)
    local hidden = status.shared and (status.shared.excluded or status.shared.paused) or false
    local clients = vim.tbl_map(function(client)
      return { client.terminal or "", client.activity, client.hooks, client.hooksOff }
    end, status.clients)
    return { hidden, clients }
  end
  if not vim.deep_equal(shown(old), shown(new)) then
    M.redraw()
  end
  local was, is = by_id(old.clients), by_id(new.clients)
  for id, client in pairs(was) do
    if not is[id] then
      local data = event_data(client)
      data.interrupted = client.interrupted
      M.emit("GeminiDisconnected", data)
    end
  end
  if old.state ~= "running" and new.state == "running" then
    M.emit("GeminiStarted", { port = new.port, discovery_file = (new.discoveryFiles or {})[1] })
  elseif old.state ~= "stopped" and new.state == "stopped" then
    M.emit("GeminiStopped", { error = new.error })
  end
  for id, client in pairs(is) do
    if not was[id] then
      M.emit("GeminiConnected", event_data(client))
    end
  end
end

return M
