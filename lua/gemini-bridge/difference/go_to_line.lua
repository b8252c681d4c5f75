--- Moves the cursor of a window to a line, such as the first line of a hunk. Scrolls only if the line is at the edge or
--- invisible.

--- Number of lines that should be visible above and below the cursor.
local MARGIN_LINES = 3

---@param win integer
---@param line integer 1-based. A line below the end means the last line.
return function(win, line)
  vim.api.nvim_win_call(win, function()
    local top, bottom, last = vim.fn.line("w0"), vim.fn.line("w$"), vim.fn.line("$")
    line = math.min(line, last)
    local is_at_edge = top > 1 and line < top + MARGIN_LINES or bottom < last and line > bottom - MARGIN_LINES
    vim.api.nvim_win_set_cursor(0, { line, 0 })
    vim.cmd("normal! " .. (is_at_edge and "zvzz" or "zv"))
  end)
end
