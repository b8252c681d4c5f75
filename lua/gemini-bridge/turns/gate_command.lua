--- Implements `:GeminiGate`, which makes CLIs ask before each edit.
local clis = require("gemini-bridge.config.clis")
local gate = require("gemini-bridge.turns.gate")
local notify = require("gemini-bridge.notify")
local status = require("gemini-bridge.bridge.status")

local M = {}

--- Switches the gate on and tells the user which CLIs now ask before edits. Changes nothing if no connected CLI can
--- ask.
---@param cli? string
local function open(cli)
  local reach = gate.reach(cli)
  local list = table.concat(reach.others, "; ")
  if #reach.others > 0 and not reach.is_possible then
    local problem = reach.is_on and "The gate is on, but does not make any connected CLI ask: %s"
      or "The gate stays off, because it would not make any connected CLI ask: %s"
    return notify(problem:format(list), "error")
  end
  gate.set(true, cli)
  if status.get().state == "stopped" then
    return notify("The gate is on, but the bridge is stopped: run :GeminiStart.", "warn")
  elseif #reach.asking == 0 and #reach.others > 0 then
    return notify(("The gate is on, but no connected CLI asks yet: %s"):format(list), "warn")
  elseif #reach.asking == 0 then
    local scope = cli and " for " .. cli or ""
    return notify(("The gate is on%s. It takes effect when a CLI connects."):format(scope))
  end
  local verb = #reach.asking == 1 and "asks" or "ask"
  local text = ("The gate is on: %s %s before each edit."):format(table.concat(reach.asking, ", "), verb)
  if #reach.others > 0 then
    return notify(("%s These CLIs do not ask: %s"):format(text, list), "warn")
  end
  notify(text)
end

--- Runs `:GeminiGate`. Toggles the gate if the arguments contain neither "on" nor "off".
---@param args vim.api.keyset.create_user_command.command_args
function M.run(args)
  local on, cli ---@type boolean?, string?
  for _, word in ipairs(args.fargs) do
    if word == "on" or word == "off" then
      on = word == "on"
    elseif word:match("^cli=[%w_-]+$") then
      cli = word:sub(5)
    else
      return notify("Usage: :GeminiGate [on|off] [cli={name}]", "error")
    end
  end
  local profile, problem = nil, nil
  if cli then
    profile, problem = clis.get(cli)
  end
  if problem then
    return notify(problem, "error")
  elseif profile and not profile.gate then
    return notify(
      ("The gate cannot make %s ask: choose an approval mode in that CLI."):format(profile.label),
      "error"
    )
  end
  if on == nil then
    on = not gate.is_on(cli)
  end
  if on then
    return open(cli)
  end
  gate.set(false, cli)
  local name = cli or "each CLI"
  notify(("The gate is off: %s asks only if its own approval mode says so."):format(name))
end

--- Lists the candidates for completion.
---@return string[]
function M.complete()
  local words = { "off", "on" }
  for _, cli in ipairs(clis.all()) do
    if cli.gate then
      words[#words + 1] = "cli=" .. cli.name
    end
  end
  return words
end

return M
