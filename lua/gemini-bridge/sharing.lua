--- What the user has said about sharing, for the host to act on.
local config = require("gemini-bridge.config")

local M = {}

--- The answer of the option `trust`; `nil` leaves the decision to the CLI.
---@return boolean?
local function trusted()
  local trust = config.get().trust
  if type(trust) ~= "function" then
    return trust
  end
  local ok, answer = pcall(trust, require("gemini-bridge.workspace").get().directories)
  if not ok then
    require("gemini-bridge.notify")("The option trust failed: " .. tostring(answer), "error")
    return nil
  end
  if type(answer) == "boolean" then
    return answer
  end
end

---@param paused boolean
---@return { paused: boolean, exclude: string[], trusted?: boolean }
function M.settings(paused)
  return { paused = paused, exclude = config.get().context.exclude, trusted = trusted() }
end

return M
