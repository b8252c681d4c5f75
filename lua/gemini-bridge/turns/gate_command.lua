--- `:GeminiGate [on|off] [cli={name}]`
local gate = require("gemini-bridge.turns.gate")
local notify = require("gemini-bridge.notify")

local M = {}

--- Without on or off it turns to the other.
---@param args vim.api.keyset.create_user_command.command_args
function M.run(args)
  local on, cli ---@type boolean?, string?
  for _, word in ipairs(args.fargs) do
    if word == "on" or word == "off" then
      on = word == "on"
    elseif word:match("^cli=[%w_-]+$") then
      cli = word:sub(5)
    else
      return notify(":GeminiGate takes on or off, and cli={name}", "error")
    end
  end
  local profile = cli and require("gemini-bridge.config.clis").get(cli)
  if cli and not profile then
    return notify(("There is no CLI %s; see the option clis"):format(cli), "error")
  elseif profile and profile.like ~= "gemini" then
    return notify(("%s asks as its own approval mode says; the gate is Gemini CLI's"):format(cli), "error")
  end
  if on == nil then
    on = not gate.is_on(cli)
  end
  gate.set(on, cli)
  local who = cli or "Every connected Gemini CLI"
  notify(who .. (on and " asks before each edit" or " asks as its own approval mode says"))
end

---@param lead string
---@return string[]
function M.complete(lead)
  local words = { "off", "on" }
  for _, cli in ipairs(require("gemini-bridge.config.clis").all()) do
    if cli.like == "gemini" then
      words[#words + 1] = "cli=" .. cli.name
    end
  end
  return vim.tbl_filter(function(word)
    return vim.startswith(word, lead)
  end, words)
end

return M
