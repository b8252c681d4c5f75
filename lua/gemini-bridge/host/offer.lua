--- Offers to build the Node part to one who wants to use it.

local QUESTIONS = {
  missing = "gemini-bridge is not built yet. Build it now?",
  stale = "gemini-bridge was updated, but not built again. Build it now?",
}
local ANSWERS = { "Build, and go on", "Not now" }

--- Goes on when the Node part is built. Otherwise asks whether to build it, and goes on after that by itself.
---@param go fun() Nobody to ask is there in a script: it goes on then, to be told what is missing.
return function(go)
  local build = require("gemini-bridge.host.build")
  local state = build.state()
  if state == "current" or #vim.api.nvim_list_uis() == 0 then
    return go()
  end
  local problem = build.npm_problem(require("gemini-bridge.config").get().node)
  if problem then
    return require("gemini-bridge.notify")("Not built: " .. problem, "error")
  end
  vim.ui.select(ANSWERS, { prompt = QUESTIONS[state] }, function(_, index)
    if index == 1 then
      require("gemini-bridge.host.rebuild")(go)
    end
  end)
end
