--- Chooses the selection for the context: the highlighted one, else the one left behind when the user switched to a
--- terminal, else the pinned one.
local highlighted = require("gemini-bridge.context.highlighted")
local left_behind = require("gemini-bridge.context.left_behind")
local pin = require("gemini-bridge.context.pin")
local region = require("gemini-bridge.context.region")

local M = {}

local group ---@type integer?
--- Called when another selection may apply.
local changed = function() end

local function on_change()
  changed()
end

local function on_start(args)
  left_behind.forget()
  highlighted.started(args.match:match(":(.)"))
end

local function on_end(args)
  if region.kind(args.match:match(":(.)")) or args.match:find(":c", 1, true) then
    return
  end
  local selected = highlighted.ended()
  if selected then
    left_behind.hold(selected, on_change)
  end
end

--- Starts tracking selections. Does nothing if tracking has started.
---@param on_other fun() Called when a kept or pinned selection was added or dropped.
function M.track(on_other)
  if group then
    return
  end
  changed = on_other
  group = vim.api.nvim_create_augroup("gemini-bridge.context.selection", {})
  local function on(event, pattern, callback)
    vim.api.nvim_create_autocmd(event, { group = group, pattern = pattern, callback = callback })
  end
  on("ModeChanged", "[vVsS\22\19]*:*", on_end)
  on("ModeChanged", "*:[vVsS\22\19]*", on_start)
  -- Ignore nested command lines, such as the one for an expression.
  on("CmdlineEnter", "*", function()
    if vim.v.event.cmdlevel == 1 then
      highlighted.command_line_opened()
    end
  end)
  on("CmdlineLeave", "*", function()
    if vim.v.event.cmdlevel == 1 then
      highlighted.command_line_closed()
    end
  end)
end

--- May run twice.
function M.untrack()
  if group then
    vim.api.nvim_del_augroup_by_id(group)
    group = nil
  end
  highlighted.forget()
  left_behind.forget()
end

--- Keeps the last selection for a command with its range that switches to a terminal. The selection may have been made
--- before tracking started.
function M.take_along()
  local selected = not left_behind.ending() and vim.bo.buftype == "" and region.ended(false)
  if selected then
    left_behind.hold(selected, on_change)
  end
end

---@return gemini_bridge.Region?
local function current()
  return highlighted.region() or highlighted.in_command_line() and left_behind.ending() or nil
end

--- Returns the selected text of a buffer, or the beginning of a long one.
---@param buf integer
---@param limit integer UTF-16 units.
---@return string?
function M.text(buf, limit)
  local now = current()
  -- The text may have changed since the command line opened, for example by a timer.
  if now and now.buf == buf and now.tick == vim.api.nvim_buf_get_changedtick(buf) then
    return region.read(now, limit)
  elseif left_behind.is_in(buf) then
    return left_behind.text(limit)
  end
  return pin.text(buf, limit)
end

--- Pins lines of the current buffer. If they are the lines of the selection that the command was typed in, pins exactly
--- the selected text.
---@param lines? { [1]: integer, [2]: integer } 1-based. Default: the highlighted text, or the cursor's line.
function M.pin(lines)
  local cursor = vim.api.nvim_win_get_cursor(0)[1]
  local selected = not lines and current() or region.lines(unpack(lines or { cursor, cursor }))
  local before = left_behind.ending()
  if
    before
    and before.buf == selected.buf
    and before.first[2] == selected.first[2]
    and before.last[2] == selected.last[2]
  then
    selected = before
  end
  pin.set(selected, on_change)
  changed()
end

--- Drops the pinned selection and the one left behind.
function M.unpin()
  pin.clear()
  left_behind.forget()
  changed()
end

return M
