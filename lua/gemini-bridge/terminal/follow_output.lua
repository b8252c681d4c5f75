--- Scrolls the windows of a terminal to new output, unless the user has scrolled back. Neovim itself scrolls only in
--- Terminal mode or if the cursor is on the last line. Gemini CLI leaves the cursor in its prompt, above the last line.
local scheduler = require("gemini-bridge.editor.scheduler")

local M = {}

local namespace = vim.api.nvim_create_namespace("gemini-bridge.follow")
--- Id of the extmark on the line of the cursor at the end of Terminal mode. A line number is not enough, because line
--- numbers change when Neovim drops old lines.
local CURSOR_MARK = 1
--- State of the window at the end of Terminal mode, by buffer. `offset` is the number of visible lines above the
--- cursor.
---@type table<integer, { offset: integer, height: integer }>
local at_term_leave = {}

--- Returns whether a window shows the last line of its buffer.
---@param win integer
---@param lines integer
---@return boolean
local function reaches(win, lines)
  local info = vim.fn.getwininfo(win)[1]
  return info.topline + info.height > lines
end

--- Moves the cursor to the last line. Neovim itself then follows the output, even if the window is resized.
---@param win integer
local function go_to_end(win)
  local last = vim.api.nvim_buf_line_count(vim.api.nvim_win_get_buf(win))
  -- When Neovim 0.10 exits, a window may still show a terminal without lines.
  if last > 0 then
    vim.api.nvim_win_set_cursor(win, { last, 0 })
  end
end

--- Returns whether cursor and scroll position of the current window are the same as at the end of Terminal mode.
---@param buf integer
---@return boolean
local function is_untouched(buf)
  local line = vim.api.nvim_win_get_cursor(0)[1]
  local row = vim.api.nvim_buf_get_extmark_by_id(buf, namespace, CURSOR_MARK, {})[1]
  if row ~= line - 1 or vim.api.nvim_get_mode().mode ~= "nt" then
    return false
  end
  -- A change of the height may also scroll a window, without any action of the user.
  local before = at_term_leave[buf]
  return line - vim.fn.line("w0") == before.offset or vim.api.nvim_win_get_height(0) ~= before.height
end

--- Returns whether the current window follows the output of its terminal. Does not only check whether the last line is
--- visible, because Neovim may have shrunk the window and hidden the line.
---@return boolean
function M.is_following()
  local win, buf = vim.api.nvim_get_current_win(), vim.api.nvim_get_current_buf()
  return vim.api.nvim_get_mode().mode == "t"
    or is_untouched(buf)
    or reaches(win, vim.api.nvim_buf_line_count(buf))
end

--- Follows the output of a terminal in all windows, including windows that open later.
---@param buf integer
function M.attach(buf)
  local group = vim.api.nvim_create_augroup("gemini-bridge.follow", { clear = false })
  local function on(events, callback)
    vim.api.nvim_create_autocmd(events, { group = group, buffer = buf, callback = callback })
  end
  --- True if the last window of the terminal that lost the focus was following the output at that time.
  local followed = true
  --- Views of unfocused windows in which the user has scrolled back. Gemini CLI clears the scrollback before it redraws
  --- a long answer. `is_lost` is true until the lines of the view exist again.
  ---@type table<integer, { view: vim.fn.winsaveview.ret, is_lost: boolean }>
  local scrolled = {}
  -- Both events are needed: BufLeave does not fire when the user goes to another window of the same buffer.
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
