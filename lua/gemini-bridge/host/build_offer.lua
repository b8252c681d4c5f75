--- Offers to build the Node part, and to run what was built, to one who wants to use it.
local M = {}

local QUESTIONS = {
  missing = "gemini-bridge is not built yet. Build it now?",
  stale = "gemini-bridge was updated, but not built again. Build it now?",
}
local BUILD = { "Build, and go on", "Not now" }
local RESTART = { "Restart it, and go on", "Not now" }

--- The update whose offer was turned down.
local declined ---@type string?

---@param state "missing"|"stale"
---@param go fun() What to do with the new build.
local function offer_build(state, go)
  local build = require("gemini-bridge.host.build")
  local problem = build.npm_problem(require("gemini-bridge.config").get().node)
  if problem then
    return require("gemini-bridge.notify")("Not built: " .. problem, "error")
  end
  vim.ui.select(BUILD, { prompt = QUESTIONS[state] }, function(_, index)
    if index == 1 then
      require("gemini-bridge.host.rebuild")(go)
    end
  end)
end

--- Goes on when the Node part is built. Otherwise asks whether to build it, and goes on after that by itself.
---@param go fun() Nobody to ask is there in a script: it goes on then, to be told what is missing.
function M.build(go)
  local bundle = require("gemini-bridge.host.bundle")
  local state = bundle.state()
  if state == "current" or bundle.is_release or #vim.api.nvim_list_uis() == 0 then
    return go()
  end
  offer_build(state, go)
end

--- Goes on, at once when the bridge that runs is of this build. One of before an update is to be started anew, which is
--- asked once for each update.
---@param go fun()
function M.restart(go)
  local running = require("gemini-bridge.bridge.status").get().build
  local built = require("gemini-bridge.host.bundle").built()
  if not running or running == built or built == declined or #vim.api.nvim_list_uis() == 0 then
    return go()
  end
  declined = built
  local question = "gemini-bridge was updated, but the bridge runs as it was before. Restart it?"
  vim.ui.select(RESTART, { prompt = question }, function(_, index)
    if index == 1 then
      require("gemini-bridge.host").restart()
    end
    go()
  end)
end

return M
