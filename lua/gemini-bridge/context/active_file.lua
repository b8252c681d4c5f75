--- Records the active file and the time of the last focus of each file. Recording starts with the bridge, so that a CLI
--- that connects later also learns about earlier files. The handlers of BufEnter and WinEnter run often, so they only
--- store entries. `take` processes the entries.
local buffers = require("gemini-bridge.context.buffers")

local M = {}

local get_current_win, hrtime = vim.api.nvim_get_current_win, vim.uv.hrtime

--- Number of latest entries that can change the active file. Older entries only supply focus times.
local RECENT_COUNT = 64
--- Maximum number of stored entries. While no CLI is connected, `take` is not called. The entries are then processed
--- when this number is exceeded.
local MAX_HISTORY = 512

---@class gemini_bridge.Entered
---@field buf integer
---@field win integer
---@field at integer Last focus, by |uv.hrtime()|.
---@field float? boolean True if the window is or was a float. nil until the window closes or `take` runs.

---@class gemini_bridge.ActiveFile
---@field buf integer
---@field win integer The window that showed the buffer last. It may now show another buffer.

--- Last focus of each buffer in each window. The index is the result of `key`.
---@type table<number, gemini_bridge.Entered>
local entered = {}
--- Upper bound for the size of `entered`.
local count = 0
--- The last recorded buffer and window, to record a change only once. BufEnter and WinEnter often both fire for the
--- same change.
local last_buf, last_win ---@type integer?, integer?

--- The file that was focused last.
---@type gemini_bridge.ActiveFile?
local active
--- The last focused buffer with a name and an empty 'buftype'. May be unlisted.
local named ---@type integer?
--- Last focus of each buffer (Unix milliseconds).
---@type table<integer, integer>
local times = {}
--- Upper bound for the size of `times`. If this bound exceeds `times_limit`, wiped buffers are removed from `times`.
local times_count, times_limit = 0, MAX_HISTORY
--- Buffers that were focused after the last `take`.
---@type table<integer, true>
local untaken = {}
local last_time = 0
--- Start of the recording (Unix seconds).
local started = 0
local group ---@type integer?
local catching_up = false

--- Combines a buffer and a window into one number. Window 0 stands for all closed windows.
---@param buf integer
---@param win integer
local function key(buf, win)
  return buf + win * 0x4000000
end

--- Returns whether a window is a float. If a window closed without an autocommand, its type is unknown. Such windows
--- count as floats, because most of them are.
---@param win integer
local function is_float(win)
  return vim.list_contains({ "popup", "unknown" }, vim.fn.win_gettype(win))
end

---@param buf integer
---@param win integer
---@param float? boolean
local function record(buf, win, float)
  entered[key(buf, win)] = { buf = buf, win = win, at = hrtime(), float = float }
  count = count + 1
end

--- Records the buffers that were probably focused before the recording started, such as the file beside a terminal in
--- which the bridge was started.
local function record_past()
  local alternate, before = vim.fn.bufnr("#"), vim.fn.win_getid(vim.fn.winnr("#"))
  if alternate > 0 then
    record(alternate, 0, false)
  end
  if before > 0 then
    record(vim.api.nvim_win_get_buf(before), before)
  end
  record(vim.api.nvim_get_current_buf(), get_current_win())
end

--- Handles WinClosed. Drops the entries of a float, and moves the entries of other windows to window 0. Must run during
--- the event, because Neovim does not know the type of a closed window.
local function on_close(args)
  local win = tonumber(args.match) --[[@as integer]]
  local shown = vim.tbl_filter(function(seen)
    return seen.win == win
  end, entered)
  local float = #shown > 0 and is_float(win)
  for _, seen in ipairs(shown) do
    entered[key(seen.buf, win)] = nil
    local earlier = entered[key(seen.buf, 0)]
    if not float and not (earlier and earlier.at > seen.at) then
      seen.float = false
      entered[key(seen.buf, 0)] = seen
    end
  end
end

--- Drops wiped buffers. Needed because `:noautocmd` can wipe a buffer without the BufWipeout event.
local function forget_gone()
  for buf in pairs(times) do
    if not vim.api.nvim_buf_is_valid(buf) then
      times[buf], untaken[buf] = nil, nil
      buffers.forget(buf)
    end
  end
  times_count = vim.tbl_count(times)
  times_limit = math.max(MAX_HISTORY, 2 * times_count)
end

---@param buf integer
---@param time number Unix milliseconds. Increased if necessary, so that no two stored times are equal.
local function set_time(buf, time)
  last_time = math.max(math.floor(time), last_time + 1)
  times_count = times_count + (times[buf] and 0 or 1)
  times[buf] = last_time
  untaken[buf] = true
  if times_count > times_limit then
    forget_gone()
  end
end

---@param seen gemini_bridge.Entered
---@param time number Unix milliseconds.
local function enter(seen, time)
  if not vim.api.nvim_buf_is_valid(seen.buf) then
    return
  end
  local same = active and active.buf == seen.buf
  -- A float usually has the focus only for a moment, so it does not change the active file.
  if not same and seen.float then
    return
  end
  if not same or named ~= seen.buf then
    set_time(seen.buf, time)
  end
  if vim.bo[seen.buf].buftype == "" and vim.api.nvim_buf_get_name(seen.buf) ~= "" then
    named = seen.buf
  end
  if buffers.file(seen.buf) then
    active = { buf = seen.buf, win = seen.win }
  end
end

--- Removes all entries and returns them in the order of focus.
---@return gemini_bridge.Entered[]
local function drain()
  local floats = vim.defaulttable(is_float)
  local entries = vim.tbl_values(entered)
  for _, seen in ipairs(entries) do
    if seen.float == nil then
      seen.float = floats[seen.win]
    end
  end
  table.sort(entries, function(a, b)
    return a.at < b.at
  end)
  entered, count = {}, 0
  return entries
end

--- Processes the entries. BufEnter itself would be too early, because many plugins set 'buftype' after that event.
local function catch_up()
  local seconds, microseconds = vim.uv.gettimeofday()
  local epoch = seconds * 1e3 + microseconds / 1e3 - vim.uv.hrtime() / 1e6
  local entries = drain()
  for i, entry in ipairs(entries) do
    local time = epoch + entry.at / 1e6
    if i > #entries - RECENT_COUNT then
      enter(entry, time)
    elseif not entry.float then
      set_time(entry.buf, time)
    end
  end
  if active and not buffers.file(active.buf) then
    active = nil
  end
  local buf, win, now = vim.api.nvim_get_current_buf(), get_current_win(), hrtime()
  if not active or active.buf ~= buf or active.win ~= win then
    enter({ buf = buf, win = win, at = now, float = is_float(win) }, epoch + now / 1e6)
  end
end

--- Returns the handler of BufEnter and WinEnter.
---@param changed fun()
local function on_enter(changed)
  return function(args)
    local buf, win = args.buf, get_current_win()
    if buf == last_buf and win == last_win then
      return
    end
    last_buf, last_win = buf, win
    local entry = entered[key(buf, win)]
    if entry then
      entry.at = hrtime()
    else
      record(buf, win)
    end
    changed()
    if count > MAX_HISTORY and not catching_up then
      catching_up = true
      vim.schedule(function()
        catching_up = false
        if group then
          catch_up()
        end
      end)
    end
  end
end

--- Starts recording. Does nothing if recording has already started.
---@param changed fun() Called at each change of focus, during the autocommand.
function M.track(changed)
  if group then
    return
  end
  group = vim.api.nvim_create_augroup("gemini-bridge.context.active_file", {})
  local function on(events, callback)
    vim.api.nvim_create_autocmd(events, { group = group, callback = callback })
  end
  started = os.time()
  record_past()
  on({ "BufEnter", "WinEnter" }, on_enter(changed))
  on("WinClosed", on_close)
  on({ "BufNew", "BufFilePost" }, function(args)
    buffers.remember(args.buf)
  end)
  on("BufWipeout", function(args)
    times[args.buf], untaken[args.buf] = nil, nil
    buffers.forget(args.buf)
    for slot, seen in pairs(entered) do
      if seen.buf == args.buf then
        entered[slot] = nil
      end
    end
  end)
end

--- Stops recording. Idempotent.
function M.untrack()
  if group then
    vim.api.nvim_del_augroup_by_id(group)
    group = nil
  end
  active, named, times, times_count, untaken = nil, nil, {}, 0, {}
  entered, count, last_buf, last_win = {}, 0, nil, nil
  buffers.forget()
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

--- Returns the active file. Does not affect `take`.
---@return gemini_bridge.ActiveFile?
function M.get()
  catch_up()
  return active
end

--- Returns the time of the last focus of each buffer. Uses `lastused` of |getbufinfo()|, which has whole seconds, for
--- buffers without a recorded time. If such a buffer was used after the start of the recording, it was shown in a
--- float. This use does not count.
---@param bufs integer[]
---@return { bufnr: integer, time: integer }[] # Unix milliseconds.
function M.times(bufs)
  local found = {}
  -- Calls getbufinfo() in Vim script. A call from Lua would copy all variables of each buffer.
  local used = vim.fn.eval(("map([%s], 'getbufinfo(v:val)[0].lastused')"):format(table.concat(bufs, ",")))
  for i, buf in ipairs(bufs) do
    local time = times[buf] or math.min(used[i], started) * 1000
    if time > 0 then
      found[#found + 1] = { bufnr = buf, time = time }
    end
  end
  return found
end

return M
