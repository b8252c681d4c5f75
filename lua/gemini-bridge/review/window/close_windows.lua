--- Closes the windows of a review and restores the layout. An error in one step does not prevent the next steps.
local focus = require("gemini-bridge.editor.focus_and_mode")
local choose_window = require("gemini-bridge.review.window.choose_window")
local restore_layout = require("gemini-bridge.review.window.restore_layout")
local scheduler = require("gemini-bridge.editor.scheduler")
local side_by_side = require("gemini-bridge.difference.side_by_side")
local window = require("gemini-bridge.editor.window")

local M = {}

--- Restores options and buffer of the user's window that showed the original text. Keeps a buffer that the user has
--- opened there during the review.
---@param view gemini_bridge.View
local function restore_borrowed(view)
  local borrowed = view.borrowed
  if not (borrowed and vim.api.nvim_win_is_valid(borrowed.win)) then
    return
  end
  window.set(borrowed.win, borrowed.options)
  local shown = vim.api.nvim_win_get_buf(borrowed.win)
  if shown == view.buffers.original and shown ~= borrowed.buf and vim.api.nvim_buf_is_valid(borrowed.buf) then
    window.show(borrowed.win, borrowed.buf)
    window.set(borrowed.win, borrowed.options)
  end
end

--- Resets the diff options of a window that no longer belongs to a review.
---@param borrowed? gemini_bridge.Borrowed
---@param win integer
function M.make_ordinary(borrowed, win)
  if borrowed then
    window.set(win, borrowed.options)
  else
    side_by_side.stop(win)
  end
end

--- Ends diff mode in both windows when one of them is about to close.
---@param view gemini_bridge.View
function M.end_comparison(view)
  view.show_lines()
  if view.original and vim.api.nvim_win_is_valid(view.original) then
    M.make_ordinary(view.borrowed, view.original)
  end
  if vim.api.nvim_win_is_valid(view.proposal) then
    window.set(view.proposal, { diff = false })
  end
end

--- Ends diff mode in a window when the user opens another buffer in place of the original text. Neovim remembers
--- window options for each buffer and turns diff mode on again when the original text returns to this window, or when a
--- window shows the original text for the first time. This function then turns diff mode off a second time.
---@param view gemini_bridge.View
function M.release_original(view)
  local win = view.original --[[@as integer]]
  local borrowed = view.borrowed
  M.make_ordinary(borrowed, win)
  view.show_lines()
  view.original, view.borrowed = nil, nil
  if vim.api.nvim_win_is_valid(view.proposal) then
    side_by_side.stop(view.proposal)
    window.set(view.proposal, { foldenable = false }) -- as when the proposal is shown alone
  end
  -- Windows with options of their own for the original text. Diff mode in these windows is the user's choice.
  local known = {} ---@type table<integer, true>
  for _, other in ipairs(vim.fn.win_findbuf(view.buffers.original)) do
    known[other] = true
  end
  vim.api.nvim_create_autocmd("BufWinEnter", {
    buffer = view.buffers.original,
    callback = function()
      local current = vim.api.nvim_get_current_win()
      if current == win or vim.wo[current].diff and not known[current] then
        M.make_ordinary(borrowed, current)
      end
      known[current] = true
      return current == win or not vim.api.nvim_win_is_valid(win)
    end,
  })
end

--- Scrolls the user's window of the original text back to its position before the review, because the window scrolled
--- with the proposal during the review. Does nothing if the user is in this window.
---@param view gemini_bridge.View
---@param here? integer Window with the focus. nil if the focus was in a window of the review.
local function scroll_back(view, here)
  local borrowed = view.borrowed
  if
    borrowed
    and borrowed.win ~= here
    and vim.api.nvim_win_is_valid(borrowed.win)
    and vim.api.nvim_win_get_buf(borrowed.win) == borrowed.buf
  then
    window.set_view(borrowed.win, borrowed.view)
  end
end

--- Returns the buffer for a window that stays open after the review.
---@param view gemini_bridge.View
---@return integer buf
local function replacement(view)
  local before = view.before.windows[view.origin]
  for _, buf in ipairs({ view.borrowed and view.borrowed.buf or 0, before and before.buf or 0 }) do
    if buf > 0 and vim.api.nvim_buf_is_valid(buf) then
      return buf
    end
  end
  return window.create_buffer(true, false)
end

--- Returns true if Neovim would exit when the proposal window closes.
---@param view gemini_bridge.View
---@return boolean
function M.is_alone(view)
  local tabs = vim.api.nvim_list_tabpages()
  return #tabs == 1
    and vim.deep_equal(choose_window.windows(tabs[1]), vim.fn.win_findbuf(view.buffers.proposal))
end

--- Opens a window that stays open after the review.
---@param view gemini_bridge.View
---@return integer win
function M.add_window(view)
  local beside = vim.fn.win_findbuf(view.buffers.proposal)[1]
  return window.open(replacement(view), { win = beside, split = "above" })
end

---@param view gemini_bridge.View
---@param win integer
local function shows_review(view, win)
  local buf = vim.api.nvim_win_get_buf(win)
  return buf == view.buffers.original or buf == view.buffers.proposal
end

--- Closes a window of a review. Keeps the last window of a tab page of the user, and shows another buffer there.
---@param view gemini_bridge.View
---@param win integer
local function close_window(view, win)
  side_by_side.stop(win)
  local tab = vim.api.nvim_win_get_tabpage(win)
  local is_ours = tab ~= view.before.tab and #vim.api.nvim_list_tabpages() > 1
  if is_ours or #choose_window.windows(tab) > 1 then
    window.close(win)
  else
    window.show(win, replacement(view))
  end
end

--- Closes the windows that a review has opened. Keeps windows in which the user has opened another buffer.
---@param view gemini_bridge.View
local function close_windows(view)
  for _, win in ipairs(view.made) do
    if vim.api.nvim_win_is_valid(win) and shows_review(view, win) then
      scheduler.attempt(close_window, view, win)
    elseif vim.api.nvim_win_is_valid(win) then
      scheduler.attempt(side_by_side.stop, win)
    end
  end
  -- The user may have split windows of the review. Shows another buffer in these windows. Closes a window that is alone
  -- in the tab page of the review.
  for _, buf in ipairs({ view.buffers.proposal, view.buffers.copied and view.buffers.original or nil }) do
    for _, win in ipairs(vim.fn.win_findbuf(buf)) do
      if #choose_window.windows(vim.api.nvim_win_get_tabpage(win)) == 1 then
        scheduler.attempt(close_window, view, win)
      else
        scheduler.attempt(side_by_side.stop, win)
        scheduler.attempt(window.show, win, replacement(view))
      end
    end
  end
end

--- Closes the windows of a review and restores the layout, except for the user's own changes of the layout. If the
--- focus was in one of the closed windows, moves the focus back to the window before the review, in Normal mode.
--- Idempotent.
---@param view gemini_bridge.View
---@return boolean was_inside True if one of these windows had the focus.
function M.close(view)
  view.stop_sizes()
  local is_open = vim.api.nvim_tabpage_is_valid(view.before.tab)
  local ended = is_open and restore_layout.save(view.before.tab) or view.shown
  local here = vim.api.nvim_get_current_win()
  local was_inside = view.end_move ~= nil or vim.list_contains(view.made, here) and shows_review(view, here)
  local end_move = focus.begin_move()
  if was_inside and vim.api.nvim_win_is_valid(view.origin) then
    -- Moves the focus first. Otherwise, Neovim would choose another window when the window with the focus closes.
    scheduler.attempt(focus.go, view.origin)
  end
  local directory = vim.fn.getcwd()
  scheduler.attempt(restore_borrowed, view)
  scheduler.attempt(view.show_lines)
  close_windows(view)
  scheduler.attempt(window.stay_in, directory)
  if is_open then
    scheduler.attempt(restore_layout.restore, view.before, view.shown, ended, view.chosen)
  end
  scheduler.attempt(scroll_back, view, not was_inside and here or nil)
  end_move()
  if view.end_move then
    view.end_move()
  end
  return was_inside
end

return M
