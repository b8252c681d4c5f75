--- Builds snapshots of the editor for the host: buffers whose paths have changed, focus times, cursor, and selection.
--- The type is `Snapshot` in src/contract/snapshot.ts.
local active_file = require("gemini-bridge.context.active_file")
local buffers = require("gemini-bridge.context.buffers")
local consent = require("gemini-bridge.context.consent")
local selection = require("gemini-bridge.context.selection")

local M = {}

--- True if the next snapshot must contain everything, because the host knows nothing yet.
local reset = false
--- True if the next snapshot includes the user's sharing settings.
local sharing = false
--- Buffers whose paths may have changed after the last snapshot.
---@type table<integer, true>
local unread = {}
--- The path of each buffer in the last snapshot.
---@type table<integer, string>
local paths = {}

--- Makes the next snapshot contain everything.
function M.reset()
  reset, unread, paths = true, {}, {}
  -- Ignores the result: the next snapshot reads the focus times of all buffers again.
  active_file.take()
end

--- Marks a buffer whose path may have changed.
---@param buf integer
function M.buffer_changed(buf)
  unread[buf] = true
end

--- Marks the sharing settings as changed.
function M.sharing_changed()
  sharing = true
end

---@param message table
local function complete(message)
  if reset or sharing then
    message.sharing = consent.settings()
  end
  message.reset, message.more = reset, message.more or false
  message.focus, message.buffers = message.focus or {}, message.buffers or {}
  reset, sharing = false, false
  return message
end

--- Stores the current paths of buffers, and returns the buffers whose paths have changed.
---@param bufs integer[]
---@return { bufnr: integer, path?: string }[]
local function changes_among(bufs)
  local changes = {}
  for _, buf in ipairs(bufs) do
    local path = buffers.file(buf)
    if path ~= paths[buf] then
      paths[buf] = path
      changes[#changes + 1] = { bufnr = buf, path = path }
    end
  end
  return changes
end

--- Returns the cursor position in the active file: 1-based row, column in bytes. If no window shows the file, returns
--- the last known position.
---@param active gemini_bridge.ActiveFile
local function cursor_of(active)
  local win = active.win
  if not vim.api.nvim_win_is_valid(win) or vim.api.nvim_win_get_buf(win) ~= active.buf then
    win = vim.fn.win_findbuf(active.buf)[1]
  end
  if win then
    return selection.cursor(win)
  elseif vim.api.nvim_buf_is_loaded(active.buf) then
    return vim.api.nvim_buf_get_mark(active.buf, '"')
  end
  -- With 'nohidden', a terminal that opens in the window of the file unloads the file. Neovim still knows the line.
  return { vim.fn.eval(("getbufinfo(%d)[0].lnum"):format(active.buf)), 0 }
end

--- Returns the length of a text in UTF-16 units.
---@param text string
---@return integer
function M.utf16_length(text)
  if vim.fn.has("nvim-0.11") == 1 then
    return vim.str_utfindex(text, "utf-16")
  end
  local _, units = vim.str_utfindex(text)
  return units
end

--- Converts a position to a 1-based line and character in UTF-16 units.
---@param buf integer
---@param row integer 0-based.
---@param col integer In bytes.
local function position(buf, row, col)
  local ok, before = pcall(vim.api.nvim_buf_get_text, buf, row, 0, row, col, {})
  return { line = row + 1, character = ok and before[1] and M.utf16_length(before[1]) + 1 or 1 }
end

---@param active gemini_bridge.ActiveFile
---@param limit integer UTF-16 units.
local function active_part(active, limit)
  local cursor = cursor_of(active)
  -- The last known position may be beyond the end of the text. Neovim reports no lines for a file that is not loaded.
  local lines = vim.api.nvim_buf_line_count(active.buf)
  local line = math.max(1, lines > 0 and math.min(cursor[1], lines) or cursor[1])
  local text, range = selection.text(active.buf, limit)
  return vim.tbl_extend("error", position(active.buf, line - 1, cursor[2]), {
    bufnr = active.buf,
    selection = text,
    selected = range and {
      start = position(active.buf, range.row, range.col),
      ["end"] = position(active.buf, range.end_row, range.end_col),
    },
  })
end

--- Returns the cursor and the selection in the active file. Does not affect the next snapshot.
---@param limit integer Minimum number of UTF-16 units to read. A shorter selection is read completely.
---@return { bufnr: integer, line: integer, character: integer, selection?: string, selected?: table }? # 1-based.
function M.active(limit)
  local active = active_file.get()
  return active and active_part(active, limit)
end

--- Returns a snapshot of the changes after the last snapshot.
---@param limit integer Minimum number of UTF-16 units to read. A shorter selection is read completely.
---@return table
function M.take(limit)
  local focus, active = active_file.take()
  if active then
    unread[active.buf] = true
  end
  local buffer_changes = changes_among(vim.tbl_keys(unread))
  unread = {}
  return complete({
    focus = focus,
    active = active and active_part(active, limit),
    buffers = buffer_changes,
  })
end

--- Returns one part of a complete snapshot: only the given buffers.
---@param bufs integer[]
---@return table
function M.slice(bufs)
  local files = vim.tbl_filter(buffers.file, bufs)
  return complete({ buffers = changes_among(files), focus = active_file.times(files), more = true })
end

--- Returns an empty snapshot, which the host receives while sharing is paused.
---@return table
function M.nothing()
  return complete({})
end

return M
