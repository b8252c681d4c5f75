--- Handles the calls of the Node host. src/contract/neovim.ts declares the calls.
local changes = require("gemini-bridge.changes.changes")
local channel = require("gemini-bridge.bridge.channel")
local snapshot_debounce = require("gemini-bridge.context.snapshot_debounce")
local contract = require("gemini-bridge.bridge.contract")
local decision = require("gemini-bridge.review.decision")
local environment = require("gemini-bridge.host.environment")
local lifecycle = require("gemini-bridge.host.lifecycle")
local memory = require("gemini-bridge.bridge.memory")
local notify = require("gemini-bridge.notify")
local reload = require("gemini-bridge.disk.reload")
local request = require("gemini-bridge.bridge.request")
local reviews = require("gemini-bridge.review.requests")
local scheduler = require("gemini-bridge.editor.scheduler")
local turns = require("gemini-bridge.turns.turns")

local M = {}

--- Returns a function that loads a module at the first call, and then calls a function of that module.
---@param module string
---@param name string Name of the function.
---@return fun(params: table): any
local function lazy(module, name)
  return function(params)
    return require(module)[name](params)
  end
end

--- The handler of each call, by name of the call.
---@type table<string, fun(params: table): any>
local calls = {
  attach = lifecycle.attached,
  status = lifecycle.on_status,
  request = function(params)
    request.run(params, require("gemini-bridge.model").questions)
  end,
  answered = request.answered,
  set_environment = environment.set,
  message = function(params)
    notify(params.text, params.level)
  end,
  turn = turns.changed,
  context_subscribe = snapshot_debounce.subscribe,
  context_unsubscribe = snapshot_debounce.unsubscribe,
  remember = memory.remember,
  decision_settled = decision.settled,
  decision_read = reviews.read_accepted,
  model_watch = lazy("gemini-bridge.model", "watch"),
  diff_open = reviews.open,
  diff_read = reviews.read,
  diff_update = reviews.update,
  diff_close = reviews.close,
  file_changed = reload.written,
  changes_follow = changes.follow,
  change_show = function(params)
    if params.written then
      reload.written(params)
    end
    changes.show(params)
  end,
  turn_changes = changes.turn_ended,
  files_open = changes.open_files,
  prompt_places = lazy("gemini-bridge.prompt.outbox", "places"),
  prompt_found = lazy("gemini-bridge.prompt.outbox", "found"),
  prompt_open = lazy("gemini-bridge.prompt.outbox", "open"),
  prompt_waits = lazy("gemini-bridge.prompt.outbox", "waits"),
  prompt_done = lazy("gemini-bridge.prompt.outbox", "done"),
  screen_watch = lazy("gemini-bridge.prompt.screen", "watch"),
  screen_type = lazy("gemini-bridge.prompt.screen", "type"),
}

--- Removes null values, which mean undefined in Node. Lua would receive null as `vim.NIL`, which is true in conditions.
---@param value any
---@return any
local function without_nulls(value)
  if type(value) ~= "table" then
    if value == vim.NIL then
      return nil
    end
    return value
  end
  for key, item in pairs(value) do
    value[key] = without_nulls(item)
  end
  return value
end

--- Runs one call of the host. Returns errors, because a raised error would be lost or shown as a traceback.
---@param name string
---@param params table
---@param start? integer Number of the start that the host serves. nil for a private host, which serves only one start.
---@return { result?: any, error?: string }
function M.call(name, params, start)
  if start and not lifecycle.is_current(start) then
    return { error = "this start of the bridge is over" }
  end
  local call = calls[name]
  if not call or type(params) ~= "table" then
    return { error = ("unknown call %s"):format(tostring(name)) }
  end
  params = without_nulls(params)
  for field, kind in pairs(contract.CALLS[name]) do
    if type(params[field]) ~= kind then
      return { error = ("%s: %s must be a %s"):format(name, field, kind) }
    end
  end
  local ok, result = pcall(call, params)
  if ok then
    -- Uses `vim.NIL` for nil. With nil, the table would be empty, and Node would receive a list.
    return { result = result == nil and vim.NIL or result }
  end
  return { error = scheduler.reason(result) }
end

--- Runs one call of the host, like `M.call`, but returns no answer. Writes errors to the log.
---@param name string
---@param params table
---@param start? integer
function M.tell(name, params, start)
  local problem = M.call(name, params, start).error
  if problem then
    channel.notify("log", { level = "warn", text = ("%s failed: %s"):format(tostring(name), problem) })
  end
end

return M
