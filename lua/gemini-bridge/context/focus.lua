--- Which file the user looks at, also before the first CLI connects, which is to learn what came before it.
local buffers = require("gemini-bridge.context.buffers")
local record = require("gemini-bridge.context.focus_record")

local M = {}

--- So many of those entered last are looked at closely, which takes 4 us each; of the others their time is all that
--- counts by then.
local LOOKED_AT = 64

---@class gemini_bridge.Focus
---@field buf integer
---@field win integer Where it was last; another one if it is not there any more.

--- The last ordinary file buffer that had the focus.
---@type gemini_bridge.Focus?
local active
--- The last ordinary buffer with a name that had the focus: one that is not listed now may be listed later.
local named ---@type integer?
--- When files had the focus last, in Unix milliseconds.
---@type table<integer, integer>
local times = {}
--- The changes since they were last taken.
---@type { bufnr: integer, time: integer }[]
local changes = {}
local last_time = 0
local group ---@type integer?

---@param buf integer
---@param time number Unix milliseconds; what is kept of it rises from one to the next.
local function note(buf, time)
  last_time = math.max(math.floor(time), last_time + 1)
  times[buf] = last_time
  changes[#changes + 1] = { bufnr = buf, time = last_time }
end

---@param seen gemini_bridge.Entered
---@param time number Unix milliseconds.
local function enter(seen, time)
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
  if buffers.is_file(seen.buf) then
    active = { buf = seen.buf, win = seen.win }
  end
end

--- What is true now decides: a buffer's type is often set after the focus has gone there.
local function settle()
  local seconds, microseconds = vim.uv.gettimeofday()
  local epoch = seconds * 1e3 + microseconds / 1e3 - vim.uv.hrtime() / 1e6
  local seen = record.take()
  for i, one in ipairs(seen) do
    local time = epoch + one.at / 1e6
    if i > #seen - LOOKED_AT then
      enter(one, time)
    elseif not one.float then
      note(one.buf, time)
    end
  end
  if active and not buffers.is_file(active.buf) then
    active = nil
  end
  local here = record.here()
  if not active or active.buf ~= here.buf or active.win ~= here.win then
    enter(here, epoch + here.at / 1e6)
  end
end

--- Starts recording. A record that is being kept goes on.
---@param changed fun() Called in the tick of each change.
function M.track(changed)
  if group then
    return
  end
  group = vim.api.nvim_create_augroup("gemini-bridge.focus", {})
  local function on(events, callback)
    vim.api.nvim_create_autocmd(events, { group = group, callback = callback })
  end
  record.watch(on, changed)
  on({ "BufNew", "BufFilePost" }, function(args)
    buffers.path(args.buf)
  end)
  on("BufWipeout", function(args)
    times[args.buf] = nil
    buffers.forget(args.buf)
    record.forget(args.buf)
  end)
end

--- May run twice.
function M.untrack()
  if group then
    vim.api.nvim_del_augroup_by_id(group)
    group = nil
  end
  active, named, times, changes = nil, nil, {}, {}
  buffers.forget()
  record.forget()
end

--- The changes of focus since the last call, and the file that has it.
---@return { bufnr: integer, time: integer }[], gemini_bridge.Focus?
function M.take()
  settle()
  local taken = changes
  changes = {}
  return taken, active
end

--- When buffers had the focus last, as far as it was known at the last `take`, also from before the record.
---@param bufs integer[]
---@return { bufnr: integer, time: integer }[]
function M.history(bufs)
  local known = {}
  -- Evaluated there, so that the buffers' variables, which can be large, are not copied into Lua.
  local used = vim.fn.eval(("map([%s], 'getbufinfo(v:val)[0].lastused')"):format(table.concat(bufs, ",")))
  for i, buf in ipairs(bufs) do
    local time = times[buf] or used[i] * 1000
    if time > 0 then
      known[#known + 1] = { bufnr = buf, time = time }
    end
  end
  return known
end

return M
