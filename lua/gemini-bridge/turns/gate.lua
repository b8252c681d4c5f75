--- Stores the gate setting. While the gate is on, CLIs ask before each edit in every approval mode. The setting applies
--- to all CLIs or to single CLIs. The Node host makes the CLIs ask.
local channel = require("gemini-bridge.bridge.channel")
local clis = require("gemini-bridge.config.clis")
local config = require("gemini-bridge.config")
local link = require("gemini-bridge.extension.link")
local status = require("gemini-bridge.bridge.status")

local M = {}

--- Setting that the user has made by `:GeminiGate`. Overrides the option `gate`.
local chosen ---@type gemini_bridge.events.gate?

--- Returns the setting of `:GeminiGate`. If the user has not run this command, returns the option `gate`.
---@return gemini_bridge.events.gate
function M.get()
  if chosen then
    return chosen
  end
  local option = config.get().gate
  local is_table = type(option) == "table"
  return { all = option == true, clis = is_table and vim.deepcopy(option) or vim.empty_dict() }
end

---@param cli? string Name of a CLI. Default: returns the setting for CLIs that have no setting of their own.
---@return boolean
function M.is_on(cli)
  local now = M.get()
  local own = now.clis[cli or ""]
  if own == nil then
    return now.all
  end
  return own
end

--- Sends the setting to the host. Called when the setting or the options have changed.
function M.refresh()
  channel.notify("gate", M.get())
  status.redraw()
end

--- Switches the gate (CLIs ask before each edit) on or off.
---@param on boolean
---@param cli? string Changes the setting only for this CLI.
function M.set(on, cli)
  local now = vim.deepcopy(M.get())
  if cli then
    now.clis[cli] = on
  else
    now = { all = on, clis = vim.empty_dict() }
  end
  chosen = now
  M.refresh()
end

--- Returns why a connected CLI does not ask before edits while `:GeminiGate` is on, and how the user can change that.
---@param client gemini_bridge.ClientInfo
---@return string? reason nil if the CLI asks before edits.
---@return boolean? may_ask True if the CLI may still ask: its first hook may not have arrived yet.
local function obstacle(client)
  local cli = clis.get(client.cli)
  if not cli or not cli.gate then
    return "Neovim cannot make this CLI ask; choose its approval mode in the CLI"
  elseif client.interrupted then
    return "it is disconnected; type /ide enable in the CLI"
  elseif client.hooksOff then
    return "its hooks are off: " .. client.hooksOff
  elseif client.hooks then
    return
  end
  return link.missing_hooks(cli)
end

---@class gemini_bridge.GateReach
---@field asking string[] Names of the connected CLIs that ask before edits while the gate is on.
---@field others string[] Names of the other connected CLIs, each with the reason.
---@field is_possible boolean True if at least one connected CLI asks before edits or may ask.
---@field is_on boolean True if the gate is on for at least one connected CLI.

--- Lists the connected CLIs that ask before edits while the gate is on, and the CLIs that do not ask.
---@param cli? string Name of a CLI. Leaves out other CLIs.
---@return gemini_bridge.GateReach
function M.reach(cli)
  local reach = { asking = {}, others = {}, is_possible = false, is_on = false } ---@type gemini_bridge.GateReach
  for _, client in ipairs(status.get().clients) do
    if not cli or client.cli == cli then
      local name, reason, may_ask = status.name(client), obstacle(client)
      reach.is_on = reach.is_on or M.is_on(client.cli)
      reach.is_possible = reach.is_possible or not reason or may_ask == true
      if reason then
        table.insert(reach.others, ("%s (%s)"):format(name, reason))
      else
        table.insert(reach.asking, name)
      end
    end
  end
  return reach
end

--- Returns the names of the CLIs whose own setting is `on`, separated by commas. Empty if there are none.
---@param on boolean
---@return string
local function named(on)
  local own = M.get().clis
  local names = vim.tbl_filter(function(cli)
    return own[cli] == on
  end, vim.tbl_keys(own))
  table.sort(names)
  return table.concat(names, ", ")
end

--- Returns a text for the status line, such as "gate on". Empty if no connected CLI asks before edits.
---@return string
function M.text()
  local names = {}
  for _, client in ipairs(status.get().clients) do
    if M.is_on(client.cli) and not obstacle(client) and not vim.list_contains(names, client.cli) then
      names[#names + 1] = client.cli
    end
  end
  if #names == 0 then
    return ""
  end
  table.sort(names)
  local is_for_all = M.get().all and named(false) == ""
  return is_for_all and "gate on" or "gate on for " .. table.concat(names, ", ")
end

--- Returns lines for `:GeminiStatus`: the gate setting, and the CLIs that do not ask before edits.
---@return string[]
function M.lines()
  local is_for_all, on, off = M.get().all, named(true), named(false)
  if not is_for_all and on == "" then
    return {}
  end
  local lines = { not is_for_all and "on for " .. on or off ~= "" and "on, but off for " .. off or "on" }
  for _, client in ipairs(status.get().clients) do
    local reason = M.is_on(client.cli) and obstacle(client) or nil
    if reason then
      lines[#lines + 1] = ("%s does not ask: %s"):format(status.name(client), reason)
    end
  end
  return lines
end

return M
