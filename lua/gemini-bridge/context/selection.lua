--- Which selection counts: the one that is highlighted; the one left behind on the way to a terminal, until the user
--- moves or edits in a file again; the one that was pinned.
local highlighted = require("gemini-bridge.context.highlighted")
local left_behind = require("gemini-bridge.context.left_behind")
local pin = require("gemini-bridge.context.pin")
local region = require("gemini-bridge.context.region")

local M = {}

local group ---@type integer?
--- Tells that another selection may count now.
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

--- Starts following the selection. What is followed already stays.
---@param on_other fun() Called when a selection that was left behind or pinned counts no more, or a new one does.
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
  -- An expression that is asked for within a command line is another one.
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

--- A command with the range of the last selection leaves for the terminal: that selection counts, even if it was made
--- before anything followed it.
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

--- The selected text of a buffer: the beginning of it when it is longer than the limit.
---@param buf integer
---@param limit integer UTF-16 units.
---@return string?
function M.text(buf, limit)
  local now = current()
  -- What was remembered as a command line opened may have been changed since, by a timer for instance.
  if now and now.buf == buf and now.tick == vim.api.nvim_buf_get_changedtick(buf) then
    return region.read(now, limit)
  elseif left_behind.is_in(buf) then
    return left_behind.text(limit)
  end
  return pin.text(buf, limit)
end

--- Pins lines of the current buffer, or exactly what was highlighted when they are the lines of the Visual mode that
--- the command was typed in.
---@param lines? { [1]: integer, [2]: integer } 1-based; without them what is highlighted, or else the cursor's line.
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

--- Drops every selection that is not highlighted: the one pinned and the one left behind.
function M.unpin()
  pin.clear()
  left_behind.forget()
  changed()
end

return M
