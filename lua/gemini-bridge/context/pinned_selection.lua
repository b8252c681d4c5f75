--- Manages the selection that `:GeminiSelect` pins. The text stays shared and highlighted until the user unpins it. A
--- sign is shown while at least some of the text exists.
local region = require("gemini-bridge.context.region")
local status = require("gemini-bridge.bridge.status")

local M = {}

local HIGHLIGHT = "GeminiPinned"
--- Priority of the highlight. Lower than the priorities of diagnostics and syntax, so that both stay visible.
local PRIORITY = 5
--- Number of marks to read first. A pinned block has one mark for each row, up to thousands. Usually one of the first
--- marks still has text. Then the other marks need not be read.
local FIRST_MARKS = 50

local namespace = vim.api.nvim_create_namespace("gemini-bridge.context.pinned_selection")
local sign_namespace = vim.api.nvim_create_namespace("gemini-bridge.context.pinned_selection.sign")

---@class gemini_bridge.Pin
---@field buf integer
---@field blank table<integer, true> Ids of marks without text, for rows that end left of a pinned block.
---@field shown boolean True if the sign is shown.
---@field tick? integer The buffer's changedtick when `text` was read.
---@field text? string
---@field extent? gemini_bridge.Range Range of `text`.

---@type gemini_bridge.Pin?
local pinned
local group = vim.api.nvim_create_augroup("gemini-bridge.context.pinned_selection", {})

---@param limit? integer
---@return vim.api.keyset.get_extmark_item[]
local function marks(limit)
  return vim.api.nvim_buf_get_extmarks(pinned.buf, namespace, 0, -1, { details = true, limit = limit })
end

--- Returns whether a range has no text. After its lines were deleted, a range may end before its start.
---@param range gemini_bridge.Range
local function is_empty(range)
  return range.end_row < range.row or range.end_row == range.row and range.end_col <= range.col
end

--- Returns the current ranges of the pinned text. Returns an empty list if all of the text was deleted. Undoing the
--- deletion restores the ranges.
---@param limit? integer Maximum number of marks to read.
---@return gemini_bridge.Range[] # In the order of the text.
local function ranges(limit)
  local found, has_text = {}, false
  if not pinned or not vim.api.nvim_buf_is_loaded(pinned.buf) then
    return found
  end
  for _, mark in ipairs(marks(limit)) do
    local id, row, col, details = unpack(mark)
    local range = { row = row, col = col, end_row = details.end_row, end_col = details.end_col }
    local empty = is_empty(range)
    has_text = has_text or not empty
    if not empty or pinned.blank[id] then
      found[#found + 1] = range
    end
  end
  return has_text and found or {}
end

--- Shows the sign if some of the pinned text exists, hides it otherwise. Does not use the extmark option `invalidate`:
--- in Neovim 0.10, `invalidate` misses the deletion of several lines at once.
local function show()
  -- Runs at each change of the text, so it reads all marks only if the first marks have no text.
  local first = ranges(FIRST_MARKS)[1] or ranges()[1]
  if pinned.shown == (first ~= nil) then
    return
  end
  pinned.shown = first ~= nil
  vim.api.nvim_buf_clear_namespace(pinned.buf, sign_namespace, 0, -1)
  if first then
    local sign = { sign_text = "»", sign_hl_group = HIGHLIGHT, priority = PRIORITY }
    vim.api.nvim_buf_set_extmark(pinned.buf, sign_namespace, first.row, 0, sign)
  end
  status.redraw()
end

---@param changed fun()
local function follow(changed)
  local function on_event()
    if not pinned then
      return
    elseif vim.api.nvim_buf_is_valid(pinned.buf) and #marks(1) > 0 then
      show()
    else
      M.clear()
    end
    changed()
  end
  vim.api.nvim_create_autocmd(
    { "TextChanged", "TextChangedI", "TextChangedP", "BufReadPost", "BufDelete", "BufUnload", "BufWipeout" },
    -- Scheduled, because the marks of a deleted buffer still exist during the event.
    { group = group, buffer = pinned.buf, callback = vim.schedule_wrap(on_event) }
  )
end

--- Pins a region. Unpins the previous region.
---@param selected gemini_bridge.Region
---@param changed fun() Called when the pinned text may have changed.
function M.set(selected, changed)
  M.clear()
  pinned = { buf = selected.buf, blank = {}, shown = false }
  vim.api.nvim_set_hl(0, HIGHLIGHT, { default = true, link = "Visual" })
  for _, range in ipairs(region.ranges(selected)) do
    local mark = vim.api.nvim_buf_set_extmark(pinned.buf, namespace, range.row, range.col, {
      end_row = range.end_row,
      end_col = range.end_col,
      end_right_gravity = false,
      -- With 'virtualedit', a selection may extend beyond the end of a line.
      strict = false,
      hl_group = HIGHLIGHT,
      hl_eol = true,
      priority = PRIORITY,
    })
    pinned.blank[mark] = is_empty(range) or nil
  end
  show()
  follow(changed)
end

--- Unpins the text. Idempotent.
function M.clear()
  if not pinned then
    return
  end
  local buf = pinned.buf
  pinned = nil
  vim.api.nvim_clear_autocmds({ group = group })
  if vim.api.nvim_buf_is_valid(buf) then
    vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
    vim.api.nvim_buf_clear_namespace(buf, sign_namespace, 0, -1)
  end
  status.redraw()
end

---@param limit integer UTF-16 units.
---@return string?
local function read(limit)
  local texts, size, found = {}, 0, ranges()
  local first, last = found[1], found[#found]
  pinned.extent = first
    and { row = first.row, col = first.col, end_row = last.end_row, end_col = last.end_col }
  for _, range in ipairs(found) do
    local text = is_empty(range) and "" or region.read_range(pinned.buf, range, limit)
    texts[#texts + 1] = text
    size = size + #text / region.BYTES_PER_UNIT + 1
    if size > limit then
      break
    end
  end
  return #texts > 0 and table.concat(texts, "\n") or nil
end

--- Returns the pinned text of a buffer, and its range. May cut off a long text.
---@param buf integer
---@param limit integer UTF-16 units.
---@return string? # nil if nothing is pinned in the buffer, or all of the text was deleted.
---@return gemini_bridge.Range?
function M.text(buf, limit)
  if not pinned or pinned.buf ~= buf then
    return
  end
  local tick = vim.api.nvim_buf_get_changedtick(buf)
  if pinned.tick ~= tick then
    pinned.tick, pinned.text = tick, read(limit)
  end
  return pinned.text, pinned.extent
end

---@return boolean # True if text is pinned and at least some of that text exists.
function M.is_shown()
  return pinned ~= nil and pinned.shown
end

--- Returns the path and the lines of the pinned text, for messages to the user.
---@return { path: string, first: integer, last: integer }? # `path` is the buffer's name; lines are 1-based.
function M.lines()
  local found = ranges()
  local last = found[#found]
  if not last then
    return
  end
  return {
    path = vim.api.nvim_buf_get_name(pinned.buf),
    first = found[1].row + 1,
    last = last.end_col == 0 and last.end_row > last.row and last.end_row or last.end_row + 1,
  }
end

return M
