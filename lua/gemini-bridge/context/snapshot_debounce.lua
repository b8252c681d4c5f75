--- Sends snapshots of the editor to the host while a CLI is connected. Events are debounced with a maximum delay.
--- src/context/snapshot-subscription.ts defines both delays.
local active_file = require("gemini-bridge.context.active_file")
local channel = require("gemini-bridge.bridge.channel")
local consent = require("gemini-bridge.context.consent")
local notify = require("gemini-bridge.notify")
local scheduler = require("gemini-bridge.editor.scheduler")
local selection = require("gemini-bridge.context.selection")
local snapshot = require("gemini-bridge.context.snapshot")

local M = {}

--- Number of buffers in each part of a complete snapshot. Reading a part takes less than a millisecond.
local SLICE_SIZE = 25
--- Pause between two parts, so that the editor can handle events.
local SLICE_PAUSE_MS = 1
local NS_PER_MS = 1e6

---@type gemini_bridge.calls.context_subscribe?
local subscription
local group ---@type integer?
local timer ---@type uv_timer_t?

--- Times of the first and the last event after the last snapshot (nanoseconds).
local first, last ---@type integer?, integer
--- True if parts of the complete snapshot are still to be sent.
local listing = false

local hrtime = vim.uv.hrtime
-- Declared in advance, because these functions call each other.
local watch, list, touch, on_timer, send

--- Starts sending snapshots to the host. The first snapshot is complete.
---@param params gemini_bridge.calls.context_subscribe
function M.subscribe(params)
  subscription = vim.deepcopy(params)
  watch()
  M.ask()
end

--- Asks the user whether to share, if necessary. Called when a CLI or its model could get data for the first time.
function M.ask()
  scheduler.next(function()
    consent.ask(M.share)
  end)
end

--- Handles an event that may change the context. Runs at each movement of the cursor and therefore must be cheap. Marks
--- the buffer at each event: the snapshot contains the buffer only if its path has changed.
local function on_event(args)
  -- OptionSet does not name the buffer, which is always the current buffer.
  snapshot.buffer_changed(args.event == "OptionSet" and vim.api.nvim_get_current_buf() or args.buf)
  touch()
end

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
  if consent.is_paused() then
    first = hrtime()
    return send()
  end
  group = vim.api.nvim_create_augroup("gemini-bridge.context.snapshot_debounce", {})
  for _, event in ipairs(subscription.events) do
    local pattern = event == "OptionSet" and { "buflisted", "buftype" } or nil
    vim.api.nvim_create_autocmd(event, { group = group, pattern = pattern, callback = on_event })
  end
  listing = true
  list(vim.api.nvim_list_bufs(), 1, subscription)
end

--- Sends all buffers, in several parts.
---@param bufs integer[]
---@param from integer
---@param run gemini_bridge.calls.context_subscribe The subscription. A newer subscription ends the sending.
function list(bufs, from, run)
  if subscription ~= run then
    return
  end
  channel.notify("context", snapshot.slice(vim.list_slice(bufs, from, from + SLICE_SIZE - 1)))
  if from + SLICE_SIZE <= #bufs then
    return vim.defer_fn(function()
      list(bufs, from + SLICE_SIZE, run)
    end, SLICE_PAUSE_MS)
  end
  listing = false
  first = first or hrtime()
  send()
end

--- Records that the context may have changed.
function touch()
  last = hrtime()
  if not first then
    first = last
    timer:start(subscription.debounce, 0, on_timer)
  end
end

function on_timer()
  local due = math.min(last + subscription.debounce * NS_PER_MS, first + subscription.maxWait * NS_PER_MS)
  local wait = due - hrtime()
  if wait > 0 then
    timer:start(math.ceil(wait / NS_PER_MS), 0, on_timer)
  else
    vim.schedule(send)
  end
end

function send()
  if not subscription or not first or listing then
    return
  end
  -- An event during the complete snapshot has started the timer, which must not fire without a time in `first`.
  timer:stop()
  first = nil
  local paused = consent.is_paused()
  channel.notify("context", paused and snapshot.nothing() or snapshot.take(subscription.maxSelection))
end

--- Stops sending snapshots. Idempotent.
function M.unsubscribe()
  stop_watching()
  subscription = nil
end

--- Starts recording focus and selection. Called when the bridge starts.
function M.track()
  local function changed()
    if subscription and not consent.is_paused() then
      touch()
    end
  end
  active_file.track(changed)
  selection.track(changed)
end

--- Stops sending snapshots, and stops recording. Idempotent.
function M.untrack()
  M.unsubscribe()
  active_file.untrack()
  selection.untrack()
end

--- Pauses or allows sharing, and tells the user.
---@param on boolean
function M.share(on)
  consent.decide(on)
  M.refresh()
  require("gemini-bridge.bridge.status").redraw()
  notify(
    on and "Sharing is on: CLIs and models get data from Neovim."
      or "Sharing is paused: CLIs and models get no data from Neovim until you run :GeminiShare on."
  )
end

--- Sends the sharing settings again. Called when the user's decision, the options or the directories of the workspace
--- have changed.
function M.refresh()
  local is_paused = consent.is_paused()
  channel.notify("sharing", { paused = is_paused })
  if not subscription then
    return
  elseif is_paused or not group then
    watch()
    return M.ask()
  end
  snapshot.sharing_changed()
  touch()
end

return M
