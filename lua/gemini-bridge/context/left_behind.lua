--- The selection that the user leaves behind on the way to a terminal. It counts until they move or edit in a file
--- again.
local buffers = require("gemini-bridge.context.buffers")
local region = require("gemini-bridge.context.region")

local M = {}

local namespace = vim.api.nvim_create_namespace("gemini-bridge.context.left_behind")

---@class gemini_bridge.LeftBehind
---@field region gemini_bridge.Region
---@field cursor integer[] As |nvim_win_get_cursor()| has it.
---@field text? string

--- Visual mode has just ended. Whether the user leaves with it or drops it, the next key tells.
---@type gemini_bridge.LeftBehind?
local ending
--- The autocommand that sees them leave: there for no longer than `ending`, as BufEnter is an event that others feel.
local leaving ---@type integer?
---@type gemini_bridge.LeftBehind?
local left
local group ---@type integer? The autocommands that end `left`.
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

--- Drops what was left behind as soon as the user does something in a file. The cursor is compared because CursorMoved
--- also fires on entering a window.
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
  group = vim.api.nvim_create_augroup("gemini-bridge.context.left_behind", {})
  vim.api.nvim_create_autocmd(
    { "CursorMoved", "CursorMovedI", "TextChanged", "TextChangedI", "TextChangedP" },
    { group = group, callback = on_activity }
  )
end

--- Holds on to a selection that has ended, until the next key.
---@param selected gemini_bridge.Region
---@param on_drop fun() Called when it was left behind and counts no more.
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
    -- Keys that a mapping makes belong to the key before; a command line, to the command that may leave.
    if typed ~= "" and vim.fn.mode() ~= "c" then
      forget_ending()
    end
  end, namespace)
end

--- What has ended, before the next key.
---@return gemini_bridge.Region?
function M.ending()
  return ending and ending.region
end

---@param buf integer
---@return boolean # Something of this buffer was left behind, though its text may have changed since.
function M.is_in(buf)
  return left ~= nil and left.region.buf == buf
end

--- The text that was left behind, or the beginning of a long one.
---@param limit integer UTF-16 units.
---@return string?
function M.text(limit)
  if not left.text and left.region.tick == vim.api.nvim_buf_get_changedtick(left.region.buf) then
    left.text = region.read(left.region, limit)
  end
  return left.text
end

--- May run twice.
function M.forget()
  forget_ending()
  forget_left()
end

return M
