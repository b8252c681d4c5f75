--- Keeps the selection after the user has switched to a terminal, until the user moves or edits in a file
--- again.
local buffers = require("gemini-bridge.context.buffers")
local region = require("gemini-bridge.context.region")

local M = {}

local namespace = vim.api.nvim_create_namespace("gemini-bridge.context.kept_selection")

---@class gemini_bridge.KeptSelection
---@field region gemini_bridge.Region
---@field cursor integer[] In the format of |nvim_win_get_cursor()|.
---@field text? string
---@field extent? gemini_bridge.Range Range of that text.

--- The selection when Visual mode has just ended, until the next key.
---@type gemini_bridge.KeptSelection?
local ending
--- BufEnter autocommand that detects a switch to another buffer. Exists only together with `ending`, to keep
--- BufEnter cheap.
local leaving ---@type integer?
---@type gemini_bridge.KeptSelection?
local left
local group ---@type integer? The autocommands that drop `left`.
local dropped = function() end

local function forget_ending()
  ending = nil
  vim.on_key(nil, namespace)
  if leaving then
    vim.api.nvim_del_autocmd(leaving)
    leaving = nil
  end
end

local function forget_left()
  left = nil
  if group then
    vim.api.nvim_del_augroup_by_id(group)
    group = nil
  end
end

--- Drops the selection as soon as the user moves or edits in a file. Compares the cursor, because CursorMoved also
--- fires when a window is entered.
local function on_activity()
  local buf = vim.api.nvim_get_current_buf()
  if not left or not buffers.file(buf) then
    return
  end
  local here = buf == left.region.buf
  local cursor = vim.api.nvim_win_get_cursor(0)
  if
    here
    and left.region.tick == vim.api.nvim_buf_get_changedtick(buf)
    and vim.deep_equal(cursor, left.cursor)
  then
    return
  end
  if here or vim.fn.win_gettype() ~= "popup" then
    forget_left()
    dropped()
  end
end

local function leave()
  forget_left()
  left = ending
  group = vim.api.nvim_create_augroup("gemini-bridge.context.kept_selection", {})
  vim.api.nvim_create_autocmd(
    { "CursorMoved", "CursorMovedI", "TextChanged", "TextChangedI", "TextChangedP" },
    { group = group, callback = on_activity }
  )
end

--- Keeps a selection whose mode has ended until the next key, and longer if the user leaves the buffer before that key.
---@param selected gemini_bridge.Region
---@param on_drop fun() Called when the kept selection is dropped.
function M.hold(selected, on_drop)
  forget_ending()
  dropped = on_drop
  leaving = vim.api.nvim_create_autocmd("BufEnter", {
    callback = function(args)
      if args.buf ~= selected.buf then
        leave()
        forget_ending()
      end
    end,
  })
  ending = { region = selected, cursor = vim.api.nvim_win_get_cursor(0) }
  vim.on_key(function(_, typed)
    -- Ignore keys from mappings, and in a command line, because the command may leave the buffer.
    if typed ~= "" and vim.fn.mode() ~= "c" then
      forget_ending()
    end
  end, namespace)
end

--- Returns the selection that has just ended, until the next key.
---@return gemini_bridge.Region?
function M.ending()
  return ending and ending.region
end

---@param buf integer
---@return boolean # Whether the kept selection is in this buffer. Its text may have changed.
function M.is_in(buf)
  return left ~= nil and left.region.buf == buf
end

--- Returns the text of the kept selection, or the beginning of a long one.
---@param limit integer UTF-16 units.
---@return string?
function M.text(limit)
  if not left.text and left.region.tick == vim.api.nvim_buf_get_changedtick(left.region.buf) then
    left.text = region.read(left.region, limit)
    left.extent = region.extent(left.region)
  end
  return left.text
end

--- Returns the place of the text that `text` has returned.
---@return gemini_bridge.Range?
function M.extent()
  return left.extent
end

--- May run twice.
function M.forget()
  forget_ending()
  forget_left()
end

return M
