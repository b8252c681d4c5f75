--- Handles the calls of the Node host: the Lua side of src/contract/neovim.ts.
local changes = require("gemini-bridge.changes.changes")
local context = require("gemini-bridge.context.subscription")
local decision = require("gemini-bridge.review.decision")
local environment = require("gemini-bridge.host.environment")
local lifecycle = require("gemini-bridge.host.lifecycle")
local look = require("gemini-bridge.changes.look")
local memory = require("gemini-bridge.bridge.memory")
local notify = require("gemini-bridge.notify")
local past = require("gemini-bridge.changes.past")
local reload = require("gemini-bridge.disk.reload")
local reviews = require("gemini-bridge.review.reviews")
local scheduler = require("gemini-bridge.editor.scheduler")
local turns = require("gemini-bridge.turns.turns")

local M = {}

--- Lazy-loads a function.
---@param module string
---@param name string Name of the function.
---@return fun(params: table): any
local function room(module, name)
  return function(params)
    return require("gemini-bridge." .. module)[name](params)
  end
end

--- All calls, each with the types of its required parameters.
---@type table<string, { params: table<string, string>, run: fun(params: table): any }>
local calls = {
  attach = { params = { pid = "number" }, run = lifecycle.attached },
  status = {
    params = { state = "string", workspace = "table", clients = "table" },
    run = lifecycle.on_status,
  },
  set_environment = { params = { set = "table", unset = "table", clis = "table" }, run = environment.set },
  message = {
    params = { level = "string", text = "string" },
    run = function(params)
      notify(params.text, params.level)
    end,
  },
  turn = {
    params = { kind = "string", cli = "string", session = "string", cwd = "string" },
    run = turns.changed,
  },
  context_subscribe = {
    params = { events = "table", debounce = "number", maxWait = "number", maxSelection = "number" },
    run = context.subscribe,
  },
  context_unsubscribe = { params = {}, run = context.unsubscribe },
  remember = { params = { sessions = "table", diffs = "table" }, run = memory.remember },
  decision_settled = {
    params = { id = "number", delivered = "boolean", filePath = "string" },
    run = decision.settled,
  },
  decision_read = { params = { id = "number" }, run = reviews.read_accepted },
  consent = { params = {}, run = room("model", "consent") },
  ask = { params = { id = "number", question = "string", params = "table" }, run = room("model", "ask") },
  model_watch = { params = { on = "boolean", selection = "boolean" }, run = room("model", "watch") },
  diff_open = {
    params = {
      id = "number",
      filePath = "string",
      newContent = "string",
      textId = "string",
      client = "string",
    },
    run = reviews.open,
  },
  diff_read = { params = { id = "number" }, run = reviews.read },
  diff_update = { params = { id = "number", stale = "boolean" }, run = reviews.update },
  diff_close = { params = { id = "number", reason = "string" }, run = reviews.close },
  file_changed = { params = { path = "string" }, run = reload.written },
  changes_follow = { params = { active = "boolean" }, run = changes.follow },
  change_show = { params = { path = "string", edited = "boolean" }, run = changes.show },
  change_lines = { params = { path = "string", hunks = "table" }, run = look.show_old },
  deleted_text = {
    params = { path = "string", lines = "table" },
    run = room("changes.deleted", "show"),
  },
  turn_changes = {
    params = { cli = "string", files = "number", added = "number", removed = "number" },
    run = changes.turn_ended,
  },
  history_show = { params = { id = "number", entries = "table" }, run = past.answered },
  history_diff = { params = { entry = "table", before = "table", after = "table" }, run = past.show },
  files_open = { params = {}, run = changes.open_files },
  prompt_places = { params = {}, run = room("prompt.outbox", "places") },
  prompt_found = {
    params = { id = "number", name = "string", cwd = "string" },
    run = room("prompt.outbox", "found"),
  },
  prompt_open = { params = { id = "number" }, run = room("prompt.outbox", "open") },
  prompt_waits = {
    params = { id = "number", reason = "string", say = "boolean" },
    run = room("prompt.outbox", "waits"),
  },
  prompt_done = { params = { id = "number", typed = "boolean" }, run = room("prompt.outbox", "done") },
  screen_watch = { params = { buf = "number", on = "boolean" }, run = room("prompt.screen", "watch") },
  screen_type = { params = { buf = "number", tick = "number" }, run = room("prompt.screen", "type") },
}

--- Removes nulls, which stand for undefined values in Node. In Lua, `vim.NIL` is true.
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

--- Runs one call of the host. Never raises an error, which would be shown as a traceback or be lost.
---@param name string
---@param params table
---@param start? integer Number of the start that the host serves, if its process serves several.
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
  for field, kind in pairs(call.params) do
    if type(params[field]) ~= kind then
      return { error = ("%s: %s must be a %s"):format(name, field, kind) }
    end
  end
  local ok, result = pcall(call.run, params)
  if ok then
    -- An empty table would reach Node as a list.
    return { result = result == nil and vim.NIL or result }
  end
  return { error = scheduler.reason(result) }
end

return M
