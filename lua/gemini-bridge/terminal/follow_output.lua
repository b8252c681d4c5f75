--- Scrolls the windows of a terminal with its output until the user scrolls back. Neovim itself does this only in
--- Terminal mode or if the cursor is on the last line, but Gemini CLI leaves the cursor in its prompt, above the last
--- line.
local scheduler = require("gemini-bridge.editor.scheduler")

local M = {}

local namespace = vim.api.nvim_create_namespace("gemini-bridge.follow")
--- Id of the extmark on the line where the cursor was when Terminal mode ended. A line number would not do, because
--- line numbers change when Neovim drops old lines.
local CURSOR_MARK = 1
--- State of the window at the end of Terminal mode, by buffer: number of lines above the cursor line, and height.
---@type table<integer, { offset: integer, height: integer }>
local at_term_leave = {}

--- Whether a window shows the last line of a buffer with `lines` lines.
---@param win integer
---@param lines integer
---@return boolean
local function reaches(win, lines)
  local info = vim.fn.getwininfo(win)[1]
  return info.topline + info.height > lines
end

--- Moves the cursor to the last line. There, Neovim itself keeps following the output, even if the window is resized.
---@param win integer
local function go_to_end(win)
  local last = vim.api.nvim_buf_line_count(vim.api.nvim_win_get_buf(win))
  vim.api.nvim_win_set_cursor(win, { last, 0 })
end

--- Whether the user has neither moved nor scrolled in the current window since Terminal mode ended in it.
---@param buf integer
---@return boolean
local function is_untouched(buf)
  local line = vim.api.nvim_win_get_cursor(0)[1]
  local row = vim.api.nvim_buf_get_extmark_by_id(buf, namespace, CURSOR_MARK, {})[1]
  if row ~= line - 1 or vim.api.nvim_get_mode().mode ~= "nt" then
    return false
  end
  -- If the height has changed, Neovim may have scrolled the window. This does not count as scrolled by the user.
  local before = at_term_leave[buf]
  return line - vim.fn.line("w0") == before.offset or vim.api.nvim_win_get_height(0) ~= before.height
end

--- Whether the current window follows its terminal, that is, the user has not scrolled back. Checking only that the
--- last line is visible would fail while the user leaves a window: Neovim may already have shrunk it, and so hidden
--- that line.
---@return boolean
function M.is_following()
  local win, buf = vim.api.nvim_get_current_win(), vim.api.nvim_get_current_buf()
  return vim.api.nvim_get_mode().mode == "t"
    or is_untouched(buf)
    or reaches(win, vim.api.nvim_buf_line_count(buf))
end

--- Follows the output of a terminal in all its present and future windows.
---@param buf integer
function M.attach(buf)
  local group = vim.api.nvim_create_augroup("gemini-bridge.follow", { clear = false })
  local function on(events, callback)
    vim.api.nvim_create_autocmd(events, { group = group, buffer = buf, callback = callback })
  end
  --- Whether the window was following the output when the user last left a window of this terminal.
  local followed = true
  --- Views of windows that are not focused, and in which the user has scrolled back. The lines of a view may vanish for
  --- a moment: Gemini CLI clears the scrollback before it redraws a long answer. `is_lost` is true until the lines
  --- exist again.
  ---@type table<integer, { view: vim.fn.winsaveview.ret, is_lost: boolean }>
  local scrolled = {}
  -- Both events are needed: if the user goes to another window of the same buffer, WinLeave fires, but not BufLeave.
  on({ "BufLeave", "WinLeave" }, function()
    followed = M.is_following()
    local win = vim.api.nvim_get_current_win()
    scrolled[win] = not followed and { view = vim.fn.winsaveview(), is_lost = false } or nil
    if followed then
      go_to_end(0)
    end
  end)
  on({ "BufEnter", "WinEnter" }, function()
    scrolled[vim.api.nvim_get_current_win()] = nil
  end)
  on("BufWinEnter", function()
    if followed then
      go_to_end(0)
    end
  end)
  on("TermLeave", function()
    local line = vim.api.nvim_win_get_cursor(0)[1]
    at_term_leave[buf] = { offset = line - vim.fn.line("w0"), height = vim.api.nvim_win_get_height(0) }
    vim.api.nvim_buf_set_extmark(buf, namespace, line - 1, 0, { id = CURSOR_MARK })
  end)

  local ended ---@type integer[]?
  vim.api.nvim_buf_attach(buf, false, {
    on_lines = function(_, _, _, first, last, new_last)
      local is_forgetting = first == 0 and new_last < last -- Neovim drops old lines
      if is_forgetting then
        for _, each in pairs(scrolled) do
          each.is_lost = each.is_lost or each.view.lnum > vim.api.nvim_buf_line_count(buf)
        end
      end
      if ended or is_forgetting then
        return
      end
      local before = vim.api.nvim_buf_line_count(buf) - (new_last - last)
      ended = vim.tbl_filter(function(win)
        return reaches(win, before)
      end, vim.fn.win_findbuf(buf))
      scheduler.next(function()
        local current = vim.api.nvim_get_current_win()
        for _, win in ipairs(vim.fn.win_findbuf(buf)) do
          local reading = win ~= current and scrolled[win]
          if reading then
            if reading.is_lost and reading.view.lnum <= vim.api.nvim_buf_line_count(buf) then
              reading.is_lost = false
              vim.api.nvim_win_call(win, function()
                vim.fn.winrestview(reading.view)
              end)
            end
          elseif win == current and is_untouched(buf) or win ~= current and vim.list_contains(ended, win) then
            go_to_end(win)
          end
        end
        ended = nil
      end)
    end,
    on_detach = function()
      at_term_leave[buf] = nil
    end,
  })
end

return M
