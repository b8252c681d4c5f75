--- Shows a review in a single window. The user edits the proposal, and removed lines appear as virtual lines above the
--- new lines.
local window = require("gemini-bridge.editor.window")

local M = {}

--- Maximum number of removed lines to show above a hunk. Limited, because the user cannot scroll through virtual lines.
M.MAX_REMOVED_LINES = 200

--- Maximum length of a removed line (bytes). A virtual line does not wrap.
local MAX_LINE_BYTES = 10000

local namespace = vim.api.nvim_create_namespace("gemini-bridge.inline")

--- Formats removed lines as virtual lines.
---@param lines string[]
---@param total integer Total number of removed lines. `lines` may contain only the first of these lines.
---@return [string, string][][]
function M.virtual_lines(lines, total)
  local shown = vim.tbl_map(function(line)
    -- Neovim would end a virtual line at a NUL byte.
    local plain = line:sub(1, MAX_LINE_BYTES):gsub("%z", "^@")
    return { { line == "" and " " or plain, "DiffDelete" } }
  end, lines)
  if #lines < total then
    shown[#shown + 1] = { { ("… and %d more lines"):format(total - #lines), "Comment" } }
  end
  return shown
end

---@param buffers gemini_bridge.ReviewBuffers
---@param hunk gemini_bridge.Hunk
local function mark(buffers, hunk)
  local above = hunk.count > 0 or hunk.from == 0
  local row = math.max(hunk.from - 1, 0)
  if hunk.original_count > 0 then
    local first, shown = hunk.original_from - 1, math.min(hunk.original_count, M.MAX_REMOVED_LINES)
    local lines = vim.api.nvim_buf_get_lines(buffers.original, first, first + shown, false)
    vim.api.nvim_buf_set_extmark(buffers.proposal, namespace, row, 0, {
      virt_lines = M.virtual_lines(lines, hunk.original_count),
      virt_lines_above = above,
    })
  end
  if hunk.count > 0 then
    vim.api.nvim_buf_set_extmark(buffers.proposal, namespace, row, 0, {
      end_row = row + hunk.count,
      hl_group = hunk.original_count > 0 and "DiffChange" or "DiffAdd",
      hl_eol = true,
      strict = false, -- allows an end after the last line
    })
  end
end

--- Calculates how many context lines and removed lines to show above a hunk. Leaves at least half of the window for the
--- new lines.
---@param hunk gemini_bridge.Hunk
---@param win integer
---@return integer context Number of context lines.
---@return integer removed Number of virtual lines.
local function layout(hunk, win)
  local height = vim.fn.getwininfo(win)[1].height
  local removed = math.min(hunk.original_count, M.MAX_REMOVED_LINES + 1)
  local added = math.min(math.max(hunk.count, 1), math.ceil(height / 2))
  local context = math.max(math.floor((height - removed - added) / 2), 0)
  return context, math.max(math.min(removed, height - added), 0)
end

--- Scrolls so that virtual lines above line 1 become visible. Neovim hides such lines by default.
---@param review gemini_bridge.Review
local function reveal_top(review)
  local first, view = review.hunks[1], review.view
  if
    not (view and view.inline and first and first.from <= 1 and first.original_count > 0)
    or not vim.api.nvim_win_is_valid(view.proposal)
    or vim.fn.line("w0", view.proposal) > 1
  then
    return
  end
  local _, removed = layout(first, view.proposal)
  window.set_view(view.proposal, vim.tbl_extend("force", window.view(view.proposal), { topfill = removed }))
end

--- Marks the hunks of a review in the proposal buffer.
---@param review gemini_bridge.Review
function M.update(review)
  local buffers, view = review.buffers, review.view
  if not view or not view.inline or not review.counted then
    return
  end
  vim.api.nvim_buf_clear_namespace(buffers.proposal, namespace, 0, -1)
  for _, hunk in ipairs(review.hunks) do
    mark(buffers, hunk)
  end
  reveal_top(review)
end

--- Scrolls to a hunk so that the new lines are visible below the removed lines.
---@param view gemini_bridge.View
---@param hunk gemini_bridge.Hunk
local function scroll_to(view, hunk)
  local context, removed = layout(hunk, view.proposal)
  local line = math.max(hunk.from, 1)
  local topline = math.max(line - context, 1)
  local is_at_top = topline == line and (hunk.count > 0 or hunk.from == 0)
  window.set_view(
    view.proposal,
    { lnum = line, col = 0, leftcol = 0, topline = topline, topfill = is_at_top and removed or 0 }
  )
end

--- Scrolls to the first hunk, unless the proposal window has the focus.
---@param review gemini_bridge.Review
function M.scroll_to_first_hunk(review)
  local first, view = review.hunks[1], review.view
  if
    view
    and view.inline
    and first
    and view.proposal ~= vim.api.nvim_get_current_win()
    and vim.api.nvim_win_is_valid(view.proposal)
  then
    scroll_to(view, first)
  end
  reveal_top(review)
end

return M
