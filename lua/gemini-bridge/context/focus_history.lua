--- Records which buffers were focused, in which windows and when. The handlers run with each BufEnter and WinEnter, and
--- do as little as possible.
local M = {}

local get_current_win, hrtime = vim.api.nvim_get_current_win, vim.uv.hrtime

---@class gemini_bridge.Entered
---@field buf integer
---@field win integer
---@field at integer Last focus, by |uv.hrtime()|.
---@field float? boolean Whether the window is, or was, a float. Determined when the window closes, or in `take`.

--- The last focus of each buffer in each window, by `key`.
---@type table<number, gemini_bridge.Entered>
local entered = {}
--- Upper bound for the number of entries.
local count = 0
--- The last recorded buffer and window. Many events come in pairs, without any change.
local last_buf, last_win ---@type integer?, integer?

--- Combines a buffer and a window into one number. Window 0 stands for closed windows.
---@param buf integer
---@param win integer
local function key(buf, win)
  return buf + win * 0x4000000
end

--- Whether a window is a float. A window that closed without an autocommand counts as a float, because most such
--- windows are floats.
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

--- Records which buffers were probably focused before the start, such as the file beside the terminal that starts the
--- bridge.
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
  end
end

--- Moves the entries of a closing window to window 0, and drops those of a float. Afterwards the type of the window is
--- unknown.
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

--- Starts recording with autocommands that `on` creates.
---@param on fun(events: string|string[], callback: fun(args: table))
---@param changed fun() Called in the tick of each change.
function M.watch(on, changed)
  record_past()
  on({ "BufEnter", "WinEnter" }, on_enter(changed))
  on("WinClosed", on_close)
end

--- Drops the entries of one buffer, or of all buffers.
---@param buf? integer
function M.forget(buf)
  if not buf then
    entered, count, last_buf, last_win = {}, 0, nil, nil
    return
  end
  for slot, seen in pairs(entered) do
    if seen.buf == buf then
      entered[slot] = nil
    end
  end
end

--- Returns an upper bound for the number of entries.
---@return integer
function M.count()
  return count
end

--- Returns the entries since the last call, in the order of focus.
---@return gemini_bridge.Entered[]
function M.take()
  local floats = vim.defaulttable(is_float)
  -- Sorting numbers takes a third of the time of sorting entries. No two times are equal.
  local order, by_time = {}, {}
  for _, seen in pairs(entered) do
    order[#order + 1] = seen.at
    by_time[seen.at] = seen
    if seen.float == nil then
      seen.float = floats[seen.win]
    end
  end
  table.sort(order)
  entered, count = {}, 0
  return vim.tbl_map(function(at)
    return by_time[at]
  end, order)
end

--- Returns the focused buffer and window.
---@return gemini_bridge.Entered
function M.here()
  local win = get_current_win()
  return { buf = vim.api.nvim_get_current_buf(), win = win, at = hrtime(), float = is_float(win) }
end

return M
