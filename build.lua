-- Run by plugin managers after an install or update: lazy.nvim by itself, in a coroutine whose
-- yields show progress; others by `dofile`. See |gemini-bridge-install|.
local directory = vim.fs.dirname(vim.fs.normalize(debug.getinfo(1, "S").source:sub(2)))
-- By path: while it is being installed the plugin is not on 'runtimepath'.
if dofile(directory .. "/lua/gemini-bridge/host/bundle.lua").state() == "current" then
  return
end
local build = dofile(directory .. "/lua/gemini-bridge/host/build.lua")

--- A build that takes longer has hung (milliseconds).
local TIMEOUT = 15 * 60 * 1000

local managed = coroutine.isyieldable()
--- vim.pack catches no error: it would be shown as a traceback.
local caught = not vim.fn.expand("<stack>"):find("PackChanged", 1, true)
local finished, problem = false, nil
local messages = {}
-- The options are known where setup() has run, as in an update.
local config = package.loaded["gemini-bridge.config"]

build.run(function(message)
  message = "gemini-bridge: " .. message
  messages[#messages + 1] = message
  if not managed then
    vim.api.nvim_echo({ { message } }, true, {})
    vim.cmd.redraw()
  end
end, function(failure)
  finished, problem = true, failure
end, config and config.get().node)

if managed then
  while not (finished and #messages == 0) do
    -- Each turn ends at once: to wait here would run lazy.nvim's loop inside itself, which stops it for good.
    -- "abort" is how it says that the user has left.
    if coroutine.yield(table.remove(messages, 1)) == "abort" then
      error("gemini-bridge: aborted", 0)
    end
  end
elseif not vim.wait(TIMEOUT, function()
  return finished
end, 50) then
  problem = "the build did not end"
end

if problem and caught then
  error("gemini-bridge: " .. problem, 0)
elseif problem then
  dofile(directory .. "/lua/gemini-bridge/notify.lua")("The build failed: " .. problem, "error")
end
