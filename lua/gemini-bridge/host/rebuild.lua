--- `:GeminiBuild`: builds while Neovim goes on, then runs what was built.

--- Says each step as it happens. A bridge that runs is restarted, one that was not built when it was
--- wanted is started.
return function()
  local build = require("gemini-bridge.host.build")
  local notify = require("gemini-bridge.notify")
  local status = require("gemini-bridge.bridge.status")
  local was_missed = status.get().error ~= nil and status.get().error == build.problem()
  build.run(notify, function(problem)
    if problem then
      return notify("The build failed: " .. problem, "error")
    end
    local host = require("gemini-bridge.host")
    if status.get().state == "running" then
      host.restart()
    elseif was_missed then
      host.start()
    end
  end, require("gemini-bridge.config").get().node)
end
