--- Implements `:GeminiBuild`: builds in the background, then starts or restarts the bridge.

--- Runs a build, and reports its steps and its failure to the user.
---@param done? fun() Called after the build. Default: restarts a running bridge, and starts a bridge whose start failed
---because it was not built.
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
