--- Builds while Neovim goes on, then runs what was built: `:GeminiBuild`.

--- Says each step as it happens, and why a build has failed.
---@param done? fun() What to do with the new build; without it a bridge that runs is restarted, and one that was not
---built when it was wanted is started.
return function(done)
  local build = require("gemini-bridge.host.build")
  local notify = require("gemini-bridge.notify")
  local status = require("gemini-bridge.bridge.status")
  local was_missed = status.get().error ~= nil
    and status.get().error == require("gemini-bridge.host.bundle").problem()
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
  end, require("gemini-bridge.config").get().node)
end
