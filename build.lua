--- Builds the Node part after an installation or update. lazy.nvim runs this file in a coroutine, and shows a progress
--- message at each yield. Other plugin managers run this file with `dofile`. See |gemini-bridge-install|.
local directory = vim.fs.dirname(vim.fs.normalize(debug.getinfo(1, "S").source:sub(2)))
-- Loads the module by its path, because the plugin is not in 'runtimepath' during its installation.
if dofile(directory .. "/lua/gemini-bridge/host/bundle.lua").state() == "current" then
  return
end
local build = dofile(directory .. "/lua/gemini-bridge/host/build.lua")

--- Timeout of a build (ms).
local TIMEOUT_MS = 15 * 60 * 1000

local managed = coroutine.isyieldable()
--- Whether the plugin manager catches errors. vim.pack does not catch errors, and would show the user a traceback.
local caught = not vim.fn.expand("<stack>"):find("PackChanged", 1, true)
local finished, problem = false, nil
local messages = {}
-- The configuration; nil if setup() has not run yet, as during an installation.
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
    -- Yields instead of calling vim.wait(). In a coroutine of lazy.nvim, vim.wait() would block lazy.nvim's loop
    -- forever. lazy.nvim sends "abort" when the user has closed its window.
    if coroutine.yield(table.remove(messages, 1)) == "abort" then
      error("gemini-bridge: aborted", 0)
    end
  end
elseif not vim.wait(TIMEOUT_MS, function()
  return finished
end, 50) then
  problem = "the build did not end"
end

if problem and caught then
  error("gemini-bridge: " .. problem, 0)
elseif problem then
  dofile(directory .. "/lua/gemini-bridge/notify.lua")("The build failed: " .. problem, "error")
end
