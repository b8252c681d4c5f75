--- `:GeminiGate [on|off] [cli={name}]`
local gate = require("gemini-bridge.agent.gate")
local notify = require("gemini-bridge.notify")
local status = require("gemini-bridge.bridge.status")

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
  if cli and not require("gemini-bridge.config.clis").get(cli) then
    return notify(("There is no CLI %s; see the option clis"):format(cli), "error")
  end
  if on == nil then
    on = not gate.is_on(cli)
  end
  gate.set(on, cli)
  local who = cli or "Every CLI that is connected"
  notify(who .. (on and " asks before each edit" or " asks as its own approval mode says"))
end

---@param lead string
---@return string[]
function M.complete(lead)
  local words = { "off", "on" }
  for _, client in ipairs(status.get().clients) do
    words[#words + 1] = "cli=" .. client.cli
  end
  return vim.tbl_filter(function(word)
    return vim.startswith(word, lead)
  end, vim.fn.uniq(vim.fn.sort(words)))
end

return M
