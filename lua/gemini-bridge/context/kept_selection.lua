--- Keeps a selection when the user switches from a file to a terminal, until the user moves the cursor in a file or
--- edits a file.
local buffers = require("gemini-bridge.context.buffers")
local region = require("gemini-bridge.context.region")

local M = {}

local namespace = vim.api.nvim_create_namespace("gemini-bridge.context.kept_selection")

---@class gemini_bridge.KeptSelection
---@field region gemini_bridge.Region
---@field cursor integer[] In the format of |nvim_win_get_cursor()|.
---@field text? string
---@field extent? gemini_bridge.Range Range of `text`.

--- The selection whose Visual mode has just ended. The next typed key drops this selection.
---@type gemini_bridge.KeptSelection?
local ending
--- BufEnter autocommand that detects a switch to another buffer. Exists only while `ending` is set, because BufEnter
--- fires often.
local leaving ---@type integer?
--- The selection that is kept after a switch to another buffer.
---@type gemini_bridge.KeptSelection?
local kept
--- Autocommands that drop `kept`.
local group = vim.api.nvim_create_augroup("gemini-bridge.context.kept_selection", {})
local dropped = function() end

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
  vim.api.nvim_clear_autocmds({ group = group })
end

--- Drops the kept selection if the user has moved the cursor in a file or edited a file. Compares cursor positions,
--- because CursorMoved also fires when the user only enters a window.
local function on_activity()
  local buf = vim.api.nvim_get_current_buf()
  if not kept or not buffers.file(buf) then
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
    dropped()
  end
end

local function keep()
  forget_kept()
  kept = ending
  vim.api.nvim_create_autocmd(
    { "CursorMoved", "CursorMovedI", "TextChanged", "TextChangedI", "TextChangedP" },
    { group = group, callback = on_activity }
  )
end

--- Called when Visual mode ends. Stores the selection until the next typed key. If the user leaves the buffer before
--- that key, the selection is kept until the user moves the cursor in a file or edits a file.
---@param selected gemini_bridge.Region
---@param on_drop fun() Called when a kept selection is dropped.
function M.hold(selected, on_drop)
  forget_ending()
  dropped = on_drop
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
    -- Only typed keys count, not keys from mappings. Keys in a command line do not count either, because the command
    -- may switch to a terminal.
    if typed ~= "" and vim.fn.mode() ~= "c" then
      forget_ending()
    end
  end, namespace)
end

--- Returns the selection of the Visual mode that has just ended. nil after the next typed key.
---@return gemini_bridge.Region?
function M.ending()
  return ending and ending.region
end

---@param buf integer
---@return boolean # True if a selection is kept in this buffer.
function M.is_in(buf)
  return kept ~= nil and kept.region.buf == buf
end

--- Returns the text of the kept selection, and its range. May cut off a long text. Call only if a selection is kept.
---@param limit integer UTF-16 units.
---@return string? # nil if the buffer was changed before the text was first read.
---@return gemini_bridge.Range?
function M.text(limit)
  if not kept.text and kept.region.tick == vim.api.nvim_buf_get_changedtick(kept.region.buf) then
    kept.text = region.read(kept.region, limit)
    kept.extent = region.extent(kept.region)
  end
  return kept.text, kept.extent
end

--- Drops the kept selection, and the selection whose Visual mode has just ended. Idempotent.
function M.forget()
  forget_ending()
  forget_kept()
end

return M
