--- Keeps the windows of a terminal at the end of its output until the user scrolls back. Neovim does so in Terminal
--- mode, and elsewhere only where the cursor is on the last line: Gemini CLI leaves it further up, in its prompt.
local M = {}

local namespace = vim.api.nvim_create_namespace("gemini-bridge.follow")
--- The extmark at the line where Terminal mode left the cursor. It goes along as lines are forgotten.
local LEFT_HERE = 1
--- How far below the top of the window that was, and the window's height, by buffer.
---@type table<integer, { offset: integer, height: integer }>
local left = {}

--- Whether a window shows the last one of so many lines.
---@param win integer
---@param lines integer
---@return boolean
local function reaches(win, lines)
  local info = vim.fn.getwininfo(win)[1]
  return info.topline + info.height > lines
end

--- From there on Neovim itself follows the output, also when the window gets another size.
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
  local row = vim.api.nvim_buf_get_extmark_by_id(buf, namespace, LEFT_HERE, {})[1]
  if row ~= line - 1 or vim.api.nvim_get_mode().mode ~= "nt" then
    return false
  end
  -- Neovim itself scrolls a window that gets another size.
  return line - vim.fn.line("w0") == left[buf].offset or vim.api.nvim_win_get_height(0) ~= left[buf].height
end

--- Whether the current window, which shows a terminal, follows it: the user has not scrolled back. A window that is
--- being left may have been made smaller by now, and not reach the end for that.
---@return boolean
function M.is_following()
  local win, buf = vim.api.nvim_get_current_win(), vim.api.nvim_get_current_buf()
  return vim.api.nvim_get_mode().mode == "t"
    or is_untouched(buf)
    or reaches(win, vim.api.nvim_buf_line_count(buf))
end

--- Follows a terminal's output in all of its windows, those of other tab pages and those to come among them.
---@param buf integer
function M.attach(buf)
  local group = vim.api.nvim_create_augroup("gemini-bridge.follow", { clear = false })
  local function on(events, callback)
    vim.api.nvim_create_autocmd(events, { group = group, buffer = buf, callback = callback })
  end
  --- The window that was left last.
  local followed = true
  --- Views of the windows that were left scrolled back. Neovim 0.12 clears the scrollback when the program asks for it,
  --- which Gemini CLI does before it draws a long answer again: `is_lost` until the lines are back.
  ---@type table<integer, { view: vim.fn.winsaveview.ret, is_lost: boolean }>
  local scrolled = {}
  -- Without WinLeave, a window would not be seen that is left for another one of this terminal.
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
    left[buf] = { offset = line - vim.fn.line("w0"), height = vim.api.nvim_win_get_height(0) }
    vim.api.nvim_buf_set_extmark(buf, namespace, line - 1, 0, { id = LEFT_HERE })
  end)

  local ended ---@type integer[]?
  vim.api.nvim_buf_attach(buf, false, {
    on_lines = function(_, _, _, first, last, new_last)
      local is_forgetting = first == 0 and new_last < last -- at 'scrollback' lines, before more are added
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
      vim.schedule(function()
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
      left[buf] = nil
    end,
  })
end

return M
