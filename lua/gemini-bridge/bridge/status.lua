--- What is known of the bridge, pushed by the host, so that asking costs no round trip.
local safely = require("gemini-bridge.editor.safely")

local M = {}

---@class gemini_bridge.HostStatus
---@field state "starting"|"running"|"stopping"|"stopped"
---@field version? string The plugin's own.
---@field build? string What the host was built from.
---@field port? integer
---@field pid? integer Process id of the Node host.
---@field discoveryFiles? string[] One for each CLI that may come.
---@field tokens? table<string, string> By CLI.
---@field workspace string[]
---@field clients gemini_bridge.ClientInfo[]
---@field hooks? boolean A hook of any CLI was received, connected or not.
---@field connection? string Why a CLI in a terminal here does not connect without a question, where that is so.
---@field shared? gemini_bridge.Shared While a CLI is connected.
---@field editors? gemini_bridge.Editors When the user has asked for the status.
---@field calls? integer How many tools models have called.
---@field asking? { name: string, version: string }[] The clients whose models can ask it.
---@field error? string

--- What a CLI in another terminal finds in the current directory.
---@class gemini_bridge.Editors
---@field count integer
---@field pid integer Process of the one that it takes.
---@field isOwn boolean It takes this Neovim.

--- What connected CLIs are told now, and what is kept from them.
---@class gemini_bridge.Shared
---@field paused boolean The user has paused sharing.
---@field files string[] Absolute paths of the open files, the last focused first.
---@field active? string The one of them that the user looks at.
---@field selected? integer Length of the selected text in UTF-16 units.
---@field excluded? string The file that the user looks at, when it is one that must not be shared.

---@class gemini_bridge.ClientInfo
---@field id string Session id.
---@field cli string Which CLI it is, by its name in the option `clis`.
---@field label string What the user knows that as.
---@field name string
---@field version string
---@field connectedAt number Unix milliseconds.
---@field port? integer The CLI's end of its event stream's connection.
---@field interrupted boolean It says "Disconnected" until the user types `/ide enable` in it.
---@field activity "idle"|"working"|"waiting" What its agent is doing, as far as its hooks tell.
---@field hooks boolean A hook of it was received. Without hooks its edits are neither tracked nor gated.
---@field terminal? string The terminal of `:Gemini` that it runs in, as far as known.

---@type gemini_bridge.HostStatus
local current = { state = "stopped", workspace = {}, clients = {} }

--- Port and tokens of the last host. Kept for the lifetime of Neovim: running CLIs and their hooks know no others.
---@type { port?: integer, tokens?: table<string, string> }
local address = {}

--- Fires a `User` autocommand that scripts may listen to.
---@param pattern string
---@param data? table
function M.emit(pattern, data)
  local event = { pattern = pattern, data = data, modeline = false }
  safely.attempt(vim.api.nvim_exec_autocmds, "User", event)
end

---@param clients gemini_bridge.ClientInfo[]
local function by_id(clients)
  local map = {}
  for _, client in ipairs(clients) do
    map[client.id] = client
  end
  return map
end

---@return gemini_bridge.HostStatus
function M.get()
  return current
end

---@return { port?: integer, tokens?: table<string, string> } # What the next host should listen on and accept.
function M.address()
  return address
end

--- What the user is told of a CLI: Gemini CLI and its kin give the name of a class of theirs as their own (0.61.0,
--- `IdeClient`).
---@param client string Its name, or the terminal's that it runs in.
---@param label string What it is known as.
---@return string
function M.plain(client, label)
  return client == "streamable-http-client" and label or client
end

--- The name of a connected CLI for the user: its terminal, if known.
---@param client gemini_bridge.ClientInfo
---@return string
function M.name(client)
  return client.terminal or M.plain(client.name, client.label)
end

--- The terminals of the connected CLIs, for where several are to be told apart.
---@param activity? "idle"|"working"|"waiting" Only of those that do this.
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

--- Takes a new status and fires the events that tell the difference.
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
      return { client.terminal or "", client.activity, client.hooks }
    end, status.clients)
    return { hidden, clients }
  end
  if not vim.deep_equal(shown(old), shown(new)) then
    vim.cmd.redrawstatus({ bang = true })
  end
  local was, is = by_id(old.clients), by_id(new.clients)
  for id, client in pairs(was) do
    if not is[id] then
      M.emit("GeminiDisconnected", {
        id = id,
        name = client.name,
        version = client.version,
        cli = client.cli,
        terminal = client.terminal,
        interrupted = client.interrupted,
      })
    end
  end
  if old.state ~= "running" and new.state == "running" then
    M.emit("GeminiStarted", { port = new.port, discovery_file = (new.discoveryFiles or {})[1] })
  elseif old.state ~= "stopped" and new.state == "stopped" then
    M.emit("GeminiStopped", { error = new.error })
  end
  for id, client in pairs(is) do
    if not was[id] then
      M.emit("GeminiConnected", {
        id = id,
        name = client.name,
        version = client.version,
        cli = client.cli,
        terminal = client.terminal,
      })
    end
  end
end

return M
