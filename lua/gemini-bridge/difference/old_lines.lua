--- Shows the difference between two texts in the buffer of the newer text: highlights new lines, and shows removed
--- lines as virtual lines above the new lines.
local window = require("gemini-bridge.editor.window")

local M = {}

--- Maximum number of removed lines to show for a hunk. Limited, because the user cannot scroll through virtual lines.
local MAX_REMOVED_LINES = 200

--- Maximum length of a removed line (bytes). A virtual line does not wrap.
local MAX_LINE_BYTES = 10000

local namespace = vim.api.nvim_create_namespace("gemini-bridge.old_lines")

--- Formats the removed lines of a hunk as virtual lines.
---@param hunk gemini_bridge.Hunk
---@param old string[] The older text.
---@return [string, string][][]
local function virtual_lines(hunk, old)
  local count = math.min(hunk.removed, MAX_REMOVED_LINES)
  local shown = vim.tbl_map(function(line)
    -- Neovim would end a virtual line at a NUL byte.
    local plain = line:sub(1, MAX_LINE_BYTES):gsub("%z", "^@")
    return { { line == "" and " " or plain, "DiffDelete" } }
  end, vim.list_slice(old, hunk.old, hunk.old + count - 1))
  if count < hunk.removed then
    shown[#shown + 1] = { { ("… and %d more lines"):format(hunk.removed - count), "Comment" } }
  end
  return shown
end

--- Returns true if the removed lines of a hunk are shown above its first line, and not below it.
---@param hunk gemini_bridge.Hunk
---@return boolean
local function is_above(hunk)
  return hunk.count > 0 or hunk.line == 0
end

--- Calculates how many context lines and removed lines to show above a hunk. Leaves at least half of the window for the
--- new lines.
---@param hunk gemini_bridge.Hunk
---@param win integer
---@return integer context Number of context lines.
---@return integer removed Number of virtual lines.
local function room(hunk, win)
  local height = vim.fn.getwininfo(win)[1].height
  local removed = math.min(hunk.removed, MAX_REMOVED_LINES + 1)
  local added = math.min(math.max(hunk.count, 1), math.ceil(height / 2))
  local context = math.max(math.floor((height - removed - added) / 2), 0)
  return context, math.max(math.min(removed, height - added), 0)
end

--- Shows the virtual lines above line 1 in the windows of a buffer, or removes the empty rows of such lines. Neovim
--- itself hides these lines when they appear, and leaves empty rows when they disappear.
---@param buf integer
---@param hunk? gemini_bridge.Hunk The hunk with removed lines above line 1.
local function reveal_top(buf, hunk)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    local view, rows = window.view(win), 0
    if hunk then
      rows = select(2, room(hunk, win))
    end
    if view.topline == 1 and view.topfill ~= rows and not vim.wo[win].diff then
      view.topfill = rows
      window.set_view(win, view)
    end
  end
end

--- Removes the highlights and the removed lines from a buffer.
---@param buf integer
---@return boolean were_shown
function M.hide(buf)
  local were_shown = M.are_shown(buf)
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  if were_shown then
    reveal_top(buf)
  end
  return were_shown
end

---@param buf integer
---@return boolean
function M.are_shown(buf)
  return #vim.api.nvim_buf_get_extmarks(buf, namespace, 0, -1, { limit = 1 }) > 0
end

--- Shows the hunks of a buffer: highlights the new lines, and shows the removed lines.
---@param buf integer
---@param list gemini_bridge.PlacedHunk[]
---@param old string[] The older text.
function M.show(buf, list, old)
  local were_shown = M.are_shown(buf)
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  for _, hunk in ipairs(list) do
    vim.api.nvim_buf_set_extmark(buf, namespace, hunk.first - 1, 0, {
      end_row = hunk.count > 0 and hunk.last or nil,
      hl_group = hunk.count > 0 and "DiffAdd" or nil,
      hl_eol = true,
      priority = 50, -- lower than syntax highlighting
      strict = false, -- allows an end after the last line
      virt_lines = hunk.removed > 0 and virtual_lines(hunk, old) or nil,
      virt_lines_above = is_above(hunk),
    })
  end
  local first = list[1]
  local is_at_top = first and first.first == 1 and first.removed > 0 and is_above(first)
  if were_shown or is_at_top then
    reveal_top(buf, is_at_top and first or nil)
  end
end

--- Scrolls a window to a hunk so that the new lines are visible below the removed lines.
---@param win integer
---@param hunk gemini_bridge.PlacedHunk
function M.scroll_to(win, hunk)
  local context, removed = room(hunk, win)
  local topline = math.max(hunk.first - context, 1)
  local is_at_top = topline == hunk.first and is_above(hunk)
  window.set_view(
    win,
    { lnum = hunk.first, col = 0, leftcol = 0, topline = topline, topfill = is_at_top and removed or 0 }
  )
end

return M
