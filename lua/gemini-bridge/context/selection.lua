--- Which selection counts: the one that is highlighted; the one left behind on the way to a terminal, until the user
--- moves or edits in a file again; the one that was pinned.
local buffers = require("gemini-bridge.context.buffers")
local pins = require("gemini-bridge.context.pins")
local region = require("gemini-bridge.context.region")

local M = {}

local namespace = vim.api.nvim_create_namespace("gemini-bridge.selection")
--- Each key of a block-wise mode shows whether the block reaches to the end of the lines: `:` has forgotten it by the
--- time the mode ends.
local block_namespace = vim.api.nvim_create_namespace("gemini-bridge.selection.block")
local to_end = false
--- The kind of selection being made; still so while the command line asks for a pattern to move to.
local visual ---@type "v"|"V"|"\22"|nil
local group ---@type integer?
local kept_group ---@type integer?
--- Tells that another selection may count now.
local changed = function() end

---@class gemini_bridge.Kept
---@field region gemini_bridge.Region
---@field cursor integer[] As |nvim_win_get_cursor()| has it.
---@field text? string

--- Visual mode has just ended. Whether the user leaves with it or drops it, the next key tells.
---@type gemini_bridge.Kept?
local ending
--- The autocommand that sees them leave: there for no longer than `ending`, as BufEnter is an event that others feel.
local leaving ---@type integer?
---@type gemini_bridge.Kept?
local kept
--- The cursor and what was highlighted when a command line opened: incremental search moves them until it closes.
---@type { win: integer, cursor: integer[], region?: gemini_bridge.Region }?
local command_line

local function forget_ending()
  ending = nil
  vim.on_key(nil, namespace)
  if leaving then
    vim.api.nvim_del_autocmd(leaving)
    leaving = nil
  end
end

local function forget_kept()
  kept = nil
  if kept_group then
    vim.api.nvim_del_augroup_by_id(kept_group)
    kept_group = nil
  end
end

--- Drops what was kept as soon as the user does something in a file. The cursor is compared because CursorMoved also
--- fires on entering a window.
local function on_activity()
  local buf = vim.api.nvim_get_current_buf()
  if not kept or not buffers.is_file(buf) then
    return
  end
  local here = buf == kept.region.buf
  local cursor = vim.api.nvim_win_get_cursor(0)
  if
    here
    and kept.region.tick == vim.api.nvim_buf_get_changedtick(buf)
    and vim.deep_equal(cursor, kept.cursor)
  then
    return
  end
  if here or vim.fn.win_gettype() ~= "popup" then
    forget_kept()
    changed()
  end
end

local function keep()
  forget_kept()
  kept = ending
  kept_group = vim.api.nvim_create_augroup("gemini-bridge.selection.kept", {})
  vim.api.nvim_create_autocmd(
    { "CursorMoved", "CursorMovedI", "TextChanged", "TextChangedI", "TextChangedP" },
    {
      group = kept_group,
      callback = on_activity,
    }
  )
end

local function on_start(args)
  forget_ending()
  forget_kept()
  to_end = false
  visual = region.kind(args.match:match(":(.)"))
  vim.on_key(visual == "\22" and function()
    to_end = region.is_to_end()
  end or nil, block_namespace)
end

--- Holds on to a selection that has ended, until the next key.
---@param selected gemini_bridge.Region
local function hold(selected)
  forget_ending()
  leaving = vim.api.nvim_create_autocmd("BufEnter", {
    callback = function(args)
      if args.buf ~= selected.buf then
        keep()
        forget_ending()
      end
    end,
  })
  ending = { region = selected, cursor = vim.api.nvim_win_get_cursor(0) }
  vim.on_key(function(_, typed)
    -- Keys that a mapping makes belong to the key before; a command line, to the command that may leave.
    if typed ~= "" and vim.fn.mode() ~= "c" then
      forget_ending()
    end
  end, namespace)
end

local function on_end(args)
  if region.kind(args.match:match(":(.)")) or args.match:find(":c", 1, true) then
    return
  end
  visual = nil
  vim.on_key(nil, block_namespace)
  local selected = vim.bo.buftype == "" and region.ended(to_end)
  if selected then
    hold(selected)
  end
end

--- A command with the range of the last selection leaves for the terminal: that selection counts, even if it was made
--- before anything followed it.
function M.take_along()
  local selected = not ending and vim.bo.buftype == "" and region.ended(false)
  if selected then
    hold(selected)
  end
end

--- Starts following the selection. What is followed already stays.
---@param on_change fun() Called when a selection that was kept or pinned counts no more, or a new one does.
function M.track(on_change)
  if group then
    return
  end
  changed = on_change
  group = vim.api.nvim_create_augroup("gemini-bridge.selection", {})
  local function on(event, pattern, callback)
    vim.api.nvim_create_autocmd(event, { group = group, pattern = pattern, callback = callback })
  end
  on("ModeChanged", "[vVsS\22\19]*:*", on_end)
  on("ModeChanged", "*:[vVsS\22\19]*", on_start)
  on("CmdlineEnter", "*", function()
    -- An expression that is asked for within a command line is another one.
    if vim.v.event.cmdlevel > 1 then
      return
    end
    command_line = {
      win = vim.api.nvim_get_current_win(),
      cursor = vim.api.nvim_win_get_cursor(0),
      region = visual and region.live(visual),
    }
  end)
  on("CmdlineLeave", "*", function()
    if vim.v.event.cmdlevel == 1 then
      command_line = nil
    end
  end)
end

--- May run twice.
function M.untrack()
  if group then
    vim.api.nvim_del_augroup_by_id(group)
    group = nil
  end
  vim.on_key(nil, block_namespace)
  forget_ending()
  forget_kept()
  command_line, visual = nil, nil
end

--- What is highlighted in the current window.
---@return gemini_bridge.Region?
function M.highlighted()
  if command_line then
    return command_line.region or ending and ending.region
  end
  local kind = region.kind(vim.fn.mode())
  return kind and region.live(kind)
end

--- The cursor of a window, as |nvim_win_get_cursor()| has it.
---@param win integer
---@return integer[]
function M.cursor(win)
  return command_line and command_line.win == win and command_line.cursor or vim.api.nvim_win_get_cursor(win)
end

--- The selected text of a buffer: the beginning of it when it is longer than the limit.
---@param buf integer
---@param limit integer UTF-16 units.
---@return string?
function M.text(buf, limit)
  local highlighted = M.highlighted()
  -- What was remembered as a command line opened may have been changed since, by a timer for instance.
  if highlighted and highlighted.buf == buf and highlighted.tick == vim.api.nvim_buf_get_changedtick(buf) then
    return region.read(highlighted, limit)
  end
  if kept and kept.region.buf == buf then
    if not kept.text and kept.region.tick == vim.api.nvim_buf_get_changedtick(buf) then
      kept.text = region.read(kept.region, limit)
    end
    return kept.text
  end
  local pin = pins.region(buf)
  return pin and region.read(pin, limit)
end

--- Pins lines of the current buffer, or exactly what was highlighted when they are the lines of the Visual mode that
--- the command was typed in.
---@param lines? { [1]: integer, [2]: integer } 1-based; without them what is highlighted, or else the cursor's line.
function M.pin(lines)
  local cursor = vim.api.nvim_win_get_cursor(0)[1]
  local selected = not lines and M.highlighted() or region.lines(unpack(lines or { cursor, cursor }))
  local before = ending and ending.region
  if
    before
    and before.buf == selected.buf
    and before.first[1] == selected.first[1]
    and before.last[1] == selected.last[1]
  then
    selected = before
  end
  pins.set(selected)
  changed()
end

--- Drops every selection that is not highlighted: those pinned and the one kept.
function M.unpin()
  pins.clear()
  forget_kept()
  changed()
end

return M
