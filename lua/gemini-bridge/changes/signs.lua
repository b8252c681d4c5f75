--- Marks the hunks of changed files with signs. An extmark covers the lines of each hunk, so that the sign moves with
--- the lines while the user types.
local hunks = require("gemini-bridge.difference.hunks")
local old_lines = require("gemini-bridge.difference.old_lines")
local path = require("gemini-bridge.disk.path")
local request = require("gemini-bridge.bridge.request")
local text = require("gemini-bridge.review.text")

local M = {}

local namespace = vim.api.nvim_create_namespace("gemini-bridge.changes")

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
  return hunks.line_map(text.decode(on_disk).lines, vim.api.nvim_buf_get_lines(buf, 0, -1, true))
end

--- Replaces all marks of hunks in a buffer.
---@param buf integer Buffer of the changed file.
---@param change? gemini_bridge.Change
function M.place(buf, change)
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  placed[buf] = nil
  if not change or #change.hunks == 0 then
    old_lines.hide(buf)
    return
  end
  placed[buf] = {}
  local last = vim.api.nvim_buf_line_count(buf) - 1
  local in_buffer = lines_of_disk(buf)
  for _, hunk in ipairs(change.hunks) do
    local sign, highlight = appearance(hunk)
    local first_line, last_line = hunks.range(hunk)
    local row = math.min(math.max(in_buffer(first_line) - 1, 0), last)
    local end_row = math.max(math.min(in_buffer(last_line) - 1, last), row)
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
  if old_lines.are_shown(buf) then
    M.show_old(buf, change.path, function()
      return old_lines.are_shown(buf)
    end)
  end
end

---@class gemini_bridge.PlacedChange: gemini_bridge.ChangeHunk, gemini_bridge.PlacedHunk

--- Returns the hunks of a buffer with their current lines, from top to bottom.
---@param buf integer
---@return gemini_bridge.PlacedChange[]
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
      return hunk and vim.tbl_extend("force", hunk, { first = first, last = last })
    end)
    :totable()
end

--- Returns the ids of the hunks that overlap some lines of a buffer.
---@param buf integer
---@param first integer First line, 1-based.
---@param last integer
---@return integer[]
function M.ids(buf, first, last)
  return vim.tbl_map(function(hunk)
    return hunk.id
  end, hunks.overlapping(M.list(buf), first, last))
end

--- Shows the old lines of a changed file, as soon as the host has sent them.
---@param buf integer
---@param name string Path of the file.
---@param is_wanted? fun(): boolean Returns false if the user no longer wants to see them.
function M.show_old(buf, name, is_wanted)
  request.send("earlier_text", { path = name }, function(found)
    if found and vim.api.nvim_buf_is_loaded(buf) and (not is_wanted or is_wanted()) then
      old_lines.show(buf, M.list(buf), found.lines)
    end
  end)
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
