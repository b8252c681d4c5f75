--- Chooses the selection to share. The highlighted selection comes first, then the selection that was kept when the
--- user switched to a terminal, then the pinned selection. While a command line is open, uses the cursor and the
--- selection that were recorded before the command line opened, because a command line may move both.
local kept_selection = require("gemini-bridge.context.kept_selection")
local pinned_selection = require("gemini-bridge.context.pinned_selection")
local region = require("gemini-bridge.context.region")

local M = {}

--- Namespace of a listener for |vim.on_key()|. In blockwise Visual mode, the listener checks before each key whether
--- `$` has extended the block. After `:`, this check is too late, because Neovim has reset `curswant`.
local namespace = vim.api.nvim_create_namespace("gemini-bridge.context.selection")
local to_end = false
--- The kind of the current selection. Stays set in a command line that was opened from Visual mode, such as a search.
local visual ---@type gemini_bridge.VisualKind?
--- Cursor and highlighted region before the command line opened. Stored because incremental search moves both.
---@type { win: integer, cursor: integer[], region?: gemini_bridge.Region }?
local command_line

local group ---@type integer?
--- Called when the selection for the context may have changed.
local changed = function() end

local function on_change()
  changed()
end

--- Called when Visual or Select mode starts or changes its kind.
local function on_start(args)
  kept_selection.forget()
  to_end = false
  visual = region.kind(args.match:match(":(.)"))
  vim.on_key(visual == "\22" and function()
    to_end = region.is_to_end()
  end or nil, namespace)
end

local function on_end(args)
  if region.kind(args.match:match(":(.)")) or args.match:find(":c", 1, true) then
    return
  end
  visual = nil
  vim.on_key(nil, namespace)
  local selected = vim.bo.buftype == "" and region.ended(to_end)
  if selected then
    kept_selection.hold(selected, on_change)
  end
end

--- Handles CmdlineEnter: stores the cursor and the highlighted region. After `:` there is no region, because Neovim has
--- already left Visual mode.
local function on_command_line()
  -- Level 1 is the outermost command line. `CTRL-R =` opens a nested command line.
  if vim.v.event.cmdlevel == 1 then
    command_line = {
      win = vim.api.nvim_get_current_win(),
      cursor = vim.api.nvim_win_get_cursor(0),
      region = visual and region.live(visual),
    }
  end
end

--- Starts tracking selections. Does nothing if tracking has already started.
---@param run fun() Called when a kept or pinned selection is added or dropped.
function M.track(run)
  if group then
    return
  end
  changed = run
  group = vim.api.nvim_create_augroup("gemini-bridge.context.selection", {})
  local function on(event, pattern, callback)
    vim.api.nvim_create_autocmd(event, { group = group, pattern = pattern, callback = callback })
  end
  on("ModeChanged", "[vVsS\22\19]*:*", on_end)
  on("ModeChanged", "*:[vVsS\22\19]*", on_start)
  on("CmdlineEnter", "*", on_command_line)
  on("CmdlineLeave", "*", function()
    if vim.v.event.cmdlevel == 1 then
      command_line = nil
    end
  end)
end

--- Stops tracking selections. Idempotent.
function M.untrack()
  if group then
    vim.api.nvim_del_augroup_by_id(group)
    group = nil
  end
  vim.on_key(nil, namespace)
  command_line, visual = nil, nil
  kept_selection.forget()
end

--- Keeps the last selection when `:Gemini` with a range switches to a terminal. Needed if the text was selected before
--- tracking started.
function M.take_along()
  local selected = not kept_selection.ending() and vim.bo.buftype == "" and region.ended(false)
  if selected then
    kept_selection.hold(selected, on_change)
  end
end

--- Returns the highlighted region of the current window.
---@return gemini_bridge.Region?
local function current()
  if command_line then
    return command_line.region or kept_selection.ending()
  end
  local kind = region.kind(vim.fn.mode())
  return kind and region.live(kind)
end

--- Returns the cursor of a window, in the format of |nvim_win_get_cursor()|.
---@param win integer
---@return integer[]
function M.cursor(win)
  return command_line and command_line.win == win and command_line.cursor or vim.api.nvim_win_get_cursor(win)
end

--- Returns the selected text of a buffer, and its range. May cut off a long text.
---@param buf integer
---@param limit integer UTF-16 units.
---@return string?
---@return gemini_bridge.Range?
function M.text(buf, limit)
  local now = current()
  -- Text may change while a command line is open, for example by a timer. The region is then outdated.
  if now and now.buf == buf and now.tick == vim.api.nvim_buf_get_changedtick(buf) then
    return region.read(now, limit), region.extent(now)
  elseif kept_selection.is_in(buf) then
    return kept_selection.text(limit)
  end
  return pinned_selection.text(buf, limit)
end

--- Pins lines of the current buffer. If the last selection has the same lines, pins exactly the selected text.
---@param lines? { [1]: integer, [2]: integer } 1-based. Default: the highlighted text, or the cursor's line.
function M.pin(lines)
  local cursor = vim.api.nvim_win_get_cursor(0)[1]
  local selected = not lines and current() or region.lines(unpack(lines or { cursor, cursor }))
  local before = kept_selection.ending()
  if
    before
    and before.buf == selected.buf
    and before.first[2] == selected.first[2]
    and before.last[2] == selected.last[2]
  then
    selected = before
  end
  pinned_selection.set(selected, on_change)
  changed()
end

--- Removes the pinned and the kept selection.
function M.unpin()
  pinned_selection.clear()
  kept_selection.forget()
  changed()
end

return M
