--- Reads the user's settings for sharing: paused or not, excluded files, trusted workspace. The host applies these
--- settings.
local config = require("gemini-bridge.config")

local M = {}

local paused = false

--- Returns whether the CLI may trust the workspace (option `trust`). If the option is not set, returns nil, and the CLI
--- itself decides.
---@return boolean?
local function trusted()
  local trust = config.get().trust
  if type(trust) ~= "function" then
    return trust
  end
  local ok, answer = pcall(trust, require("gemini-bridge.context.workspace").get().directories)
  if not ok then
    require("gemini-bridge.notify")(
      "The option `trust` is ignored, because its function failed: " .. tostring(answer),
      "error"
    )
    return nil
  end
  if type(answer) == "boolean" then
    return answer
  end
end

---@return boolean # True if the user has paused sharing.
function M.is_paused()
  return paused
end

---@param pause boolean
function M.set_paused(pause)
  paused = pause
end

---@return { paused: boolean, exclude: string[], trusted?: boolean } # `Sharing` in src/contract/snapshot.ts.
function M.settings()
  return { paused = paused, exclude = config.get().context.exclude, trusted = trusted() }
end

--- Returns which data the connected CLIs receive now. If the active file is not shared, the field `excluded` names that
--- file.
---@return gemini_bridge.Shared
function M.shared()
  local now = require("gemini-bridge.bridge.status").get().shared
  return vim.tbl_extend("force", vim.deepcopy(now) or { files = {} }, { paused = paused })
end

return M
