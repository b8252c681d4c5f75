--- Asks the host for the text of a file before its undecided changes.
local channel = require("gemini-bridge.bridge.channel")

local M = {}

--- Functions that wait for the answer of the host, by path.
local waiting = {} ---@type table<string, fun(lines: string[], problem?: string)[]>

--- Calls a function with the earlier text of a file, as soon as the host has sent the text.
---@param name string Path of the file.
---@param act fun(lines: string[], problem?: string) `problem`: the reason why the text is not known.
function M.ask(name, act)
  if channel.notify("change_before_asked", { path = name }) then
    waiting[name] = waiting[name] or {}
    table.insert(waiting[name], act)
  end
end

--- Handles the answer of the host.
---@param params gemini_bridge.calls.change_before
function M.answered(params)
  local acts = waiting[params.path] or {}
  waiting[params.path] = nil
  for _, act in ipairs(acts) do
    act(params.lines, params.problem)
  end
end

return M
