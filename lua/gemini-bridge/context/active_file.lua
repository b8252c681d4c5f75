--- Records the active file and when each file was focused. Recording starts with the bridge, so that the first CLI also
--- learns about earlier files.
local buffers = require("gemini-bridge.context.buffers")
local focus_history = require("gemini-bridge.context.focus_history")

local M = {}

--- Number of recent history entries that can change the active file. From older entries, only the time is used.
local RECENT_COUNT = 64
--- Maximum number of history entries before they are processed without waiting for `take`. While no CLI is connected,
--- `take` may not be called for days.
local MAX_HISTORY = 512

---@class gemini_bridge.ActiveFile
---@field buf integer
---@field win integer The last window of the buffer, which may now show another buffer.

--- The file buffer that was focused last.
---@type gemini_bridge.ActiveFile?
local active
--- The named ordinary buffer that was focused last. It may be unlisted now and be listed later.
local named ---@type integer?
--- Last focus of each buffer (Unix milliseconds).
---@type table<integer, integer>
local times = {}
--- Upper bound for the size of `times`, and the size that triggers a search for deleted buffers.
local times_count, times_limit = 0, MAX_HISTORY
--- Buffers that were focused after the last `take`.
---@type table<integer, true>
local untaken = {}
local last_time = 0
local group ---@type integer?
local catching_up = false
-- Declared in the order of calls.
local catch_up, enter, note, forget_gone

--- Starts recording. Does nothing if the recording has started.
---@param changed fun() Called in the tick of each change.
function M.track(changed)
  if group then
    return
  end
  group = vim.api.nvim_create_augroup("gemini-bridge.context.active_file", {})
  local function on(events, callback)
    vim.api.nvim_create_autocmd(events, { group = group, callback = callback })
  end
  focus_history.watch(on, function()
    changed()
    if focus_history.count() > MAX_HISTORY and not catching_up then
      catching_up = true
      vim.schedule(function()
        catching_up = false
        if group then
          catch_up()
        end
      end)
    end
  end)
  on({ "BufNew", "BufFilePost" }, function(args)
    buffers.remember(args.buf)
  end)
  on("BufWipeout", function(args)
    times[args.buf], untaken[args.buf] = nil, nil
    buffers.forget(args.buf)
    focus_history.forget(args.buf)
  end)
end

--- May run twice.
function M.untrack()
  if group then
    vim.api.nvim_del_augroup_by_id(group)
    group = nil
  end
  active, named, times, times_count, untaken = nil, nil, {}, 0, {}
  buffers.forget()
  focus_history.forget()
end

--- Processes the history. Runs late on purpose: the type of a buffer is often set after it was entered.
function catch_up()
  local seconds, microseconds = vim.uv.gettimeofday()
  local epoch = seconds * 1e3 + microseconds / 1e3 - vim.uv.hrtime() / 1e6
  local seen = focus_history.take()
  for i, one in ipairs(seen) do
    local time = epoch + one.at / 1e6
    if i > #seen - RECENT_COUNT then
      enter(one, time)
    elseif not one.float then
      note(one.buf, time)
    end
  end
  if active and not buffers.file(active.buf) then
    active = nil
  end
  local here = focus_history.here()
  if not active or active.buf ~= here.buf or active.win ~= here.win then
    enter(here, epoch + here.at / 1e6)
  end
end

---@param seen gemini_bridge.Entered
---@param time number Unix milliseconds.
function enter(seen, time)
  if not vim.api.nvim_buf_is_valid(seen.buf) then
    return
  end
  local same = active and active.buf == seen.buf
  -- Ignores a float, which has the focus only for a moment, unless it shows the active file.
  if not same and seen.float then
    return
  end
  if not same or named ~= seen.buf then
    note(seen.buf, time)
  end
  if vim.bo[seen.buf].buftype == "" and vim.api.nvim_buf_get_name(seen.buf) ~= "" then
    named = seen.buf
  end
  if buffers.file(seen.buf) then
    active = { buf = seen.buf, win = seen.win }
  end
end

---@param buf integer
---@param time number Unix milliseconds. Stored times are strictly increasing.
function note(buf, time)
  last_time = math.max(math.floor(time), last_time + 1)
  times_count = times_count + (times[buf] and 0 or 1)
  times[buf] = last_time
  untaken[buf] = true
  if times_count > times_limit then
    forget_gone()
  end
end

--- Drops buffers that were wiped without an autocommand, so that `times` does not grow without limit.
function forget_gone()
  for buf in pairs(times) do
    if not vim.api.nvim_buf_is_valid(buf) then
      times[buf], untaken[buf] = nil, nil
      buffers.forget(buf)
    end
  end
  times_count = vim.tbl_count(times)
  times_limit = math.max(MAX_HISTORY, 2 * times_count)
end

--- Returns the buffers that were focused since the last call, and the active file.
---@return { bufnr: integer, time: integer }[], gemini_bridge.ActiveFile?
function M.take()
  catch_up()
  local focused = {}
  for buf in pairs(untaken) do
    focused[#focused + 1] = { bufnr = buf, time = times[buf] }
  end
  untaken = {}
  return focused, active
end

--- Returns the active file. Does not affect the next `take`.
---@return gemini_bridge.ActiveFile?
function M.get()
  catch_up()
  return active
end

--- Returns when buffers were focused last, including times before the recording started. Does not process the history.
---@param bufs integer[]
---@return { bufnr: integer, time: integer }[]
function M.times(bufs)
  local found = {}
  -- Evaluated in Vim script, because getbufinfo() would copy the variables of each buffer into Lua.
  local used = vim.fn.eval(("map([%s], 'getbufinfo(v:val)[0].lastused')"):format(table.concat(bufs, ",")))
  for i, buf in ipairs(bufs) do
    local time = times[buf] or used[i] * 1000
    if time > 0 then
      found[#found + 1] = { bufnr = buf, time = time }
    end
  end
  return found
end

return M
