--- Builds the Node part (`:GeminiBuild`). When the user starts to use the bridge, offers a build or a restart if one is
--- necessary.
local bundle = require("gemini-bridge.host.bundle")
local choose = require("gemini-bridge.editor.choose")
local config = require("gemini-bridge.config")
local notify = require("gemini-bridge.notify")
local status = require("gemini-bridge.bridge.status")

local M = {}

local QUESTIONS = {
  missing = "gemini-bridge is not built yet. Build it now?",
  stale = "gemini-bridge was updated but not rebuilt. Build it now?",
}
local BUILD = { "Build and continue", "Not now" }
local RESTART = { "Restart and continue", "Not now" }

--- The last build for which the user was offered a restart.
local offered ---@type string?

--- Builds in the background. Reports each step, and a failure if there is one, to the user.
---@param done? fun() Called after the build. Default: restarts a running bridge, or starts the bridge if its
---start failed because the Node part was not built.
function M.rebuild(done)
  local build = require("gemini-bridge.host.build")
  local was_missed = status.get().error ~= nil and status.get().error == bundle.problem()
  build.run(notify, function(problem)
    if problem then
      return notify("The build failed: " .. problem, "error")
    elseif done then
      return done()
    end
    local host = require("gemini-bridge.host")
    if status.get().state == "running" then
      host.restart()
    elseif was_missed then
      host.start()
    end
  end, config.get().node)
end

---@param state "missing"|"stale"
---@param go fun() Called after the build.
local function offer_build(state, go)
  local build = require("gemini-bridge.host.build")
  local problem = build.npm_problem(config.get().node)
  if problem then
    return notify("Cannot build: " .. problem, "error")
  end
  choose(BUILD, { prompt = QUESTIONS[state] }, function(choice)
    if choice == BUILD[1] then
      M.rebuild(go)
    end
  end)
end

--- Calls `go` if the Node part is built. Otherwise asks the user whether to build it, and calls `go` after the build.
---@param go fun() Also called if there is no user to ask, as in a script. The start then reports what is missing.
function M.build(go)
  local state = bundle.state()
  if state == "current" or bundle.is_release or #vim.api.nvim_list_uis() == 0 then
    return go()
  end
  offer_build(state, go)
end

--- Calls `go`. If the running bridge is older than the latest build, first asks whether to restart the bridge, but only
--- once for each build.
---@param go fun()
function M.restart(go)
  local running = status.get().build
  local built = bundle.built()
  if not running or running == built or built == offered or #vim.api.nvim_list_uis() == 0 then
    return go()
  end
  offered = built
  local question = "gemini-bridge was updated, but the old version is running. Restart the bridge?"
  choose(RESTART, { prompt = question }, function(choice)
    if choice == RESTART[1] then
      require("gemini-bridge.host").restart()
    end
    go()
  end)
end

return M
