--- When the host is told what has changed in the editor: a pause after the last event, at the latest some time after
--- the first, and only while a CLI is connected.
local active_file = require("gemini-bridge.context.active_file")
local channel = require("gemini-bridge.bridge.channel")
local consent = require("gemini-bridge.context.consent")
local selection = require("gemini-bridge.context.selection")
local snapshot = require("gemini-bridge.context.snapshot")

local M = {}

--- So many buffers are read in one go: well under a millisecond.
local SLICE = 25
--- Pause between two slices of the first list (milliseconds), in which the editor goes on.
local SLICE_PAUSE = 1
local MS = 1e6 -- nanoseconds

---@class gemini_bridge.Subscription
---@field events string[]
---@field debounce integer Milliseconds after the last event.
---@field maxWait integer Milliseconds after the first event.
---@field maxSelection integer UTF-16 units.

---@type gemini_bridge.Subscription?
local subscription
local group ---@type integer?
local timer ---@type uv_timer_t?

--- When the first event that is not sent yet came, and the last one (nanoseconds).
local first, last ---@type integer?, integer
--- The first list is not complete.
local listing = false

local hrtime = vim.uv.hrtime
-- In the order in which one leads to the next.
local watch, list, touch, on_timer, send

--- Starts telling the host what changes. What it was told before counts no more.
---@param params gemini_bridge.Subscription
function M.subscribe(params)
  subscription = vim.deepcopy(params)
  watch()
end

local function on_buffer_event(args)
  snapshot.buffer_changed(args.buf)
  touch()
end

--- The option belongs to the buffer that is current for this moment.
local function on_option()
  on_buffer_event({ buf = vim.api.nvim_get_current_buf() })
end

--- Events after which a buffer may be another file.
---@type table<string, { callback: fun(args: table), pattern?: string[] }>
local buffer_events = {
  BufAdd = { callback = on_buffer_event },
  BufDelete = { callback = on_buffer_event },
  BufFilePost = { callback = on_buffer_event },
  BufWipeout = { callback = on_buffer_event },
  BufWritePost = { callback = on_buffer_event },
  OptionSet = { callback = on_option, pattern = { "buflisted", "buftype" } },
}

local function stop_watching()
  if group then
    vim.api.nvim_del_augroup_by_id(group)
    group = nil
  end
  if timer then
    timer:close()
    timer = nil
  end
  first, listing = nil, false
end

function watch()
  stop_watching()
  snapshot.reset()
  timer = assert(vim.uv.new_timer())
  -- A timer that has been set is started again in half the time.
  timer:start(subscription.debounce, subscription.debounce, on_timer)
  timer:stop()
  if consent.is_paused() then
    first = hrtime()
    return send()
  end
  group = vim.api.nvim_create_augroup("gemini-bridge.context.subscription", {})
  for _, event in ipairs(subscription.events) do
    local options = buffer_events[event] or { callback = touch }
    vim.api.nvim_create_autocmd(
      event,
      { group = group, pattern = options.pattern, callback = options.callback }
    )
  end
  listing = true
  list(vim.api.nvim_list_bufs(), 1, subscription)
end

--- Sends the list of all buffers, a slice at a time.
---@param bufs integer[]
---@param from integer
---@param run gemini_bridge.Subscription
function list(bufs, from, run)
  if subscription ~= run then
    return
  end
  channel.notify("context", snapshot.slice(vim.list_slice(bufs, from, from + SLICE - 1)))
  if from + SLICE <= #bufs then
    return vim.defer_fn(function()
      list(bufs, from + SLICE, run)
    end, SLICE_PAUSE)
  end
  listing = false
  first = first or hrtime()
  send()
end

--- Something may have changed. Runs with each movement of the cursor, so it does next to nothing.
function touch()
  last = hrtime()
  if not first then
    first = last
    if subscription.debounce > 0 then
      timer:again()
    else
      on_timer() -- what repeats after no time does not start again
    end
  end
end

function on_timer()
  local wait = math.min(last + subscription.debounce * MS, first + subscription.maxWait * MS) - hrtime()
  if wait > 0 then
    timer:start(math.ceil(wait / MS), subscription.debounce, on_timer)
  else
    timer:stop()
    vim.schedule(send)
  end
end

function send()
  if not subscription or not first or listing then
    return
  end
  first = nil
  local paused = consent.is_paused()
  channel.notify("context", paused and snapshot.nothing() or snapshot.take(subscription.maxSelection))
end

--- May run twice.
function M.unsubscribe()
  stop_watching()
  subscription = nil
end

--- Keeps the record from which the first snapshot is made, while the bridge runs.
function M.track()
  local function changed()
    if subscription and not consent.is_paused() then
      touch()
    end
  end
  active_file.track(changed)
  selection.track(changed)
end

--- Ends everything. May run twice.
function M.untrack()
  M.unsubscribe()
  active_file.untrack()
  selection.untrack()
end

--- Pauses or resumes sharing.
---@param on boolean
function M.share(on)
  consent.set_paused(not on)
  if subscription then
    watch()
  end
end

--- The options, or the directories that they depend on, have changed.
function M.refresh()
  if subscription then
    snapshot.sharing_changed()
    touch()
  end
end

return M
