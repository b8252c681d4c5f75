--- Reads the user's settings for sharing: paused or not, excluded files, trusted workspace. The host applies these
--- settings.
local choose = require("gemini-bridge.editor.choose")
local config = require("gemini-bridge.config")

local M = {}

--- The user's decision by `:GeminiShare` or by the answer to the question. Overrides the option `context.share`.
local decision ---@type boolean?
local is_asked = false

-- The first answer is the harmless one: a picker may take keys that the user has typed for something else.
local ANSWERS = { "Share nothing", "Share" }

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

---@return boolean # True if the user has paused sharing, or has not allowed it yet.
function M.is_paused()
  if decision == nil then
    return config.get().context.share ~= true
  end
  return not decision
end

--- Stores the user's decision.
---@param on boolean
function M.decide(on)
  decision, is_asked = on, true
end

--- Asks the user once whether to share, if the option `context.share` is "ask". Without an answer, nothing is shared.
---@param decide fun(on: boolean)
function M.ask(decide)
  if is_asked or config.get().context.share ~= "ask" then
    return
  end
  is_asked = true
  local prompt = "Share open files, cursor, selection and diagnostics with connected CLIs?"
  choose(ANSWERS, { prompt = prompt }, function(answer)
    -- If the user has decided by `:GeminiShare` meanwhile, the end of the picker changes nothing.
    if answer or decision == nil then
      decide(answer == ANSWERS[2])
    end
  end)
end

---@return { paused: boolean, exclude: string[], trusted?: boolean } # `Sharing` in src/contract/snapshot.ts.
function M.settings()
  return { paused = M.is_paused(), exclude = config.get().context.exclude, trusted = trusted() }
end

--- Returns which data the connected CLIs receive now. If the active file is not shared, the field `excluded` names that
--- file.
---@return gemini_bridge.Shared
function M.shared()
  local now = require("gemini-bridge.bridge.status").get().shared
  return vim.tbl_extend("force", vim.deepcopy(now) or { files = {} }, { paused = M.is_paused() })
end

return M
