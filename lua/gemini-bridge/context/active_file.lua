--- Which file the user looks at, and when files had the focus last; also before the first CLI connects, which is to
--- learn what came before it.
local buffers = require("gemini-bridge.context.buffers")
local focus_history = require("gemini-bridge.context.focus_history")

local M = {}

--- So many of those entered last are looked at closely; of the others their time is all that counts by then.
local LOOKED_AT = 64
--- So many entries of the history wait for the next `take`. While no CLI is connected none comes, for days.
local MAX_WAITING = 512

---@class gemini_bridge.ActiveFile
---@field buf integer
---@field win integer Where it was last; another one if it is not there any more.

--- The last ordinary file buffer that had the focus.
---@type gemini_bridge.ActiveFile?
local active
--- The last ordinary buffer with a name that had the focus: one that is not listed now may be listed later.
local named ---@type integer?
--- When buffers had the focus last, in Unix milliseconds.
---@type table<integer, integer>
local times = {}
--- How many there are at most, and how many there may be before those of buffers that are gone are looked for.
local times_count, times_limit = 0, MAX_WAITING
--- Buffers that had the focus since the last `take`.
---@type table<integer, true>
local untaken = {}
local last_time = 0
local group ---@type integer?
local catching_up = false
-- In the order in which one leads to the next.
local catch_up, enter, note, forget_gone

--- Starts recording. A record that is being kept goes on.
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
    if focus_history.count() > MAX_WAITING and not catching_up then
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

--- What is true now decides: a buffer's type is often set after the focus has gone there.
function catch_up()
  local seconds, microseconds = vim.uv.gettimeofday()
  local epoch = seconds * 1e3 + microseconds / 1e3 - vim.uv.hrtime() / 1e6
  local seen = focus_history.take()
  for i, one in ipairs(seen) do
    local time = epoch + one.at / 1e6
    if i > #seen - LOOKED_AT then
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
  -- A float takes the focus for a moment; one that shows the active file is another window of it.
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
---@param time number Unix milliseconds; what is kept of it rises from one to the next.
function note(buf, time)
  last_time = math.max(math.floor(time), last_time + 1)
  times_count = times_count + (times[buf] and 0 or 1)
  times[buf] = last_time
  untaken[buf] = true
  if times_count > times_limit then
    forget_gone()
  end
end

--- Forgets buffers that were wiped without an autocommand, so that there are never many more times than buffers.
function forget_gone()
  for buf in pairs(times) do
    if not vim.api.nvim_buf_is_valid(buf) then
      times[buf], untaken[buf] = nil, nil
      buffers.forget(buf)
    end
  end
  times_count = vim.tbl_count(times)
  times_limit = math.max(MAX_WAITING, 2 * times_count)
end

--- The buffers that had the focus since the last call, and the file that has it.
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

--- The file that has the focus, or had it last. What waits for the next `take` goes on waiting.
---@return gemini_bridge.ActiveFile?
function M.get()
  catch_up()
  return active
end

--- When buffers had the focus last, as far as it was known at the last `take`, also from before the record.
---@param bufs integer[]
---@return { bufnr: integer, time: integer }[]
function M.times(bufs)
  local found = {}
  -- Evaluated there, so that the buffers' variables, which can be large, are not copied into Lua.
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
