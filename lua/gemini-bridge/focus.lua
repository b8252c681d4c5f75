--- Which file the user looks at: a record of the focus, kept while the bridge runs, so that the first CLI to connect
--- learns what came before it. Recording reads nothing.
local buffers = require("gemini-bridge.buffers")

local M = {}

--- So many changes are recorded before they are looked at, when nobody asks.
local MAX_PENDING = 64

---@class gemini_bridge.Focus
---@field buf integer
---@field win integer Where it was last; another one if it is not there any more.

---@type (gemini_bridge.Focus|{ float: boolean, time: integer })[]
local pending = {}
--- The last ordinary file buffer that had the focus.
---@type gemini_bridge.Focus?
local active
--- The last ordinary buffer with a name that had the focus: one that is not listed now may be listed later.
local entered ---@type integer?
--- When files had the focus last, in Unix milliseconds.
---@type table<integer, integer>
local times = {}
--- The changes since they were last taken.
---@type { bufnr: integer, time: integer }[]
local changes = {}
local last_time = 0
local group ---@type integer?

--- Unix milliseconds that rise with each call.
local function now()
  local seconds, microseconds = vim.uv.gettimeofday()
  last_time = math.max(seconds * 1000 + math.floor(microseconds / 1000), last_time + 1)
  return last_time
end

---@param seen gemini_bridge.Focus|{ float: boolean, time: integer }
local function enter(seen)
  local same = active and active.buf == seen.buf
  -- A float takes the focus for a moment; one that shows the active file is another window of it.
  if not vim.api.nvim_buf_is_valid(seen.buf) or seen.float and not same then
    return
  end
  if not same or entered ~= seen.buf then
    times[seen.buf] = seen.time
    changes[#changes + 1] = { bufnr = seen.buf, time = seen.time }
  end
  if vim.bo[seen.buf].buftype == "" and vim.api.nvim_buf_get_name(seen.buf) ~= "" then
    entered = seen.buf
  end
  if buffers.is_file(seen.buf) then
    active = { buf = seen.buf, win = seen.win }
  end
end

--- What is true now decides: a buffer's type is often set after the focus has gone there.
local function settle()
  for _, seen in ipairs(pending) do
    enter(seen)
  end
  pending = {}
  if active and not buffers.is_file(active.buf) then
    active = nil
  end
  local buf = vim.api.nvim_get_current_buf()
  local win = vim.api.nvim_get_current_win()
  if not active or active.buf ~= buf or active.win ~= win then
    enter({ buf = buf, win = win, float = vim.fn.win_gettype() == "popup", time = now() })
  end
end

---@param buf integer
---@param win integer
local function record(buf, win)
  local float = vim.fn.win_gettype(win) == "popup"
  pending[#pending + 1] = { buf = buf, win = win, float = float, time = now() }
end

--- What most likely had the focus before the record starts: when it starts from a terminal, the file beside it.
local function record_past()
  local alternate, before = vim.fn.bufnr("#"), vim.fn.win_getid(vim.fn.winnr("#"))
  if alternate > 0 then
    record(alternate, 0)
  end
  if before > 0 then
    record(vim.api.nvim_win_get_buf(before), before)
  end
  record(vim.api.nvim_get_current_buf(), vim.api.nvim_get_current_win())
end

--- Starts recording. A record that is being kept goes on.
function M.track()
  if group then
    return
  end
  group = vim.api.nvim_create_augroup("gemini-bridge.focus", {})
  record_past()
  vim.api.nvim_create_autocmd({ "BufEnter", "WinEnter" }, {
    group = group,
    callback = function(args)
      record(args.buf, vim.api.nvim_get_current_win())
      if #pending > MAX_PENDING then
        settle()
      end
    end,
  })
  vim.api.nvim_create_autocmd({ "BufNew", "BufFilePost" }, {
    group = group,
    callback = function(args)
      buffers.path(args.buf)
    end,
  })
  vim.api.nvim_create_autocmd("BufWipeout", {
    group = group,
    callback = function(args)
      times[args.buf] = nil
      buffers.forget(args.buf)
    end,
  })
end

--- May run twice.
function M.untrack()
  if group then
    vim.api.nvim_del_augroup_by_id(group)
    group = nil
  end
  pending, active, entered, times, changes = {}, nil, nil, {}, {}
  buffers.forget()
end

--- The changes of focus since the last call, and the file that has it.
---@return { bufnr: integer, time: integer }[], gemini_bridge.Focus?
function M.take()
  settle()
  local taken = changes
  changes = {}
  return taken, active
end

--- When buffers had the focus last, as far as it is known, also from before the record.
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
