--- Marks the hunks of changed files with signs. An extmark covers the lines of each hunk, so that the sign moves with
--- the lines while the user types.
local inline = require("gemini-bridge.review.inline")
local line_diff = require("gemini-bridge.editor.line_diff")
local path = require("gemini-bridge.disk.path")
local text = require("gemini-bridge.review.text")
local window = require("gemini-bridge.editor.window")

local M = {}

local namespace = vim.api.nvim_create_namespace("gemini-bridge.changes")
local old_namespace = vim.api.nvim_create_namespace("gemini-bridge.changes.old")
local line_namespace = vim.api.nvim_create_namespace("gemini-bridge.changes.lines")

--- Hunks by buffer and by id of the extmark.
local placed = {} ---@type table<integer, table<integer, gemini_bridge.ChangeHunk>>
--- Last id of an extmark. Ids are never used twice: undo would otherwise move a new extmark to the place of an old
--- extmark with the same id.
local last_mark = 0

vim.api.nvim_create_autocmd("BufWipeout", {
  group = vim.api.nvim_create_augroup("gemini-bridge.changes.signs", {}),
  callback = function(args)
    placed[args.buf] = nil
  end,
})

--- Default links of the highlight groups.
local GROUPS = { Add = "Added", Change = "Changed", Delete = "Removed", Conflict = "WarningMsg" }

for name, link in pairs(GROUPS) do
  vim.api.nvim_set_hl(0, "GeminiChanges" .. name, { link = link, default = true })
end

---@param hunk gemini_bridge.ChangeHunk
---@return string sign, string highlight
local function appearance(hunk)
  if hunk.conflict then
    return "!", "GeminiChangesConflict"
  elseif hunk.count == 0 then
    return hunk.line == 0 and "▔" or "▁", "GeminiChangesDelete"
  elseif hunk.removed == 0 then
    return "┃", "GeminiChangesAdd"
  end
  return "┃", "GeminiChangesChange"
end

--- Returns a function that maps a line of one text to the corresponding line of another text.
---@param from string[]
---@param to string[]
---@return fun(line: integer): integer # Both lines are 1-based.
function M.line_map(from, to)
  -- Treats an empty text as one empty line, as a buffer does.
  local edits = line_diff.compare(from[1] and from or { "" }, to[1] and to or { "" })
  return function(line)
    local shift = 0
    for _, edit in ipairs(edits) do
      local first, count, target, now = unpack(edit)
      -- For added lines, `first` is the line above the added lines.
      if line < (count == 0 and first + 1 or first) then
        break
      elseif line < first + count then
        return math.max(math.min(target + line - first, target + now - 1), 1)
      end
      shift = target + now - (first + count) + (now == 0 and 1 or 0) - (count == 0 and 1 or 0)
    end
    return line + shift
  end
end

--- Returns a function that maps a line of a file on disk to the line of a buffer with unsaved changes.
---@param buf integer
---@return fun(line: integer): integer # Both lines are 1-based.
local function lines_of_disk(buf)
  local on_disk = vim.bo[buf].modified and path.bytes(vim.api.nvim_buf_get_name(buf))
  if not on_disk then
    return function(line)
      return line
    end
  end
  return M.line_map(text.decode(on_disk).lines, vim.api.nvim_buf_get_lines(buf, 0, -1, true))
end

--- Hides the old lines of a buffer. Also removes the empty rows that Neovim would leave above line 1.
---@param buf integer
local function clear_old(buf)
  vim.api.nvim_buf_clear_namespace(buf, old_namespace, 0, -1)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    local view = window.view(win)
    if view.topline == 1 and view.topfill > 0 and not vim.wo[win].diff then
      view.topfill = 0
      window.set_view(win, view)
    end
  end
end

--- Replaces all marks of hunks in a buffer.
---@param buf integer Buffer of the changed file.
---@param change? gemini_bridge.Change
function M.place(buf, change)
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  clear_old(buf)
  placed[buf] = nil
  if not change or #change.hunks == 0 then
    return
  end
  placed[buf] = {}
  local last = vim.api.nvim_buf_line_count(buf) - 1
  local in_buffer = lines_of_disk(buf)
  for _, hunk in ipairs(change.hunks) do
    local sign, highlight = appearance(hunk)
    local row = math.min(math.max(in_buffer(math.max(hunk.line, 1)) - 1, 0), last)
    local end_row = math.min(in_buffer(math.max(hunk.line + hunk.count - 1, 1)) - 1, last)
    end_row = math.max(end_row, row)
    last_mark = last_mark + 1
    vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, {
      id = last_mark,
      end_row = end_row,
      end_col = #vim.api.nvim_buf_get_lines(buf, end_row, end_row + 1, true)[1],
      end_right_gravity = true, -- keeps an empty last line in the mark when lines are inserted above
      sign_text = sign,
      sign_hl_group = highlight,
    })
    placed[buf][last_mark] = hunk
  end
end

---@class gemini_bridge.PlacedHunk
---@field first integer First line, 1-based.
---@field last integer Last line.
---@field hunk gemini_bridge.ChangeHunk

--- Returns the hunks of a buffer with their current lines, from top to bottom.
---@param buf integer
---@return gemini_bridge.PlacedHunk[]
function M.list(buf)
  if not placed[buf] then
    return {}
  end
  -- Limits lines to the end of the buffer. After the user has deleted lines there, extmarks may be below the end.
  local count = vim.api.nvim_buf_line_count(buf)
  return vim
    .iter(vim.api.nvim_buf_get_extmarks(buf, namespace, 0, -1, { details = true }))
    :map(function(mark)
      local id, row, _, details = unpack(mark)
      local hunk, first = placed[buf][id], math.min(row + 1, count)
      local last = math.min(math.max(details.end_row, row) + 1, count)
      return hunk and { first = first, last = last, hunk = hunk }
    end)
    :totable()
end

--- Returns the ids of the hunks that overlap some lines of a buffer.
---@param buf integer
---@param first integer First line, 1-based.
---@param last integer
---@return integer[]
function M.ids(buf, first, last)
  local ids = {}
  for _, mark in ipairs(M.list(buf)) do
    if mark.first <= last and mark.last >= first then
      ids[#ids + 1] = mark.hunk.id
    end
  end
  return ids
end

--- Returns the next or previous hunk of a buffer.
---@param buf integer
---@param line integer Line to start from, 1-based. 0 and math.huge start at the ends of the buffer.
---@param direction 1|-1
---@param is_wanted? fun(hunk: gemini_bridge.ChangeHunk): boolean Skips hunks for which this function returns false.
---@return gemini_bridge.PlacedHunk?
function M.next(buf, line, direction, is_wanted)
  local function is_next(mark)
    return (mark.first - line) * direction > 0 and (not is_wanted or is_wanted(mark.hunk))
  end
  local marks = vim.iter(M.list(buf))
  if direction == 1 then
    return marks:find(is_next)
  end
  return marks:rfind(is_next)
end

--- Scrolls windows to show the virtual lines above line 1. Neovim hides such lines by default.
---@param buf integer
---@param count integer Number of virtual lines.
local function reveal_top(buf, count)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    local view = window.view(win)
    if view.topline == 1 then
      view.topfill = math.min(count, math.max(vim.api.nvim_win_get_height(win) - 2, 0))
      window.set_view(win, view)
    end
  end
end

--- Shows the old lines of hunks as virtual lines.
---@param buf integer
---@param lines table<integer, string[]> Old lines by hunk id.
function M.show_old(buf, lines)
  clear_old(buf)
  for _, placed_hunk in ipairs(M.list(buf)) do
    local hunk = placed_hunk.hunk
    local old = lines[hunk.id] or {}
    if #old > 0 then
      local shown, is_above = inline.virtual_lines(old, hunk.removed), hunk.count > 0 or hunk.line == 0
      vim.api.nvim_buf_set_extmark(buf, old_namespace, placed_hunk.first - 1, 0, {
        virt_lines = shown,
        virt_lines_above = is_above,
      })
      if placed_hunk.first == 1 and is_above then
        reveal_top(buf, #shown)
      end
    end
  end
end

--- Hides the old lines of a buffer.
---@param buf integer
---@return boolean were_shown
function M.hide_old(buf)
  local marks = vim.api.nvim_buf_get_extmarks(buf, old_namespace, 0, -1, { limit = 1 })
  clear_old(buf)
  return #marks > 0
end

--- Highlights the changed lines of a buffer.
---@param buf integer
function M.highlight(buf)
  M.hide_highlight(buf)
  local count = vim.api.nvim_buf_line_count(buf)
  for _, hunk in ipairs(M.list(buf)) do
    if hunk.hunk.count > 0 then
      local is_last = hunk.last >= count
      vim.api.nvim_buf_set_extmark(buf, line_namespace, hunk.first - 1, 0, {
        end_row = is_last and count - 1 or hunk.last,
        end_col = is_last and #vim.api.nvim_buf_get_lines(buf, count - 1, count, true)[1] or 0,
        hl_group = "DiffAdd",
        hl_eol = true,
        priority = 50, -- lower than syntax highlighting
      })
    end
  end
end

--- Removes the highlights of changed lines from a buffer.
---@param buf integer
function M.hide_highlight(buf)
  vim.api.nvim_buf_clear_namespace(buf, line_namespace, 0, -1)
end

--- Removes the marks of hunks from all buffers.
function M.clear()
  for buf in pairs(placed) do
    if vim.api.nvim_buf_is_valid(buf) then
      M.place(buf, nil)
    end
  end
  placed = {}
end

return M
