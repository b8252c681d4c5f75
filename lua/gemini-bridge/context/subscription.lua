--- Tells the host what has changed in the editor: one debounced message, and only while a CLI is connected.
local buffers = require("gemini-bridge.context.buffers")
local consent = require("gemini-bridge.context.consent")
local focus = require("gemini-bridge.context.focus")
local selection = require("gemini-bridge.context.selection")

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
--- The first message is still to be sent.
local reset = false
--- What the user has said about sharing is still to be sent.
local sharing = false
--- Buffers to look at again.
---@type table<integer, true>
local marked = {}
--- What the host knows.
---@type table<integer, string>
local paths = {}

local hrtime = vim.uv.hrtime
local send

local function on_timer()
  local wait = math.min(last + subscription.debounce * MS, first + subscription.maxWait * MS) - hrtime()
  if wait > 0 then
    timer:start(math.ceil(wait / MS), 0, on_timer)
  else
    vim.schedule(send)
  end
end

--- Something may have changed. Runs with each movement of the cursor, so it does next to nothing.
local function touch()
  last = hrtime()
  if not first then
    first = last
    timer:start(subscription.debounce, 0, on_timer)
  end
end

local function mark(args)
  marked[args.buf] = true
  touch()
end

--- The option belongs to the buffer that is current for this moment.
local function on_option()
  mark({ buf = vim.api.nvim_get_current_buf() })
end

---@type table<string, { callback: fun(args: table), pattern?: string[] }>
local special = {
  BufAdd = { callback = mark },
  BufDelete = { callback = mark },
  BufFilePost = { callback = mark },
  BufWipeout = { callback = mark },
  BufWritePost = { callback = mark },
  OptionSet = { callback = on_option, pattern = { "buflisted", "buftype" } },
}

---@param buf integer
---@param changes { bufnr: integer, path?: string }[]
local function look_at(buf, changes)
  local path = buffers.is_file(buf) and buffers.path(buf) or nil
  if path ~= paths[buf] then
    paths[buf] = path
    changes[#changes + 1] = { bufnr = buf, path = path }
  end
end

---@param message table
local function notify(message)
  if reset or sharing then
    message.sharing = consent.settings()
  end
  message.reset, message.more = reset, message.more or false
  message.focus, message.buffers = message.focus or {}, message.buffers or {}
  reset, sharing = false, false
  require("gemini-bridge.bridge.channel").notify("context", message)
end

function send()
  if not subscription or not first or listing then
    return
  end
  first = nil
  if consent.is_paused() then
    return notify({})
  end
  local message = { buffers = {} }
  local active
  message.focus, active = focus.take()
  if active then
    marked[active.buf] = true
    message.active = require("gemini-bridge.context.active").describe(active, subscription.maxSelection)
  end
  for buf in pairs(marked) do
    look_at(buf, message.buffers)
  end
  marked = {}
  notify(message)
end

--- Sends the list of all buffers, a slice at a time.
---@param bufs integer[]
---@param from integer
---@param run gemini_bridge.Subscription
local function list(bufs, from, run)
  if subscription ~= run then
    return
  end
  local slice, message = {}, { buffers = {}, more = true }
  for i = from, math.min(from + SLICE - 1, #bufs) do
    if buffers.is_file(bufs[i]) then
      slice[#slice + 1] = bufs[i]
      look_at(bufs[i], message.buffers)
    end
  end
  message.focus = focus.history(slice)
  notify(message)
  if from + SLICE <= #bufs then
    return vim.defer_fn(function()
      list(bufs, from + SLICE, run)
    end, SLICE_PAUSE)
  end
  listing = false
  first = first or hrtime()
  send()
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
  first, listing, marked, paths = nil, false, {}, {}
end

local function watch()
  stop_watching()
  reset = true
  timer = assert(vim.uv.new_timer())
  if consent.is_paused() then
    first = hrtime()
    return send()
  end
  group = vim.api.nvim_create_augroup("gemini-bridge.context", {})
  for _, event in ipairs(subscription.events) do
    local options = special[event] or { callback = touch }
    vim.api.nvim_create_autocmd(
      event,
      { group = group, pattern = options.pattern, callback = options.callback }
    )
  end
  -- The list tells what had the focus until now.
  focus.take()
  listing = true
  list(vim.api.nvim_list_bufs(), 1, subscription)
end

--- Starts telling the host what changes. What it was told before counts no more.
---@param params gemini_bridge.Subscription
function M.subscribe(params)
  subscription = vim.deepcopy(params)
  watch()
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
  focus.track(changed)
  selection.track(changed)
end

--- Ends everything. May run twice.
function M.untrack()
  M.unsubscribe()
  focus.untrack()
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
    sharing = true
    touch()
  end
end

return M
