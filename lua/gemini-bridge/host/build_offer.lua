--- Builds the Node part (`:GeminiBuild`). When the user starts the bridge, offers a build or a restart if necessary.
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

--- The build for which the user was last offered a restart.
local offered ---@type string?

--- Returns true if only a restart of Neovim loads a new build: the standard Node host loads a plugin only once. Tells
--- the user.
---@return boolean
local function needs_neovim_restart()
  local is_shared = config.get().host == "shared"
  if is_shared and status.get().build ~= bundle.built() then
    notify(
      "gemini-bridge was updated, but the old version is running. Restart Neovim to load the update.",
      "warn"
    )
  end
  return is_shared
end

--- Builds in the background. Shows each step to the user, and the reason if the build fails.
---@param done? fun() Called after the build. Default: restart a running bridge, or start a bridge that failed
---because of the missing build.
function M.rebuild(done)
  local build = require("gemini-bridge.host.build")
  local was_missed = status.get().error ~= nil and status.get().error == bundle.problem()
  build.run(notify, function(problem)
    if problem then
      return notify("The build failed: " .. problem, "error")
    elseif done then
      return done()
    end
    local lifecycle = require("gemini-bridge.host.lifecycle")
    if status.get().state == "running" then
      return needs_neovim_restart() or lifecycle.restart()
    elseif was_missed then
      lifecycle.start()
    end
  end, config.get().node)
end

--- Asks the user whether to build the Node part, unless npm is missing.
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

--- Calls `go` if the Node part is built. Otherwise asks the user whether to build the Node part, and calls `go` after
--- the build.
---@param go fun() Also called without a build if no user interface is attached, as in a script. The start then
---reports the problem.
function M.build(go)
  local state = bundle.state()
  if state == "current" or bundle.is_release or #vim.api.nvim_list_uis() == 0 then
    return go()
  end
  offer_build(state, go)
end

--- Calls `go`. If the running bridge is older than the latest build, first asks the user whether to restart the bridge.
--- Asks only once for each build. In the standard Node host, only tells the user to restart Neovim.
---@param go fun()
function M.restart(go)
  local running = status.get().build
  local built = bundle.built()
  if not running or running == built or built == offered or #vim.api.nvim_list_uis() == 0 then
    return go()
  end
  offered = built
  if needs_neovim_restart() then
    return go()
  end
  local question = "gemini-bridge was updated, but the old version is running. Restart the bridge?"
  choose(RESTART, { prompt = question }, function(choice)
    if choice == RESTART[1] then
      require("gemini-bridge.host.lifecycle").restart()
    end
    go()
  end)
end

return M
