--- Replaces the text of a buffer with the text of another buffer. Changes only the lines that differ: all other lines
--- keep their marks, folds and extmarks, and the undo step stays small.
local hunks = require("gemini-bridge.difference.hunks")
local window = require("gemini-bridge.editor.window")

--- Number of lines to compare at once. Limits the memory that a long text needs.
local CHUNK_LINES = 1000
--- Maximum number of separate changes. Each change costs time in language servers and plugins. If two texts differ in
--- more places, replaces all lines from the first to the last difference in one change.
local MAX_CHANGES = 1000

--- Counts the equal lines at the start of two buffers, or at their end.
---@param a integer
---@param b integer
---@param max integer
---@param from_end boolean
---@return integer
local function count_same(a, b, max, from_end)
  for done = 0, max - 1, CHUNK_LINES do
    local count = math.min(CHUNK_LINES, max - done)
    local function chunk(buf)
      local first = from_end and vim.api.nvim_buf_line_count(buf) - done - count or done
      return vim.api.nvim_buf_get_lines(buf, first, first + count, true)
    end
    local ours, theirs = chunk(a), chunk(b)
    for i = 1, count do
      local line = from_end and count - i + 1 or i
      if ours[line] ~= theirs[line] then
        return done + i - 1
      end
    end
  end
  return max
end

--- Returns the differences between two texts in the form of |hunks.differences()|. Above `MAX_CHANGES`, returns a
--- single difference that covers both texts.
---@param old string[]
---@param new string[]
---@return integer[][]
local function compare(old, new)
  local edits = hunks.differences(old, new)
  local changes = #edits
  for _, edit in ipairs(edits) do
    changes = changes + math.min(edit[2], edit[4])
  end
  return changes <= MAX_CHANGES and edits or { { math.min(1, #old), #old, 1, #new } }
end

---@param buf integer
---@return integer[]
local function windows_in_empty_line(buf)
  return vim.tbl_filter(function(win)
    local row = vim.api.nvim_win_get_cursor(win)[1]
    return vim.api.nvim_buf_get_lines(buf, row - 1, row, true)[1] == ""
  end, vim.fn.win_findbuf(buf))
end

--- Replaces the text of `buf` with the text of `other`. The changes belong to the current undo step.
---@param buf integer
---@param other integer Buffer with the new text.
---@return boolean changed
return function(buf, other)
  local is_emptied = window.is_empty(other)
  if is_emptied ~= window.is_empty(buf) then
    -- Neovim returns one empty line for a text without bytes, too. Compared by lines, the buffer would keep or lack the
    -- line break of that line.
    local lines = is_emptied and {} or vim.api.nvim_buf_get_lines(other, 0, -1, true)
    vim.api.nvim_buf_set_lines(buf, 0, -1, true, lines)
    return true
  end
  local at_start = windows_in_empty_line(buf)
  local count, new_count = vim.api.nvim_buf_line_count(buf), vim.api.nvim_buf_line_count(other)
  local head = count_same(buf, other, math.min(count, new_count), false)
  local tail = count_same(buf, other, math.min(count, new_count) - head, true)
  local old = vim.api.nvim_buf_get_lines(buf, head, count - tail, true)
  local new = vim.api.nvim_buf_get_lines(other, head, new_count - tail, true)
  for _, edit in vim.iter(compare(old, new)):rev():enumerate() do
    local from, removed, to, added = unpack(edit)
    local row = head + from - math.min(removed, 1)
    -- Replaces lines one by one where possible, because a line that is replaced alone keeps its marks and its fold.
    local kept = removed + added <= 2 * MAX_CHANGES and math.min(removed, added) or 0
    if removed ~= added or kept == 0 then
      vim.api.nvim_buf_set_lines(
        buf,
        row + kept,
        row + removed,
        true,
        vim.list_slice(new, to + kept, to + added - 1)
      )
    end
    for i = kept - 1, 0, -1 do
      vim.api.nvim_buf_set_text(buf, row + i, 0, row + i, #old[from + i], { new[to + i] })
    end
  end
  -- Neovim moves a cursor in an empty line behind the text that is inserted there.
  for _, win in ipairs(at_start) do
    local row, column = unpack(vim.api.nvim_win_get_cursor(win))
    if column > 0 then
      vim.api.nvim_win_set_cursor(win, { row, 0 })
    end
  end
  return #old > 0 or #new > 0
end
