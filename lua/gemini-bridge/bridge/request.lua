--- Sends requests to the host, and answers requests of the host. src/contract/requests.ts declares the requests and
--- their results, src/contract/questions.ts declares the requests of the host.
local channel = require("gemini-bridge.bridge.channel")
local scheduler = require("gemini-bridge.editor.scheduler")

local M = {}

--- Time for an answer. Long, because the host handles the hooks of agents first.
local TIMEOUT_MS = 10000

---@class gemini_bridge.Request
---@field callback fun(result: any, problem?: string)
---@field cancel fun() Cancels the timeout.

--- The requests that the host has not answered yet, by id.
local open = {} ---@type table<integer, gemini_bridge.Request>
local last_id = 0

---@param id integer
---@param result any
---@param problem? string
local function finish(id, result, problem)
  local request = open[id]
  if request then
    open[id] = nil
    request.cancel()
    request.callback(result, problem)
  end
end

--- Sends a request, and calls a function exactly once: with the result, or with nil and the reason why there is none.
--- Calls the function at once if the host does not run, otherwise in the call with which the host answers.
---@param name string
---@param params table
---@param callback fun(result: any, problem?: string) `problem` begins with a small letter and has no full stop.
---@param timeout_ms? integer
function M.send(name, params, callback, timeout_ms)
  last_id = last_id + 1
  local id = last_id
  if not channel.notify("request", { id = id, name = name, params = params }) then
    return callback(nil, "the bridge is not running: run :GeminiStart")
  end
  local cancel = scheduler.after(timeout_ms or TIMEOUT_MS, function()
    finish(id, nil, "the bridge did not answer in time; see :GeminiLog")
  end)
  open[id] = { callback = callback, cancel = cancel }
end

--- Handles an answer of the host.
---@param params gemini_bridge.calls.answered
function M.answered(params)
  finish(params.id, params.result, params.error)
end

---@alias gemini_bridge.Answer fun(result?: table, problem?: string)

--- Runs a request of the host. Sends the first answer of the handler, now or later.
---@param asked gemini_bridge.calls.request
---@param handlers table<string, fun(params: table, answer: gemini_bridge.Answer)> By name of the request.
function M.run(asked, handlers)
  local is_answered = false
  local function answer(result, problem)
    if not is_answered then
      is_answered = true
      channel.notify("answered", { id = asked.id, result = result, error = problem })
    end
  end
  local handler = handlers[asked.name]
  if not handler then
    return answer(nil, ("unknown request %s"):format(asked.name))
  end
  local ok, problem = pcall(handler, asked.params, answer)
  if not ok then
    answer(nil, scheduler.reason(problem))
  end
end

--- Ends all open requests, because their host has ended. Idempotent.
function M.host_ended()
  for id in pairs(open) do
    scheduler.next(function()
      finish(id, nil, "the bridge has stopped before it answered")
    end)
  end
end

return M
